"""Stage `dr_lengths`: the same task at each length, with filler that holds no answer."""

from collections.abc import Iterator

from assets.deep_research.facts import DR_FACTS
from assets.deep_research.questions import DR_QUESTIONS
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.facts import TaskFacts, TaskSources
from assets.deep_research.sources import DR_SOURCES
from assets.deep_research.turns import DR_TURNS
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.documents import ItemDocument
from assets.memory_items.lengths import at_length, length_rows, usable_filler
from assets.memory_items.tasks import TaskLengths, TaskQuestion, TaskTurns
from assets.memory_items.turns import as_item_document
from assets.reporting.asset_description import AssetDescription, Row


async def fill_lengths(
    sources: TaskSources,
    facts: TaskFacts,
    question: TaskQuestion,
    turns: TaskTurns,
    *,
    recipe: DeepResearchRecipe,
    model: LanguageModel,
) -> TaskLengths:
    """Add filler up to each length. Raises ItemFailed where a length cannot be met."""
    placed = {document.document_id for turn in turns.turns for document in turn.documents}
    filler = list(_filler(sources, facts, question, placed=placed))
    path = (recipe.seed, question.task_id, "lengths")
    return TaskLengths(
        task_id=question.task_id,
        lengths=tuple(
            at_length(turns.turns, filler, target=target, tolerance=recipe.length_tolerance, path=path)
            for target in recipe.lengths
        ),
    )


def _filler(sources: TaskSources, facts: TaskFacts, question: TaskQuestion, *, placed: set[str]) -> Iterator[ItemDocument]:
    """Filler without anything of the chain, that of which more facts are like the chain's first."""
    usable = usable_filler((*sources.filler, *sources.documents), question.hops, placed=placed)
    relations = {hop.relation for hop in question.hops}
    alike = {fact.document_id for fact in facts.facts if fact.relation in relations}
    ordered = SeededRandom(question.task_id, "filler").shuffled(usable)
    for document in sorted(ordered, key=lambda one: one.document_id not in alike):
        yield as_item_document(document, role="filler")


def _rows(task: TaskLengths) -> list[Row]:
    return length_rows(task.lengths)


DR_LENGTHS = Stage(
    name="dr_lengths",
    record=TaskLengths,
    make=fill_lengths,
    needs=(DR_SOURCES, DR_FACTS, DR_QUESTIONS, DR_TURNS),
    description=AssetDescription(
        group="items",
        description="Each task at every length, counted by what a memory receives. Filler holds nothing of the chain, and the "
        "same filler is at the same place at every length.",
        rows=_rows,
        paper="MemGym",
    ),
)
