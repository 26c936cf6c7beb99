"""Stage `dr_questions`: one question for each task, which takes all of its facts and is answered by nothing less."""

from typing import get_args

from assets.deep_research.facts import DR_FACTS
from assets.deep_research.records import TaskFacts, TaskSources, TaskWorld
from assets.deep_research.sources import DR_SOURCES
from assets.deep_research.worlds import DR_WORLDS
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import PromptCalls, Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import READ, ReadingSizes, condition_with
from assets.memory_items.chains import found_chain
from assets.memory_items.facts import Fact
from assets.memory_items.operations import planned_facts
from assets.memory_items.questions import CHECK, TaskChain, answer_elsewhere, ask_chain, chain_question_rows
from assets.memory_items.tasks import TaskQuestion
from assets.recipe.deep_research import DeepResearchRecipe
from assets.recipe.document_tasks import AskedOperation
from assets.records.base import ItemFailed
from assets.reporting.asset_description import AssetDescription

WORD = "dr_questions/word"
# Of questions on documents that may disagree. How things are worked out is told here, and not in each question.
INTRODUCTION = (
    "Where documents disagree, what is certified counts, then what is not unconfirmed, then the latest date. A draft, and what "
    "is said to be unsigned, from memory or without guarantee, is unconfirmed; it counts where nothing else is told of a "
    "thing. Count what the documents tell of. "
    "Give an order as names alone, the least or earliest first, with commas between. "
    "Give what lies between dates in days. Of several unconfirmed figures the latest is compared with the one that counts; "
    "give the difference without a sign."
)
READING = ReadingSizes(hop=730, task=400)
CHAINS_TRIED = 12  # of each number of hops, in real documents


async def ask_research_question(
    world: TaskWorld, sources: TaskSources, facts: TaskFacts, *, recipe: DeepResearchRecipe, model: LanguageModel
) -> TaskQuestion:
    """Word the question; judges must read its steps back. Raises ItemFailed where no chain, or not one path, is there."""
    if world.chain:
        hops = planned_facts(world.operation, world.chain, facts.facts)
    else:
        hops = _chain_of_real_documents(world, sources, facts, recipe=recipe)
    chain = TaskChain(world.task_id, hops, facts.facts, sources.documents, world.operation, get_args(AskedOperation))
    chain.expect_one_answer()
    return await ask_chain(
        chain,
        chain.typed_answer(seed=recipe.world_seed),
        stage="dr_questions",
        introduction=INTRODUCTION if world.chain else "",
        conditions=[condition_with("question alone", (), "wrong"), chain.last_hop_alone()],
        recipe=recipe,
        model=model,
    )


def _chain_of_real_documents(
    world: TaskWorld, sources: TaskSources, facts: TaskFacts, *, recipe: DeepResearchRecipe
) -> list[Fact]:
    """Return the first chain whose answer is nowhere else, else the first one; long chains are tried first."""
    first: list[Fact] | None = None
    for hops in range(world.hops, recipe.min_hops - 1, -1):
        for again in range(CHAINS_TRIED):
            rng = SeededRandom(recipe.world_seed, world.task_id, "chain", hops, again)
            chain = found_chain(facts.facts, hops, rng=rng)
            if chain is not None and not list(answer_elsewhere(chain, sources.documents)):
                return chain
            first = first or chain
    if first is not None:
        return first
    raise ItemFailed(
        "rule_violated", f"{len(facts.facts)} facts of these sections hold no chain of {recipe.min_hops} hops with one path."
    )


DR_QUESTIONS = Stage(
    name="dr_questions",
    record=TaskQuestion,
    make=ask_research_question,
    version=6,
    needs=(DR_WORLDS, DR_SOURCES, DR_FACTS),
    prompts=(WORD, CHECK, READ),
    calls={
        WORD: PromptCalls(reading=280, writing=40),
        CHECK: PromptCalls(2, reading=600, writing=50),
        READ: READING.short_readings(2),
    },
    description=AssetDescription(
        group="tasks",
        description="One question for each task, with a typed answer that a chain of facts leads to, or that is worked out "
        "from several. Judges read back what it asks; neither the question nor one fact alone may give the answer.",
        rows=chain_question_rows,
        paper="MemGym",
    ),
)
