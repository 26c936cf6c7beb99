"""Stage `dr_lengths`: the same task at each length, with filler that holds no answer."""

from assets.deep_research.facts import DR_FACTS
from assets.deep_research.questions import DR_QUESTIONS
from assets.deep_research.records import TaskFacts, TaskSources
from assets.deep_research.sources import DR_SOURCES
from assets.deep_research.turns import DR_TURNS
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.lengths import at_each_length, length_rows, usable_filler
from assets.memory_items.tasks import TaskLengths, TaskQuestion, TaskTurns
from assets.memory_items.turns import as_item_document
from assets.recipe.deep_research import DeepResearchRecipe
from assets.reporting.asset_description import AssetDescription


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
    # Sections of real documents come in any order. Told clusters stay in theirs, the small ones last.
    sections = SeededRandom(question.task_id, "filler").shuffled(sources.documents)
    usable = usable_filler((*sources.filler, *sections), question.hops, turns=turns.turns)
    alike: set[str] = set()
    for hop in question.hops:
        alike.update(fact.document_id for fact in facts.facts if fact.relation == hop.relation)
    # Documents that say of others what the chain says come first: filler is to be taken for the chain's own documents.
    usable.sort(key=lambda group: all(document.document_id not in alike for document in group))
    filler = [[as_item_document(document, role="filler") for document in group] for group in usable]
    return at_each_length(turns.turns, filler, task_id=question.task_id, recipe=recipe)


DR_LENGTHS = Stage(
    name="dr_lengths",
    record=TaskLengths,
    make=fill_lengths,
    version=2,
    needs=(DR_SOURCES, DR_FACTS, DR_QUESTIONS, DR_TURNS),
    description=AssetDescription(
        group="tasks",
        description="Each task at every length, counted by what a memory receives. Filler holds nothing of the chain, and the "
        "same filler is at the same place at every length.",
        rows=length_rows,
        paper="MemGym",
    ),
)
