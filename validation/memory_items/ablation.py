"""Rules about ablation and certificates."""

from collections.abc import Iterator

from assets.memory_items.ablation import Certificate, certificate_problems
from assets.memory_items.final_ablation import certified_digest, required_conditions, uncertified_lengths
from assets.memory_items.tasks import MemoryTask, TaskAblation, TaskLengths, TaskQuestion
from assets.recipe.document_tasks import DocumentTaskRecipe
from validation.rules import OneRowPerItem, Rule, SetRule


def certificates_stand_for_the_bytes(
    task: TaskAblation, lengths: TaskLengths, question: TaskQuestion, _: DocumentTaskRecipe
) -> Iterator[str]:
    certified: dict[int, Certificate] = {}
    for certificate in task.certificates:
        certified[certificate.target_tokens] = certificate
    for sized in lengths.lengths:
        if sized.target_tokens not in certified:
            yield f"{sized.target_tokens} tokens have no certificate"
            continue
        digest = certified_digest(question, sized)
        conditions = required_conditions(question)
        yield from certificate_problems(certified[sized.target_tokens], digest=digest, conditions=conditions)


def instances_are_certified(task: MemoryTask, _: DocumentTaskRecipe) -> Iterator[str]:
    yield from uncertified_lengths(task)


def ablation_rules(*, lengths: str, questions: str) -> tuple[Rule, ...]:
    """Return the rules of the stage that reads the final bytes. `lengths`, `questions`: those that fill and ask."""
    return (
        Rule(
            "certificates_hold",
            "Each length has a certificate of its final bytes, and every condition passed.",
            certificates_stand_for_the_bytes,
            reads=(lengths, questions),
        ),
    )


INSTANCE_RULES = (
    Rule(
        "instances_are_certified", "A released task has the bytes that its certificates were made on.", instances_are_certified
    ),
    SetRule("one_row_each", "No task is there twice.", OneRowPerItem),
)
