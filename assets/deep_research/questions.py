"""Stage `dr_questions`: one question for each task, which a chain of facts answers and nothing less does."""

from assets.deep_research.facts import DR_FACTS
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.facts import TaskFacts, TaskSources
from assets.deep_research.records.world import TaskWorld
from assets.deep_research.sources import DR_SOURCES
from assets.deep_research.worlds import DR_WORLDS
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import READ, ablate, expect_passed, given
from assets.memory_items.chains import found_chain, path_problems, planned_chain
from assets.memory_items.facts import Fact
from assets.memory_items.questions import QuestionPrompts, answer_elsewhere, last_hop_alone, typed_answer, worded
from assets.memory_items.tasks import TaskQuestion
from assets.records.base import ItemFailed
from assets.reporting.asset_description import AssetDescription, Row

PROMPTS = QuestionPrompts(word="dr_questions/word", check="dr_questions/check")
# Part of every question whose documents may disagree.
RULE = "Where documents disagree, what is certified counts, then what is not called unconfirmed, and then the latest date."
CHAINS_TRIED = 12  # of each number of hops, in real documents


async def ask_question(
    world: TaskWorld, sources: TaskSources, facts: TaskFacts, *, recipe: DeepResearchRecipe, model: LanguageModel
) -> TaskQuestion:
    """Word the question; judges must read its steps back. Raises ItemFailed where no chain, or not one path, is there."""
    hops = _chain(world, sources, facts, recipe=recipe)
    problems = [*path_problems(hops, facts.facts), *answer_elsewhere(hops, sources.documents)]
    if problems:
        raise ItemFailed("ambiguous", f"The chain from {hops[0].subject!r} cannot be asked for: {'; '.join(problems[:3])}.")
    rng = SeededRandom(recipe.seed, world.task_id, "question")
    answer = typed_answer(hops, facts.facts, rng)
    phrases = sorted({fact.phrase for fact in facts.facts})
    attempt = await worded(hops, phrases, answer, PROMPTS, item_id=world.task_id, recipe=recipe, model=model)
    question = f"{attempt.text} {RULE}" if world.chain else attempt.text
    read = await ablate(
        question,
        answer,
        [given("question alone", (), "wrong"), last_hop_alone(hops, sources.documents, facts.facts)],
        policy=recipe.ablation,
        item_id=world.task_id,
        recipe=recipe,
        model=model,
    )
    expect_passed(read, before=attempt.records)
    return TaskQuestion(
        task_id=world.task_id,
        hops=tuple(hops),
        start=hops[0].subject,
        question=question,
        answer=answer,
        gate_records=(*attempt.records, *read.gate_records),
    )


def _chain(world: TaskWorld, sources: TaskSources, facts: TaskFacts, *, recipe: DeepResearchRecipe) -> list[Fact]:
    """The planned chain; of real documents the first one found whose answer stands nowhere else, else the first one."""
    if world.chain:
        try:
            return planned_chain(world.chain, facts.facts)
        except LookupError as error:
            raise ItemFailed("rule_violated", f"The chain is not told: {error.args[0]}.") from error
    tries = [(hops, again) for hops in range(world.hops, recipe.min_hops - 1, -1) for again in range(CHAINS_TRIED)]
    found = (
        found_chain(facts.facts, hops, rng=SeededRandom(recipe.seed, world.task_id, "chain", hops, again))
        for hops, again in tries
    )
    first: list[Fact] | None = None
    for chain in found:
        if chain is not None and not answer_elsewhere(chain, sources.documents):
            return chain
        first = first or chain
    if first is not None:
        return first
    raise ItemFailed(
        "rule_violated", f"{len(facts.facts)} facts of these sections hold no chain of {recipe.min_hops} hops with one path."
    )


def _rows(question: TaskQuestion) -> list[Row]:
    steps = " -> ".join([question.start, *(hop.value for hop in question.hops)])
    return [{"question": question.question, "answer": question.answer.value, "chain": steps}]


DR_QUESTIONS = Stage(
    name="dr_questions",
    record=TaskQuestion,
    make=ask_question,
    needs=(DR_WORLDS, DR_SOURCES, DR_FACTS),
    prompts=(PROMPTS.word, PROMPTS.check, READ),
    description=AssetDescription(
        group="questions",
        description="One question for each task, with a typed answer that a chain of facts leads to. There is one path only; "
        "judges read the steps back; neither the question alone nor the last hop alone may give the answer.",
        rows=_rows,
        paper="MemGym",
    ),
)
