"""What each prompt of a variant brought about: replies accepted at once, objections by reason, rewrites, items given up.

The variant is made anew in memory, from the reply cache alone, so that nothing is asked and nothing is stored.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assets.engine.benchmark import Benchmark
from assets.engine.ports import snapshot_rows
from assets.engine.provenance import Provenance
from assets.engine.stage import Stage
from assets.llm.ports import CallLabels, EndpointError, LanguageModel, ModelReply, ModelRequest
from assets.llm.usage import Meter, MeteredModel
from assets.recipe.recipe import Recipe
from assets.records.base import GateRecord, ItemFailed, ItemRecord
from pipelines.home import Home
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.resources.storage.open_stores import snapshot_files
from pipelines.resources.storage.snapshots import ParquetSnapshots

PROBLEM = re.compile(
    r"(?:That answer cannot be used|An earlier answer could not be used)\. (.*?)(?=\nAnswer again|\nAn earlier|\Z)", re.DOTALL
)
# What differs from reply to reply: names, values, quotations, numbers.
PARTICULARS = re.compile(r"\[[^\]]*\]|\{[^}]*\}|'(?:[^']|(?<=\w)'(?=\w))*'|\"[^\"]*\"|\d[\d,.]*")
SENTENCE_END = re.compile(r"(?<=[.;])\s+")


@dataclass
class PromptYield:
    """One prompt's questions to the model, and how many replies passed; `objections`: what was wrong, and how often."""

    asked: int = 0
    at_once: int = 0
    after_objections: int = 0
    never: int = 0
    objections: dict[str, int] = field(default_factory=dict[str, int])


@dataclass
class GateYield:
    """The texts that came to a gate: accepted as first drafted, after a rewrite, or never."""

    texts: int = 0
    at_once: int = 0
    after_rewrites: int = 0
    never: int = 0


@dataclass(frozen=True)
class Yields:
    """By prompt, and by gate; `finished` items of those `begun`, and why the others were given up, by stage and reason."""

    prompts: Mapping[str, PromptYield]
    gates: Mapping[str, GateYield]
    begun: int
    finished: int
    given_up: Mapping[str, int]


@dataclass(frozen=True)
class _Exchange:
    """One call, and what came back."""

    request: ModelRequest
    reply: ModelReply

    @property
    def objection(self) -> str:
        """The reason why the reply before this one could not be used; empty for a first try."""
        return self.request.messages[-1].content if self.request.labels.attempt else ""


@dataclass(frozen=True)
class _CallRecorder:
    """A model that records its calls by prompt: each question's tries together and in order."""

    model: LanguageModel
    tries: dict[str, dict[tuple[object, ...], list[_Exchange]]] = field(
        default_factory=dict[str, dict[tuple[object, ...], list[_Exchange]]]
    )

    @property
    def calls(self) -> int:
        return sum(len(tries) for questions in self.tries.values() for tries in questions.values())

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await self.model.complete(request)
        self._question(request).append(_Exchange(request, reply))
        return reply

    def _question(self, request: ModelRequest) -> list[_Exchange]:
        """Return the tries so far of what is asked here."""
        questions = self.tries.setdefault(request.labels.prompt, {})
        of = (request.model, request.labels.item_id, request.sample)
        if request.labels.attempt:
            for key, tries in questions.items():
                if key[:-1] == of and _follows(request, tries[0].request):
                    return tries
        return questions.setdefault((*of, request.messages), [])


def _follows(request: ModelRequest, first: ModelRequest) -> bool:
    """Return True when the request asks the first one's question again, with an objection after it or beneath its end."""
    *before, last = first.messages
    here = request.messages[: len(first.messages)]
    return list(here[:-1]) == before and here[-1].content.startswith(last.content)


