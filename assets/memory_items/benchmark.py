"""A benchmark of questions over documents: a call with a world, a way to ask and a way to certify.

The world's stages draw items, plan documents and have them told. What follows a question is the same for every such benchmark:
the documents in turns at each length, certificates of the final bytes, and the accepted tasks.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Protocol

from assets.engine.benchmark import Benchmark, unchanged_recipe
from assets.engine.stage import PromptCalls, Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import READ
from assets.memory_items.acting import certify_by_acting
from assets.memory_items.facts import Fact
from assets.memory_items.final_ablation import accepted_rows, certificate_rows, certified_task, certify_lengths
from assets.memory_items.lengths import at_each_length, length_rows, usable_filler
from assets.memory_items.recovery import RECOVER, recovered_facts
from assets.memory_items.tables import document_tables
from assets.memory_items.tasks import MemoryTask, TaskAblation, TaskDocuments, TaskLengths, TaskQuestion
from assets.memory_items.turns import as_item_document, as_needed, in_turns, rivals_of
from assets.memory_items.world.writing import ToldDocuments, placed_facts
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.recipe.recipe import Recipe
from assets.records.base import ItemFailed
from assets.records.flat_tables import Table, preview_rows
from assets.reporting.asset_description import AssetDescription

Calls = Mapping[str, PromptCalls]


class DrawnItem(Protocol):
    """The record of the stage that draws items."""

    @property
    def rival_first(self) -> bool: ...


def told_stage(
    name: str,
    tell: Callable[..., Awaitable[ToldDocuments]],
    *,
    needs: tuple[Stage[Any], ...],
    prompts: tuple[str, ...],
    description: str,
    calls: Calls | None = None,
    version: int = 1,
) -> Stage[TaskDocuments]:
    """Return the stage in which a writer tells the documents of a world, and a reader finds again what each states.

    `tell`: returns them, from an item's records of `needs`, recipe and model. The last of `needs` plans the documents.
    """

    async def tell_and_read(*records: Any, recipe: DocumentTaskRecipe, model: LanguageModel) -> TaskDocuments:
        """Raises ItemFailed where the writer tells them otherwise than planned, or for facts that no reader finds."""
        try:
            told = await tell(*records, recipe=recipe, model=model)
        except LookupError as error:
            raise ItemFailed("rule_violated", f"The world has not {error.args[0]} for filler.") from error
        facts = [placed_facts(document, told.world) for document in told.documents]
        votes = await recovered_facts(told.documents, facts, recipe=recipe, model=model)
        return TaskDocuments(
            task_id=records[-1].task_id,
            documents=told.documents,
            filler=told.filler,
            facts=tuple(chain.from_iterable(facts)),
            gate_records=votes,
        )

    return Stage(
        name=name,
        record=TaskDocuments,
        make=tell_and_read,
        version=version,
        needs=needs,
        prompts=(*prompts, RECOVER),
        calls=calls or {},
        description=AssetDescription(
            group="tasks", description=description, rows=preview_rows("documents", "role title text"), paper="MemGym"
        ),
    )


async def arrange_documents(
    drawn: DrawnItem, told: TaskDocuments, question: TaskQuestion, *, recipe: DocumentTaskRecipe, model: LanguageModel
) -> TaskLengths:
    """Arrange the documents in turns, then add filler up to each length. Raises ItemFailed where a length cannot be met."""
    turns = in_turns(
        as_needed(told.documents, question.hops),
        question.hops,
        rivals=rivals_of(question.hops, told.facts),
        rival_first=drawn.rival_first,
        recipe=recipe,
        path=(recipe.world_seed, question.task_id, "turns"),
    )
    usable = usable_filler(told.filler, question.hops, turns=turns)
    filler = [[as_item_document(document, role="filler") for document in group] for group in usable]
    return at_each_length(turns, filler, task_id=question.task_id, recipe=recipe)


@dataclass(frozen=True)
class Certifying:
    """A way to certify: a stage, of this name behind the prefix, about a question and its lengths.

    `of_documents`: its function is also given, first, what the documents state.
    """

    name: str
    make: Callable[..., Awaitable[TaskAblation]]
    description: str
    prompts: tuple[str, ...] = ()
    calls: Calls = field(default_factory=dict[str, PromptCalls])
    of_documents: bool = False

    def stage(self, prefix: str, *, told: tuple[Stage[Any], ...], asked: tuple[Stage[Any], ...]) -> Stage[TaskAblation]:
        """Return the stage. `told`: that of the documents; `asked`: those of the question and of its lengths."""
        return Stage(
            name=prefix + self.name,
            record=TaskAblation,
            make=self.make,
            version=4,
            needs=(*told, *asked) if self.of_documents else asked,
            prompts=self.prompts,
            calls=self.calls,
            description=AssetDescription(group="tasks", description=self.description, rows=certificate_rows, paper="MemGym"),
        )


BY_READING = Certifying(
    "ablation",
    certify_lengths,
    "Readers answer from the final bytes: from nothing, from the facts, from all but filler, without each fact, from what is "
    "shown with the question, from filler, from the last turns, from everything. An error never certifies.",
    prompts=(READ,),
)


def by_acting(program: str, passes: Callable[[Any, Sequence[Fact] | None], Awaitable[bool]]) -> Certifying:
    """Return the way in which a program acts, with the facts that it finds. `passes`: acts on a request, says how it ended."""

    async def certify(
        told: TaskDocuments, request: TaskQuestion, lengths: TaskLengths, *, recipe: DocumentTaskRecipe, model: LanguageModel
    ) -> TaskAblation:
        ends_well = partial(passes, request)
        return await certify_by_acting(request, lengths, passes=ends_well, facts=told.facts, program=program, recipe=recipe)

    return Certifying(
        "certificates",
        certify,
        "A program acts on the final bytes, twice. With all facts it passes. With none, with one left out, with "
        "filler, the last turns or superseded values it fails, as does doing nothing. What passes gets a certificate.",
        of_documents=True,
    )


@dataclass(frozen=True)
class AcceptedTask:
    """What is released of a task. Fields of the `record` beyond those of every task are the question's of the same names.

    `own_fields`: other fields, from the lengths and the records of `needs`. `noun`: what a task is called in messages.
    """

    record: type[MemoryTask] = MemoryTask
    noun: str = "task"
    own_fields: Callable[..., Mapping[str, object]] = lambda *_: {}
    needs: tuple[Stage[Any], ...] = ()
    tables: Mapping[str, Table] = field(default_factory=document_tables)

    async def accept(
        self,
        question: TaskQuestion,
        lengths: TaskLengths,
        ablation: TaskAblation,
        *records: Any,
        recipe: DocumentTaskRecipe,
        model: LanguageModel,
    ) -> MemoryTask:
        """Return the task, if each length is still the one that was certified. Raises ItemFailed."""
        own = dict(self.own_fields(lengths, *records))
        for name in self.record.model_fields.keys() - MemoryTask.model_fields.keys() - own.keys():
            own[name] = getattr(question, name)
        return certified_task(self.record, asked=question, lengths=lengths, ablation=ablation, eviction=recipe.eviction, **own)

    def stage(self, prefix: str, *, certified: tuple[Stage[Any], ...]) -> Stage[MemoryTask]:
        """Return the stage. `certified`: those of the question, its lengths and their certificates."""
        return Stage(
            name=f"{prefix}instances",
            record=self.record,
            make=self.accept,
            needs=(*certified, *self.needs),
            description=AssetDescription(
                group="tasks",
                description="The accepted tasks: question, typed answer, facts, and the documents at each length with its "
                "certificate. They are the rows of a release.",
                rows=accepted_rows,
                paper="MemGym",
            ),
        )


def document_benchmark(
    prefix: str,
    *,
    recipe: type[DocumentTaskRecipe],
    ask: Stage[Any],
    certify: Certifying = BY_READING,
    accept: AcceptedTask = AcceptedTask(),
    lengths: Stage[TaskLengths] | None = None,
    resolve: Callable[[Any], Recipe] = unchanged_recipe,
) -> Benchmark:
    """Return the benchmark of all stages that `ask` needs, and of lengths, certificates and accepted tasks.

    One of them told the documents, as `told_stage` does. `lengths`: another stage in place of the one that arranges what was
    told. `resolve`: as in a Benchmark.
    """
    first, *_ = ask.ancestors.values()
    told = tuple(stage for stage in ask.ancestors.values() if stage.record is TaskDocuments)
    lengths = lengths or Stage(
        name=f"{prefix}lengths",
        record=TaskLengths,
        make=arrange_documents,
        needs=(first, *told, ask),
        description=AssetDescription(
            group="tasks",
            description="Each task's documents in turns, at every length, counted by what a memory receives. Filler is "
            "documents of the same world that hold nothing of the chain.",
            rows=length_rows,
            paper="MemGym",
        ),
    )
    certificates = certify.stage(prefix, told=told, asked=(ask, lengths))
    instances = accept.stage(prefix, certified=(ask, lengths, certificates))
    made = {**instances.ancestors, instances.name: instances}
    return Benchmark(
        name=str(recipe.model_fields["benchmark"].default),
        noun=accept.noun,
        recipe=recipe,
        resolve=resolve,
        stages=tuple(made.values()),
        tables=accept.tables,
        report="assets.memory_items.report:MemoryItemsReport",
        prefix=prefix,
    )
