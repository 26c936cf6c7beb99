"""What must hold of ablation and of the certificates."""

from collections.abc import Iterator

from assets.deep_research.ablation import required_conditions
from assets.deep_research.instances import uncertified
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.facts import ResearchQuestion
from assets.deep_research.records.tasks import ResearchTask, TaskAblation, TaskLengths
from assets.memory_items.certificates import certificate_problems
from validation.rules import OneRowPerItem, Rule, SetRule, Violation


def certificates_stand_for_the_bytes(
    task: TaskAblation, lengths: TaskLengths, question: ResearchQuestion, _: DeepResearchRecipe
) -> Iterator[str]:
    """Each length has a certificate of its bytes, with every condition passed and none that was an error."""
    certified = {one.target_tokens: one for one in task.certificates}
    for sized in lengths.lengths:
        if sized.target_tokens not in certified:
            yield f"{sized.target_tokens} tokens have no certificate"
            continue
        digest = sized.digest(question=question.question, answer=question.answer)
        conditions = required_conditions(len(question.hops))
        yield from certificate_problems(certified[sized.target_tokens], digest=digest, conditions=conditions)


def instances_are_certified(task: ResearchTask, _: DeepResearchRecipe) -> Iterator[str]:
    """What is released is, byte by byte, what its certificates stand for."""
    yield from uncertified(task)


class QuestionsDiffer:
    """Accumulator of a rule that no two tasks ask the same: few documents may hold one chain for many tasks."""

    def __init__(self) -> None:
        self._asked: dict[str, str] = {}
        self._again: list[Violation] = []

    def add(self, record: ResearchTask) -> None:
        asked = " ".join((record.hops[0].subject, *(hop.relation for hop in record.hops)))
        first = self._asked.setdefault(asked, record.task_id)
        if first != record.task_id:
            self._again.append(Violation(record.task_id, f"asks what {first} asks, from {record.hops[0].subject!r}"))

    def violations(self) -> Iterator[Violation]:
        yield from self._again


RULES = (
    Rule(
        "certificates_hold",
        "Each length has a certificate of its final bytes, and every condition passed.",
        certificates_stand_for_the_bytes,
        reads=("dr_lengths", "dr_questions"),
    ),
)
INSTANCE_RULES = (
    Rule("instances_are_certified", "A released task is what its certificates stand for.", instances_are_certified),
    SetRule("one_row_each", "No task is there twice.", OneRowPerItem),
    SetRule("questions_differ", "No two tasks ask for the same from the same start.", QuestionsDiffer),
)
