"""Rules about the questions that are asked of a repair's sessions: their keys follow from what the sessions tell."""

from collections.abc import Iterator

from assets.code_qa.records.questions import CodeDocuments
from assets.code_repair.questions import read_session_question
from assets.code_repair.records import RepairTask, SessionQuestion
from assets.memory_items.facts import Fact
from assets.memory_items.turns import documents_in_view
from assets.recipe.code_repair import CodeRepairRecipe
from assets.records.answers import is_right
from validation.memory_items.facts import span_holds
from validation.rules import Rule, expect


def keys_follow(task: RepairTask, sessions: CodeDocuments, _: CodeRepairRecipe) -> Iterator[str]:
    for asked in task.questions:
        first = asked.hops[0]
        told = [one for one in sessions.facts if (one.subject, one.relation) == (first.subject, first.relation)]
        key = _key(asked, told)
        yield from expect(is_right(asked.answer, key), f"{asked.form}: the key is {asked.answer.value!r}, and not {key!r}")


def _key(asked: SessionQuestion, told: list[Fact]) -> str:
    """Return what the facts of the sessions come to, where the greatest weight counts."""
    *others, counts = sorted(told, key=lambda fact: fact.weight)
    if asked.form == "failed_path":
        return others[-1].value
    if asked.form == "still_so":
        named = read_session_question(asked.question)
        return "yes" if named is not None and named.rule == counts.value else "no"
    return counts.value


def facts_are_out_of_view(task: RepairTask, recipe: CodeRepairRecipe) -> Iterator[str]:
    for sized in task.lengths:
        texts = {document.document_id: document.text for document in sized.documents}
        in_view = {document.document_id for document in documents_in_view(sized.turns, recipe.eviction)}
        for asked in task.questions:
            for fact in asked.hops:
                where = f"{asked.form} at {sized.target_tokens} tokens"
                holds = span_holds(fact, texts.get(fact.document_id, ""))
                yield from expect(holds, f"{where}: {fact.document_id} does not hold {fact.value!r}")
                yield from expect(fact.document_id not in in_view, f"{where}: {fact.document_id} is in view at the end")


RULES = (
    Rule(
        "session_keys_follow",
        "The key of each question about sessions is what they tell, where the greatest weight counts.",
        keys_follow,
        reads=("cr_sessions",),
        check="session_questions",
    ),
    Rule(
        "session_facts_are_out_of_view",
        "The sessions hold what each question about them takes, at every length, and not in what is in view at the end.",
        facts_are_out_of_view,
        check="session_questions",
    ),
)
