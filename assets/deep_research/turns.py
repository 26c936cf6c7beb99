"""Stage `dr_turns`: the turns in which a task's documents arrive, each fact long before the question."""

from assets.deep_research.facts import DR_FACTS
from assets.deep_research.questions import DR_QUESTIONS, READING
from assets.deep_research.records import TaskFacts, TaskSources, TaskWorld
from assets.deep_research.sources import DR_SOURCES
from assets.deep_research.worlds import DR_WORLDS
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import READ, ablate, condition_with, expect_passed
from assets.memory_items.documents import ItemDocument
from assets.memory_items.tasks import TaskQuestion, TaskTurns
from assets.memory_items.turns import as_item_document, documents_in_view, facts_by_document, in_turns, rivals_of
from assets.recipe.deep_research import DeepResearchRecipe
from assets.reporting.asset_description import AssetDescription, Row

MOST_SIBLINGS_PER_HOP = 3  # of real documents, where many sections may say the same of other subjects


async def arrange_turns(
    world: TaskWorld,
    sources: TaskSources,
    facts: TaskFacts,
    question: TaskQuestion,
    *,
    recipe: DeepResearchRecipe,
    model: LanguageModel,
) -> TaskTurns:
    """Spread the documents over turns; what is in view at the end does not answer the question, else ItemFailed."""
    turns = in_turns(
        _own_documents(sources, facts, question),
        question.hops,
        rivals=rivals_of(question.hops, facts.facts),
        rival_first=world.rival_first,
        recipe=recipe,
        path=(recipe.world_seed, question.task_id, "turns"),
    )
    read = await ablate(
        question.full_question,
        question.answer,
        [condition_with("last turn alone", documents_in_view(turns, recipe.eviction), "wrong")],
        policy=recipe.ablation,
        item_id=question.task_id,
        recipe=recipe,
        model=model,
    )
    expect_passed(read)
    return TaskTurns(task_id=question.task_id, turns=turns, gate_records=read.gate_records)


def _own_documents(sources: TaskSources, facts: TaskFacts, question: TaskQuestion) -> list[ItemDocument]:
    """Return the chain's documents and those beside it, each with its role and with the facts of the chain in it."""
    needed = facts_by_document(question.hops)
    rivals = _rival_documents(facts, question)
    found: list[ItemDocument] = []
    for document in sources.documents:
        if document.document_id in needed:
            found.append(as_item_document(document, role="support", facts=needed[document.document_id]))
        elif document.role != "filler":
            found.append(as_item_document(document))
        elif document.document_id in rivals:
            # Real documents are all filler at first; these turn out to be siblings of the chain that was found.
            found.append(as_item_document(document, role="sibling"))
    return found


def _rival_documents(facts: TaskFacts, question: TaskQuestion) -> set[str]:
    """Return ids of documents that say of other subjects what the chain's documents say of theirs."""
    found: set[str] = set()
    for hop in question.hops:
        rivals: dict[str, None] = {}
        for fact in facts.facts:
            if fact.relation == hop.relation and fact.subject != hop.subject:
                rivals[fact.document_id] = None
        found.update(list(rivals)[:MOST_SIBLINGS_PER_HOP])
    return found


def _rows(task: TaskTurns) -> list[Row]:
    rows: list[Row] = []
    for number, turn in enumerate(task.turns):
        for document in turn.documents:
            rows.append({"turn": number, "role": document.role, "title": document.title})
    return rows


DR_TURNS = Stage(
    name="dr_turns",
    record=TaskTurns,
    make=arrange_turns,
    version=2,
    needs=(DR_WORLDS, DR_SOURCES, DR_FACTS, DR_QUESTIONS),
    prompts=(READ,),
    calls={READ: READING.short_readings(1)},
    description=AssetDescription(
        group="tasks",
        description="The turns in which a task's documents arrive: those of the chain, siblings, near misses and superseded "
        "ones. No fact of the chain is in view when the question comes.",
        rows=_rows,
        paper="MemGym",
    ),
)
