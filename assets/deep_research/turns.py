"""Stage `dr_turns`: the turns in which a task's documents arrive, each fact long before the question."""

from assets.deep_research.facts import DR_FACTS
from assets.deep_research.questions import DR_QUESTIONS
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.facts import TaskFacts, TaskSources
from assets.deep_research.sources import DR_SOURCES
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import READ, ablate, expect_passed, given
from assets.memory_items.documents import ItemDocument, Role
from assets.memory_items.facts import SourceDocument
from assets.memory_items.tasks import TaskQuestion, TaskTurns
from assets.memory_items.turns import as_item_document, facts_by_document, in_turns, last_turns, turn_rows
from assets.reporting.asset_description import AssetDescription, Row

MOST_SIBLINGS_PER_HOP = 3  # of real documents, where many sections may say the same of other subjects


async def arrange_turns(
    sources: TaskSources, facts: TaskFacts, question: TaskQuestion, *, recipe: DeepResearchRecipe, model: LanguageModel
) -> TaskTurns:
    """Spread the documents over turns; what is in view at the end does not answer the question, else ItemFailed."""
    path = (recipe.seed, question.task_id, "turns")
    turns = in_turns(own_documents(sources, facts, question), question.hops, recipe=recipe, path=path)
    last = [document for turn in last_turns(turns, recipe.eviction) for document in turn.documents]
    read = await ablate(
        question.question,
        question.answer,
        [given("last turn alone", last, "wrong")],
        policy=recipe.ablation,
        item_id=question.task_id,
        recipe=recipe,
        model=model,
    )
    expect_passed(read)
    return TaskTurns(task_id=question.task_id, turns=turns, gate_records=read.gate_records)


def own_documents(sources: TaskSources, facts: TaskFacts, question: TaskQuestion) -> list[ItemDocument]:
    """The documents of the chain and those beside it, each with its role and with the facts of the chain in it."""
    needed = facts_by_document(question.hops)
    beside = _beside(facts, question)
    found: list[ItemDocument] = []
    for document in sources.documents:
        if document.document_id in needed:
            found.append(as_item_document(document, role="support", facts=needed[document.document_id]))
        elif document.role != "filler" or document.document_id in beside:
            found.append(as_item_document(document, role=_role(document)))
    return found


def _role(document: SourceDocument) -> Role:
    return "sibling" if document.role == "filler" else document.role


def _beside(facts: TaskFacts, question: TaskQuestion) -> set[str]:
    """Ids of real documents that say of other subjects what the chain's documents say of theirs."""
    found: set[str] = set()
    for hop in question.hops:
        rivals = [fact.document_id for fact in facts.facts if fact.relation == hop.relation and fact.subject != hop.subject]
        found.update(list(dict.fromkeys(rivals))[:MOST_SIBLINGS_PER_HOP])
    return found


def _rows(task: TaskTurns) -> list[Row]:
    return turn_rows(task.turns)


DR_TURNS = Stage(
    name="dr_turns",
    record=TaskTurns,
    make=arrange_turns,
    needs=(DR_SOURCES, DR_FACTS, DR_QUESTIONS),
    prompts=(READ,),
    description=AssetDescription(
        group="items",
        description="The turns in which a task's documents arrive: those of the chain, siblings, near misses and superseded "
        "ones. No fact of the chain is in view when the question comes.",
        rows=_rows,
        paper="MemGym",
    ),
)
