"""One batch of users at work: fetch each record where it lies, or make it, and keep it at once."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from assets.metering import Meter, MeteredModel
from assets.ports import CallLabels, EndpointError, Workshop
from assets.records.base import StageName, UserRecord
from assets.records.failure import Failure, UserFailed
from assets.records.recipe import Recipe
from assets.records.usage import Usage
from prompts.catalogue import load_prompt

R = TypeVar("R", bound=UserRecord, covariant=True)
T = TypeVar("T")


@dataclass(frozen=True)
class Stage(Generic[R]):
    """A stage: one async function about one user, called with the records of `needs` in order, recipe and model.

    Raise `version` when the function's logic changes what it makes.
    """

    name: StageName
    record: type[R]
    make: Callable[..., Awaitable[R]]
    needs: "tuple[Stage[UserRecord], ...]" = ()
    prompts: tuple[str, ...] = ()
    version: int = 1

    @property
    def code_version(self) -> str:
        """Changes when the stage's logic or the words of one of its prompts do."""
        fingerprints = [load_prompt(name).fingerprint for name in self.prompts]
        return hashlib.sha256("\n".join([self.name, str(self.version), *fingerprints]).encode()).hexdigest()[:12]


class GivenUp(Exception):
    """A user's failure, on its way from the stage where it happened to the asset that is being made."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


async def together(*awaited: Awaitable[T]) -> list[T]:
    """Wait for all, then return all results or raise the first failure in the order given.

    The order, not the clock, decides which failure is told, so that a failed user's record is the same in every run.
    """
    results = await asyncio.gather(*awaited, return_exceptions=True)
    problems = [result for result in results if isinstance(result, BaseException)]
    for problem in sorted(problems, key=lambda problem: not isinstance(problem, EndpointError)):
        raise problem
    return [result for result in results if not isinstance(result, BaseException)]


@dataclass
class Desk:
    """The records of some users of one unit: those in upstream snapshots, and those made here."""

    recipe: Recipe
    workshop: Workshop
    meter: Meter
    known: Mapping[StageName, Mapping[int, UserRecord]]
    made: dict[StageName, dict[int, UserRecord]] = field(default_factory=dict[StageName, dict[int, UserRecord]])
    _running: dict[tuple[StageName, int], asyncio.Future[UserRecord]] = field(
        default_factory=dict[tuple[StageName, int], "asyncio.Future[UserRecord]"]
    )

    async def record(self, stage: Stage[UserRecord], position: int) -> UserRecord:
        """The stage's record of the user at this position. Raises GivenUp when the user cannot be finished."""
        known = self.known.get(stage.name, {}).get(position)
        if known is not None:
            return known
        key = (stage.name, position)
        if key not in self._running:
            self._running[key] = asyncio.ensure_future(self._make(stage, position))
        return await self._running[key]

    async def _make(self, stage: Stage[UserRecord], position: int) -> UserRecord:
        inputs = await together(*(self.record(need, position) for need in stage.needs))
        key = self._key(stage, inputs)
        stored = await self.workshop.work.get(key)
        if stored is not None:
            usage, _, content = stored.partition(b"\n")
            record = stage.record.model_validate_json(content)
            used = Usage.model_validate_json(usage)
            self.meter.add(used, repeated=used.calls)
        else:
            meter = Meter(self.meter)
            record = await self._work(stage, inputs, position=position, meter=meter)
            await self.workshop.work.put(key, f"{meter.usage.model_dump_json()}\n{record.model_dump_json()}".encode())
        self.made.setdefault(stage.name, {})[position] = record
        return record

    async def _work(self, stage: Stage[UserRecord], inputs: list[UserRecord], *, position: int, meter: Meter) -> UserRecord:
        user_id = inputs[0].user_id
        model = MeteredModel(self.workshop.model, CallLabels(stage=stage.name, user_id=user_id), meter)
        try:
            return await stage.make(*inputs, recipe=self.recipe, model=model)
        except UserFailed as failed:
            raise GivenUp(failed.at(stage.name, user_id=user_id, position=position)) from failed

    def _key(self, stage: Stage[UserRecord], inputs: Iterable[UserRecord]) -> str:
        parts: list[Any] = [stage.name, stage.code_version, self.recipe.user_fingerprint]
        parts.extend(record.sha256() for record in inputs)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
