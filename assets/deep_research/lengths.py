"""Stage `dr_lengths`: the same task at each length, with filler that holds no answer."""

from collections.abc import Iterator, Sequence

from assets.deep_research.facts import DR_FACTS
from assets.deep_research.questions import DR_QUESTIONS, as_item_document
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.facts import Fact, ResearchQuestion, SourceDocument, TaskFacts, TaskSources
from assets.deep_research.records.tasks import TaskLengths, TaskTurns
from assets.deep_research.sources import DR_SOURCES
from assets.deep_research.turns import DR_TURNS
from assets.deep_research.world.dates import spoken
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.llm.text import folded, spells
from assets.memory_items.answers import read_date
from assets.memory_items.documents import ItemDocument
from assets.memory_items.lengths import at_length
from assets.reporting.asset_description import AssetDescription, Row


async def fill_lengths(
    sources: TaskSources,
    facts: TaskFacts,
    question: ResearchQuestion,
    turns: TaskTurns,
    *,
    recipe: DeepResearchRecipe,
    model: LanguageModel,
) -> TaskLengths:
    """Add filler up to each length. Raises ItemFailed where a length cannot be met."""
    placed = {document.document_id for turn in turns.turns for document in turn.documents}
    filler = list(usable_filler(sources, facts, question, placed=placed))
    path = (recipe.seed, question.task_id, "lengths")
    return TaskLengths(
        task_id=question.task_id,
        lengths=tuple(
            at_length(turns.turns, filler, target=target, tolerance=recipe.length_tolerance, path=path)
            for target in recipe.lengths
        ),
    )


def usable_filler(
    sources: TaskSources, facts: TaskFacts, question: ResearchQuestion, *, placed: set[str]
) -> Iterator[ItemDocument]:
    """Filler without anything of the chain, that of which more facts are like the chain's first."""
    names = chain_names(question.hops)
    usable = [one for one in (*sources.filler, *sources.documents) if one.document_id not in placed and not _tells(one, names)]
    relations = {hop.relation for hop in question.hops}
    alike = {fact.document_id for fact in facts.facts if fact.relation in relations}
    ordered = SeededRandom(question.task_id, "filler").shuffled(usable)
    for document in sorted(ordered, key=lambda one: one.document_id not in alike):
        yield as_item_document(document, role="filler")


def chain_names(hops: Sequence[Fact]) -> list[str]:
    """What no filler may have: every name, number and date of the chain. Options are in many documents and tell nothing."""
    values = [fact.value for fact in hops if not fact.options]
    dates = [spoken(found) for value in values if (found := read_date(value))]
    return sorted({hops[0].subject, *values, *dates})


def _tells(document: SourceDocument, names: Sequence[str]) -> bool:
    text = f"{document.title}\n{document.text}"
    words = folded(text)
    # Most names are not there at all, which is found out faster than where they stand.
    return any(folded(name).split()[0] in words and spells(text, name) for name in names)


def _rows(task: TaskLengths) -> list[Row]:
    return [
        {"target": one.target_tokens, "tokens": one.tokens, "turns": len(one.turns), "documents": len(list(one.documents))}
        for one in task.lengths
    ]


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
