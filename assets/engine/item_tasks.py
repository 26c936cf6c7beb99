"""One batch of users at work: fetch each record where it lies, or make it, and keep it at once."""

import asyncio
import hashlib
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from assets.engine.prefetch_tasks import Made, Work
from assets.engine.run_context import RunContext
from assets.engine.serialized_record import SerializedRecord, serialized
from assets.engine.stage import Stage
from assets.llm.ports import CallLabels, EndpointError
from assets.llm.usage_meter import Meter, MeteredModel
from assets.recipe.recipe import Recipe
from assets.records.base import UserRecord
from assets.records.failure import Failure, UserFailed
from assets.records.usage import Usage

T = TypeVar("T")


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
    """The records of some users of one unit: those in upstream snapshots, and those made here.

    `ahead`: the desk of work done before its asset's turn, which leaves the records for that asset to take.
    """

    recipe: Recipe
    run_context: RunContext
    meter: Meter
    known: Mapping[str, Mapping[int, Made]]
    ahead: bool = False
    made: dict[str, dict[int, Made]] = field(default_factory=dict[str, dict[int, Made]])
    _running: dict[tuple[str, int], asyncio.Future[Made]] = field(default_factory=dict[tuple[str, int], "asyncio.Future[Made]"])

    def outlook(self, position: int) -> "Desk":
        """A desk for this user's stages ahead, with all that is known of the user here."""
        known: dict[str, dict[int, Made]] = {}
        for held in (self.known, self.made):
            known.update({name: {position: rows[position]} for name, rows in held.items() if position in rows})
        return Desk(self.recipe, self.run_context, Meter(), known, ahead=True)

    async def record(self, stage: Stage[UserRecord], position: int) -> Made:
        """The stage's record of the user at this position. Raises GivenUp when the user cannot be finished."""
        known = self.known.get(stage.name, {}).get(position)
        if known is not None:
            return known
        key = (stage.name, position)
        if key not in self._running:
            self._running[key] = asyncio.ensure_future(self._make(stage, position))
        return await self._running[key]

    async def _make(self, stage: Stage[UserRecord], position: int) -> Made:
        inputs = await together(*(self.record(need, position) for need in stage.needs))
        recipe = self.recipe.for_stage(stage.name, user_id=self._user_id(position))
        key = work_key(stage, inputs, recipe=recipe)
        made = await self._in_flight(key, partial(self._fly, stage, inputs, key=key, position=position))
        self.made.setdefault(stage.name, {})[position] = made
        return made

    async def _in_flight(self, key: str, work: Work) -> Made:
        flights = self.run_context.flights
        return await (flights.wait(key, work) if self.ahead else flights.take(key, work, meter=self.meter))

    async def _fly(self, stage: Stage[UserRecord], inputs: Sequence[Made], meter: Meter, *, key: str, position: int) -> Made:
        stored = await self.run_context.work.get(key)
        if stored is not None:
            usage, _, content = stored.partition(b"\n")
            used = Usage.model_validate_json(usage)
            meter.add(used, repeated=used.calls)
            return SerializedRecord(content.decode(), decode=stage.record.model_validate_json)
        made = serialized(await self._work(stage, inputs, position=position, meter=meter))
        await self.run_context.work.put(key, f"{meter.usage.model_dump_json()}\n{made.text}".encode())
        return made

    async def _work(self, stage: Stage[UserRecord], inputs: Sequence[Made], *, position: int, meter: Meter) -> UserRecord:
        user_id = self._user_id(position)
        model = MeteredModel(self.run_context.model, CallLabels(stage=stage.name, user_id=user_id), meter)
        recipe = self.recipe.for_stage(stage.name, user_id=user_id)
        try:
            return await stage.make(*(one.record for one in inputs), recipe=recipe, model=model)
        except UserFailed as failed:
            raise GivenUp(failed.at(stage.name, user_id=user_id, position=position)) from failed

    def _user_id(self, position: int) -> str:
        return self.known["personas"][position].record.user_id


def work_key(stage: Stage[UserRecord], inputs: Sequence[Made], *, recipe: Recipe) -> str:
    """The identity of one user's work at a stage: what it is made from, and by what."""
    parts = [stage.name, stage.code_version, recipe.user_fingerprint, *(one.sha256 for one in inputs)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
