"""A question about a team's sessions: a decision, a failed path, a convention, or whether a statement still counts."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from assets.code_qa.questions import OUTCOME_RULE, other_fact
from assets.code_qa.records.questions import CodeDecisions
from assets.code_qa.records.sources import CodeSources
from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import LanguageModel
from assets.memory_items.chains import planned_chain
from assets.memory_items.facts import Fact
from assets.memory_items.questions import TaskChain
from assets.memory_items.tasks import TaskDocuments, TaskQuestion
from assets.memory_items.world.relations import spoken
from assets.recipe.code_qa import SessionQuestionsRecipe

AS_WRITTEN = (
    "Where sessions disagree, what was signed off counts, then what is more than a proposal, and then the latest date. "
    f"{OUTCOME_RULE} Give an assertion as it is written there."
)
FAILED_PATH = "Sessions name two assertions as what {ticket} settles. Which of the two does not count?"
STILL_SO = "A session says, as of {day}, what {ticket} settles. Is that what counts, yes or no?"
FAILED_PATH_ASKED = re.compile(re.escape(FAILED_PATH).replace(r"\{ticket\}", r"(?P<ticket>\S+)"))
STILL_SO_ASKED = re.compile(
    re.escape(STILL_SO).replace(r"\{ticket\}", r"(?P<ticket>\S+)").replace(r"\{day\}", r"(?P<day>[\w ]+)")
)


class AskedRule(NamedTuple):
    """A question about a ticket's rules: whether what is said as of this day counts; of no day, which rule does not."""

    ticket: str
    day: str


def read_session_question(question: str) -> AskedRule | None:
    """Return what a question asks of a ticket's rules; None where it asks something else."""
    still_so = STILL_SO_ASKED.match(question)
    if still_so:
        return AskedRule(still_so["ticket"], still_so["day"])
    failed_path = FAILED_PATH_ASKED.match(question)
    return AskedRule(failed_path["ticket"], "") if failed_path else None


async def ask_about_sessions(
    sources: CodeSources,
    decisions: CodeDecisions,
    sessions: TaskDocuments,
    *,
    recipe: SessionQuestionsRecipe,
    model: LanguageModel,
) -> TaskQuestion:
    """Return the question, worded by form. Raises ItemFailed where the sessions settle no answer, or several."""
    hops = _asked_facts(sources, decisions, sessions, seed=recipe.world_seed)
    chain = TaskChain(sources.task_id, hops, sessions.facts, sessions.documents, sources.operation)
    chain.expect_one_answer()
    answer = chain.typed_answer(seed=recipe.world_seed)
    return TaskQuestion(
        task_id=sources.task_id,
        operation=sources.operation,
        hops=tuple(hops),
        starts=chain.asked_facts.starts,
        introduction=AS_WRITTEN,
        question=_question_about(hops, chain),
        answer=answer,
        gate_records=(),
    )


def _asked_facts(sources: CodeSources, decisions: CodeDecisions, sessions: TaskDocuments, *, seed: int) -> Sequence[Fact]:
    """Return the fact that counts, followed by the one that does not where the question is about that."""
    (counts,) = planned_chain(decisions.chain, sessions.facts)
    if sources.operation == "failed_path":
        return [counts, other_fact(counts, sessions.facts)]
    if sources.operation == "still_so":
        # Of the two in every second case the one that does not count.
        of_other = SeededRandom(seed, sources.task_id, "still so").bernoulli(0.5)
        return [counts, other_fact(counts, sessions.facts)] if of_other else [counts]
    return [counts]


def _question_about(hops: Sequence[Fact], chain: TaskChain) -> str:
    counts, asked = hops[0], hops[-1]
    if chain.operation == "failed_path":
        return FAILED_PATH.format(ticket=counts.subject)
    if chain.operation == "still_so" and asked.as_of is not None:
        return STILL_SO.format(ticket=counts.subject, day=spoken(asked.as_of))
    word = "Who" if counts.relation == "owner" else "What"
    return f"{word} is {counts.full_phrase}?"
