"""The documents that a task's world tells, and their turns at each length; benchmarks of invented worlds share both."""

from collections.abc import Iterable
from itertools import chain as chained
from typing import Protocol, TypeVar, runtime_checkable

from assets.llm.ports import LanguageModel
from assets.memory_items.facts import DocumentPlan, Fact, Hop, SourceDocument
from assets.memory_items.lengths import at_each_length, usable_filler
from assets.memory_items.recovery import recovered_facts
from assets.memory_items.tasks import TaskLengths, TaskQuestion, TaskRecord
from assets.memory_items.turns import as_item_document, as_needed, in_turns, rivals_of
from assets.memory_items.world.relations import World
from assets.memory_items.world.tellings import ask_tellings, placed_facts, told_filler
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.records.base import ItemFailed

T = TypeVar("T", bound=TaskRecord)


class WrittenDocuments(Protocol):
    """A record with a task's own documents, and filler."""

    @property
    def documents(self) -> tuple[SourceDocument, ...]: ...

    @property
    def filler(self) -> tuple[SourceDocument, ...]: ...


@runtime_checkable
class StatedFacts(Protocol):
    """A record with the facts of a task's own documents."""

    @property
    def facts(self) -> tuple[Fact, ...]: ...


class ToldDocuments(WrittenDocuments, StatedFacts, Protocol):
    """A record with documents, filler and facts."""


async def write_told_documents(
    record: type[T],
    world: World,
    *,
    task_id: str,
    chain: Iterable[Hop],
    plans: Iterable[DocumentPlan],
    recipe: DocumentTaskRecipe,
    model: LanguageModel,
) -> T:
    """Return the task's documents and filler, told. Raises ItemFailed for unusable templates, or facts that no reader finds."""
    tellings = await ask_tellings(world, task_id=task_id, recipe=recipe, model=model)
    documents = tellings.own_documents(plans, seed=recipe.world_seed, task_id=task_id)
    facts = [placed_facts(document, world) for document in documents]
    votes = await recovered_facts(documents, facts, recipe=recipe, model=model)
    try:
        filler = tuple(told_filler(tellings, chain=chain, task_id=task_id, recipe=recipe))
    except LookupError as error:
        raise ItemFailed("rule_violated", f"The world has not {error.args[0]} for filler.") from error
    fields = {"documents": documents, "filler": filler, "facts": tuple(chained.from_iterable(facts)), "gate_records": votes}
    return record.model_validate({"task_id": task_id, **fields})


def arrange_documents(
    told: ToldDocuments, question: TaskQuestion, *, rival_first: bool, recipe: DocumentTaskRecipe
) -> TaskLengths:
    """Arrange the documents in turns, then add filler up to each length. Raises ItemFailed where a length cannot be met."""
    turns = in_turns(
        as_needed(told.documents, question.hops),
        question.hops,
        rivals=rivals_of(question.hops, told.facts),
        rival_first=rival_first,
        recipe=recipe,
        path=(recipe.world_seed, question.task_id, "turns"),
    )
    usable = usable_filler(told.filler, question.hops, turns=turns)
    filler = [[as_item_document(one, role="filler") for one in group] for group in usable]
    return at_each_length(turns, filler, task_id=question.task_id, recipe=recipe)
