"""A question about a team's sessions: a decision, a failed path, a convention, or whether a statement still counts."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assets.code_qa.questions import OUTCOME_RULE, other_fact, with_first_said
from assets.code_qa.records.questions import CodeDecisions
from assets.code_qa.records.sources import CodeSources
from assets.llm.ports import LanguageModel
from assets.memory_items.chains import planned_chain
from assets.memory_items.facts import Fact
from assets.memory_items.questions import TaskChain
from assets.memory_items.tasks import TaskDocuments, TaskQuestion
from assets.recipe.code_qa import SessionQuestionsRecipe
from assets.recipe.document_tasks import Operation

AS_WRITTEN = (
    "Where sessions disagree, what was signed off counts, then what is more than a proposal, and then the latest date. "
    f"{OUTCOME_RULE} Give an assertion as it is written there."
)
ABOUT_TWO_RULES: Mapping[Operation, str] = {
    "failed_path": "Sessions name two assertions as what {ticket} settles. Which of the two does not count?",
    "still_so": "Sessions name two assertions as what {ticket} settles. Is the one of the earlier day what counts, yes or no?",
}


class AskedRule(NamedTuple):
    """A question about two rules of a ticket: which does not count, or whether the earlier one does. `ticket` says of which."""

    operation: Operation
    ticket: str


def read_session_question(question: str) -> AskedRule | None:
    """Return what a question asks of a ticket's rules; None where it asks something else."""
    for operation, words in ABOUT_TWO_RULES.items():
        match = re.match(re.escape(words).replace(r"\{ticket\}", "(?P<ticket>.+)"), question)
        if match:
            return AskedRule(operation, match["ticket"])
    return None


async def ask_about_sessions(
    sources: CodeSources,
    decisions: CodeDecisions,
    sessions: TaskDocuments,
    *,
    recipe: SessionQuestionsRecipe,
    model: LanguageModel,
) -> TaskQuestion:
    """Return the question, worded by form. Raises ItemFailed where the sessions settle no answer, or several."""
    hops = _asked_facts(sources, decisions, sessions)
    chain = TaskChain(sources.task_id, hops, sessions.facts, sessions.documents, sources.operation)
    chain.expect_one_answer()
    answer = chain.typed_answer(seed=recipe.world_seed)
    return TaskQuestion(
        task_id=sources.task_id,
        operation=sources.operation,
        hops=tuple(hops),
        starts=chain.asked_facts.starts,
        introduction=AS_WRITTEN,
        question=_question_about(chain),
        answer=answer,
        gate_records=(),
    )


def _asked_facts(sources: CodeSources, decisions: CodeDecisions, sessions: TaskDocuments) -> Sequence[Fact]:
    """Return the facts that lead to what counts, followed by the one that does not where the question is about that."""
    hops = planned_chain(decisions.chain, sessions.facts)
    if sources.operation == "failed_path":
        return [*hops, other_fact(hops[-1], sessions.facts)]
    return with_first_said(hops, sessions.facts) if sources.operation == "still_so" else hops


def _question_about(chain: TaskChain) -> str:
    """Return the question, which names what leads to the ticket or the function that it is about, where that is not told."""
    *leading, asked = chain.asked_facts.parts[0]
    about = leading[0].full_phrase if leading else asked.subject
    if chain.operation in ABOUT_TWO_RULES:
        return ABOUT_TWO_RULES[chain.operation].format(ticket=about)
    word = "Who" if asked.relation == "owner" else "What"
    return f"{word} is {asked.phrase.replace('{x}', about)}?"
