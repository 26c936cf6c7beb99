"""One prompt on finished users: its stage is made anew with a model that records every call of the prompt."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from assets.amemgym.pipeline import AMEMGYM, STAGES
from assets.engine.ports import SnapshotRef, snapshot_rows
from assets.engine.provenance import Provenance, ResolvedRecipe
from assets.engine.stage import Stage
from assets.llm.ports import CallLabels, LanguageModel, ModelReply, ModelRequest
from assets.llm.usage import Meter, MeteredModel
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import GateRecord, ItemFailed, ItemRecord
from pipelines.home import Home
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.resources.storage.open_stores import snapshot_files
from pipelines.resources.storage.snapshots import ParquetSnapshots
from prompts.catalogue import override_prompts
from prompts.template import Prompt, Role

Inputs = Sequence[ItemRecord]


@dataclass(frozen=True)
class Exchange:
    """One call of the prompt on trial, and what came back."""

    request: ModelRequest
    reply: ModelReply

    @property
    def objection(self) -> str | None:
        """The reason why the reply before this one could not be used; None for a first try."""
        return self.request.messages[-1].content if self.request.labels.attempt else None


def _follows(request: ModelRequest, first: ModelRequest) -> bool:
    """Return True when the request asks the first one's question again, with an objection after it or beneath its end."""
    *before, last = first.messages
    here = request.messages[: len(first.messages)]
    return list(here[:-1]) == before and here[-1].content.startswith(last.content)


@dataclass(frozen=True)
class CallRecorder:
    """A model that records the calls of one prompt: each question's tries together and in order."""

    model: LanguageModel
    prompt: str
    tries: dict[tuple[object, ...], list[Exchange]] = field(default_factory=dict[tuple[object, ...], list[Exchange]])

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on, and record it if it is a call of the prompt."""
        reply = await self.model.complete(request)
        if request.labels.prompt == self.prompt:
            self._question(request).append(Exchange(request, reply))
        return reply

    def _question(self, request: ModelRequest) -> list[Exchange]:
        """The tries so far of what is asked here."""
        of = (request.model, request.labels.item_id, request.sample)
        if request.labels.attempt:
            for key, tries in self.tries.items():
                if key[:-1] == of and _follows(request, tries[0].request):
                    return tries
        return self.tries.setdefault((*of, request.messages), [])


@dataclass(frozen=True)
class Side:
    """One of the things compared: a recipe, whose models answer, and a version of the prompt, None for the shipped one."""

    name: str
    recipe: AMemGymRecipe
    prompt: Prompt | None = None


@dataclass(frozen=True)
class Trial:
    """The outcome of one side. `tries` are the calls of each question asked with the prompt, in order."""

    side: Side
    tries: list[list[Exchange]]
    users: int
    failures: list[ItemFailed]
    gate_records: list[GateRecord]

    def at_once(self) -> int:
        """Questions whose first reply was accepted."""
        return sum(len(tries) == 1 and not self._failed(tries) for tries in self.tries)

    def after_reasking(self) -> int:
        """Questions whose reply was accepted after at least one objection."""
        return sum(len(tries) > 1 and not self._failed(tries) for tries in self.tries)

    def never(self) -> int:
        """Questions to which no reply was accepted."""
        return sum(map(self._failed, self.tries))

    def _failed(self, tries: list[Exchange]) -> bool:
        return never_accepted(tries, self.failures)


def never_accepted(tries: Sequence[Exchange], failures: Iterable[ItemFailed]) -> bool:
    """Return True where an item was given up for the last reply to this question."""
    prefix = f"{tries[0].request.labels.prompt}: "
    last = tries[-1].reply.text
    return any(failed.last_reply == last and str(failed).startswith(prefix) for failed in failures)


async def run_trial(
    side: Side, stage: Stage[ItemRecord], users: Sequence[Inputs], *, prompt: str, model: LanguageModel
) -> Trial:
    """Make the stage for these users at once; only the replies are stored, in the reply cache.

    Raises EndpointError where the endpoint cannot serve.
    """
    recorder = CallRecorder(model, prompt)
    meter = Meter()

    async def make(inputs: Inputs) -> ItemRecord | ItemFailed:
        labels = CallLabels(stage=stage.name, item_id=inputs[0].item_id)
        try:
            return await stage.make(*inputs, recipe=side.recipe, model=MeteredModel(recorder, labels, meter))
        except ItemFailed as failed:
            return failed

    with override_prompts([side.prompt] if side.prompt else []):
        results = await asyncio.gather(*map(make, users))
    trial = Trial(side, list(recorder.tries.values()), len(users), failures=[], gate_records=[])
    for result in results:
        if isinstance(result, ItemFailed):
            trial.failures.append(result)
        # A failed item has the records of the gates that it came to, as a finished one has.
        trial.gate_records.extend(getattr(result, "gate_records", ()))
    return trial


def stage_of_prompt(prompt: str) -> Stage[ItemRecord] | None:
    """Return the stage that asks with this prompt."""
    return next((stage for stage in STAGES if prompt in stage.prompts), None)


def resolved_recipe(home: Home, variant: str) -> AMemGymRecipe | None:
    """Return the recipe that the variant was last made with; None where there is none, or it is another benchmark's."""
    value = open_asset_values(home).find("recipe", variant)
    if isinstance(value, ResolvedRecipe) and isinstance(value.recipe, AMemGymRecipe):
        return value.recipe
    return None


def finished_inputs(home: Home, variant: str, *, stage: Stage[ItemRecord], users: int) -> list[Sequence[ItemRecord]]:
    """Return what the stage needs of the variant's first users, in order; fewer where fewer are finished."""
    values = open_asset_values(home)
    snapshots = ParquetSnapshots(snapshot_files(home))
    inputs: list[Sequence[ItemRecord]] = []
    for unit in AMEMGYM.partitions.units.get(variant, ()):
        refs: list[SnapshotRef] = []
        for need in stage.needs:
            value = values.find(need.name, unit)
            if isinstance(value, Provenance):
                refs.extend(value.snapshots[unit].values())
        records = [snapshot_rows(need.name, record=need.record, refs=refs, snapshots=snapshots) for need in stage.needs]
        # An item counts once all that the stage needs of it is there.
        for position in sorted(set[int].intersection(*map(set[int], records))):
            inputs.append([rows[position] for rows in records])
    return inputs[:users]


def with_model(recipe: AMemGymRecipe, role: Role, model: str) -> AMemGymRecipe:
    """Return the recipe with another model in this role."""
    spec = recipe.models.for_role(role).model_copy(update={"model": model})
    return recipe.model_copy(update={"models": recipe.models.model_copy(update={role: spec})})