async def yields_of(benchmark: Benchmark, recipe: Recipe, sources: Iterable[ItemRecord], *, model: LanguageModel) -> Yields:
    """Make all stages of these items anew with a model that repeats replies. An item begins when it has one."""
    recorder = _CallRecorder(model)
    failures: list[ItemFailed] = []
    gate_records: dict[str, list[GateRecord]] = {}
    given_up = Counter[str]()
    begun = finished = 0
    for source in sources:
        before = recorder.calls
        made: dict[str, ItemRecord] = {benchmark.source.name: source}
        records: list[GateRecord] = []
        for stage in benchmark.stages[1:]:
            # What another stage lost may have gone its way beside it.
            if any(need.name not in made for need in stage.needs):
                continue
            try:
                made[stage.name] = await _make(stage, made, recipe=recipe, model=recorder)
                records.extend(getattr(made[stage.name], "gate_records", ()))
            except ItemFailed as failed:
                failures.append(failed)
                records.extend(failed.gate_records)
                # The message begins with the prompt, or tells of the gate.
                where = failed.gate_records[-1].gate if failed.gate_records else str(failed).partition(":")[0]
                given_up[f"{where}: {failed.reason}"] += 1
            except EndpointError:
                pass  # the run went no further here
        finished += len(made) == len(benchmark.stages)
        begun += recorder.calls > before
        gate_records[source.item_id] = records
    prompts: dict[str, PromptYield] = {}
    for name, questions in sorted(recorder.tries.items()):
        prompts[name] = _prompt_yield(list(questions.values()), failures)
    return Yields(prompts, _gate_yields(gate_records.values()), begun, finished, dict(sorted(given_up.items())))


async def _make(
    stage: Stage[ItemRecord], made: Mapping[str, ItemRecord], *, recipe: Recipe, model: LanguageModel
) -> ItemRecord:
    inputs = [made[need.name] for need in stage.needs]
    item_id = inputs[0].item_id
    metered = MeteredModel(model, CallLabels(stage=stage.name, item_id=item_id), Meter())
    return await stage.make(*inputs, recipe=recipe.for_stage(stage.name, item_id=item_id), model=metered)


def _prompt_yield(questions: Sequence[Sequence[_Exchange]], failures: Sequence[ItemFailed]) -> PromptYield:
    found = PromptYield(asked=len(questions))
    objections = Counter[str]()
    for tries in questions:
        if _is_never_accepted(tries, failures):
            found.never += 1
        elif len(tries) == 1:
            found.at_once += 1
        else:
            found.after_objections += 1
        for again in tries[1:]:
            objections.update(reasons(again.objection))
    found.objections.update(objections.most_common())
    return found


def _is_never_accepted(tries: Sequence[_Exchange], failures: Iterable[ItemFailed]) -> bool:
    """Return True where an item was given up for the last reply to this question."""
    prefix = f"{tries[0].request.labels.prompt}: "
    last = tries[-1].reply.text
    return any(failed.last_reply == last and str(failed).startswith(prefix) for failed in failures)


def reasons(objection: str) -> list[str]:
    """Return what an objection says is wrong, each once and without what differs from reply to reply."""
    problems = PROBLEM.findall(objection)
    sentences = SENTENCE_END.split(PARTICULARS.sub("…", problems[-1])) if problems else []
    return list(dict.fromkeys(sentence.strip(" .;:") for sentence in sentences[:1] if sentence.strip(" .;:")))


def _gate_yields(of_items: Iterable[Sequence[GateRecord]]) -> dict[str, GateYield]:
    """Count texts by gate, each by the last reading of its item."""
    found: dict[str, GateYield] = {}
    for records in of_items:
        texts: dict[tuple[str, str], list[GateRecord]] = {}
        for record in records:
            texts.setdefault((record.gate, record.item_id), []).append(record)
        for (gate, _), votes in texts.items():
            own = found.setdefault(gate, GateYield())
            last = [vote for vote in votes if (vote.draft, vote.refinement) == (votes[-1].draft, votes[-1].refinement)]
            own.texts += 1
            if not any(vote.accepted for vote in last):
                own.never += 1
            elif votes[-1].draft == votes[-1].refinement == 0:
                own.at_once += 1
            else:
                own.after_rewrites += 1
    return found


def variant_sources(home: Home, benchmark: Benchmark, variant: str) -> list[ItemRecord]:
    """Return all items that the variant's last run drew, in order; none where nothing was drawn."""
    values = open_asset_values(home)
    snapshots = ParquetSnapshots(snapshot_files(home))
    drawn: list[ItemRecord] = []
    for unit in benchmark.partitions.units.get(variant, ()):
        value = values.find(benchmark.source.name, unit)
        if isinstance(value, Provenance):
            refs = list(value.snapshots[unit].values())
            rows = snapshot_rows(benchmark.source.name, record=benchmark.source.record, refs=refs, snapshots=snapshots)
            drawn.extend(rows[position] for position in sorted(rows))
    return drawn
