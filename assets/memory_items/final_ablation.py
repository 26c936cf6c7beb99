"""The last ablation: readers read each length as it will be released, with something left out, and it gets its certificate."""

import re
from collections.abc import Sequence

from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import AblationCondition, ablate, expect_passed, given, in_parts
from assets.memory_items.certificates import Certificate, certificate, certificate_problems
from assets.memory_items.documents import Eviction, ItemDocument, SizedItem
from assets.memory_items.facts import Fact
from assets.memory_items.recipe import DocumentTaskRecipe
from assets.memory_items.tasks import MemoryTask, TaskAblation, TaskLengths, TaskQuestion
from assets.memory_items.turns import last_turns
from assets.records.base import GateRecord, ItemFailed
from assets.reporting.asset_description import Row

SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")
# The conditions that every certificate must have, beside one for each hop.
NONE, FACTS, FILLER, LAST, EVERYTHING = "none", "facts", "filler only", "last turn only", "everything"
SHOWN = "shown with the question"  # where something is


async def certify_lengths(
    asked: TaskQuestion, lengths: TaskLengths, *, recipe: DocumentTaskRecipe, model: LanguageModel
) -> TaskAblation:
    """Read every length as it will be released. Raises ItemFailed where a condition fails or could not be read."""
    # One length after the other: most readings are of the same documents at each, and the reply cache has them then.
    made = [await _certified(asked, sized, recipe=recipe, model=model) for sized in lengths.lengths]
    return TaskAblation(
        task_id=asked.task_id,
        certificates=tuple(certified for certified, _ in made),
        gate_records=tuple(vote for _, votes in made for vote in votes),
    )


async def _certified(
    asked: TaskQuestion, sized: SizedItem, *, recipe: DocumentTaskRecipe, model: LanguageModel
) -> tuple[Certificate, tuple[GateRecord, ...]]:
    policy = recipe.ablation
    conditions = final_conditions(sized, asked, eviction=recipe.eviction, most=policy.max_reading_tokens)
    read = await ablate(
        asked.question,
        asked.answer,
        conditions,
        policy=policy,
        item_id=f"{sized.target_tokens} tokens",
        recipe=recipe,
        model=model,
    )
    expect_passed(read)
    digest = sized.digest(question=asked.question, answer=asked.answer, shown=asked.shown_with_question)
    readers = recipe.models.judge.panel
    made = certificate(read.outcomes, target=sized.target_tokens, digest=digest, readers=readers, policy=policy)
    return made, read.gate_records


def final_conditions(sized: SizedItem, asked: TaskQuestion, *, eviction: Eviction, most: int) -> list[AblationCondition]:
    """What is read of the final bytes. Raises ItemFailed for bytes that do not hold a fact."""
    documents = list(sized.documents)
    own = [one for one in documents if one.role != "filler"]
    conditions = [given(NONE, (), "wrong"), given(FACTS, [stated(fact, documents) for fact in asked.hops], "right")]
    conditions += [
        given(without(number), [*asked.shown_without(fact), *(one for one in own if fact.fact_id not in one.facts)], "wrong")
        for number, fact in enumerate(asked.hops, start=1)
    ]
    filler = [one for one in documents if one.role == "filler"]
    last = [document for turn in last_turns(sized.turns, eviction) for document in turn.documents]
    conditions += [in_parts(FILLER, filler, "wrong", most=most), in_parts(LAST, last, "wrong", most=most)]
    if asked.shown_with_question:
        conditions.append(given(SHOWN, asked.shown_with_question, "wrong"))
    if sized.tokens <= most:
        conditions.append(given(EVERYTHING, documents, "measured"))
    return conditions


def without(hop: int) -> str:
    """The condition that leaves out the document of this hop, counted from 1."""
    return f"without hop {hop}"


def required_conditions(asked: TaskQuestion | MemoryTask) -> list[str]:
    """The conditions that a certificate must have."""
    left_out = [without(hop) for hop in range(1, len(asked.hops) + 1)]
    return [NONE, FACTS, *left_out, FILLER, LAST, *([SHOWN] if asked.shown_with_question else [])]


def stated(fact: Fact, documents: Sequence[ItemDocument]) -> ItemDocument:
    """The fact as its document states it: the sentence around its value, in the final bytes. Raises ItemFailed without it."""
    document = next((one for one in documents if fact.fact_id in one.facts), None)
    if document is None or not sentence_of(fact, document.text):
        raise ItemFailed("rule_violated", f"The final bytes do not hold the fact {fact.relation} of {fact.subject!r}.")
    return document.model_copy(update={"text": sentence_of(fact, document.text)})


def sentence_of(fact: Fact, text: str) -> str:
    """The sentence in which the value stands; from the line that names the subject on, where the sentence does not."""
    start = max((found.end() for found in SENTENCE_END.finditer(text, 0, fact.start)), default=0)
    end = next((found.end() for found in SENTENCE_END.finditer(text, fact.end)), len(text))
    named = text.rfind(fact.subject, 0, fact.start)
    if fact.subject not in text[start:end] and named >= 0:
        start = text.rfind("\n", 0, named) + 1
    return text[start:end].strip()


def uncertified(task: MemoryTask) -> list[str]:
    """A sentence for each reason why a length of the task is not what its certificate stands for."""
    return [
        f"{sized.target_tokens} tokens: {problem}"
        for sized, certified in task.certified_lengths()
        for problem in certificate_problems(
            certified,
            digest=sized.digest(question=task.question, answer=task.answer, shown=task.shown_with_question),
            conditions=required_conditions(task),
        )
    ]


def expect_certified(task: MemoryTask) -> None:
    """Raise ItemFailed for a task of which a length is not what its certificate stands for."""
    for problem in uncertified(task):
        raise ItemFailed("rule_violated", f"The task is not certified: {problem}.")


def certificate_rows(task: TaskAblation) -> list[Row]:
    """The certificates as an asset's preview shows them."""
    return [
        {
            "tokens": certified.target_tokens,
            "digest": certified.digest[:12],
            **{one.condition: f"{one.right}/{one.readings}" for one in certified.outcomes},
        }
        for certified in task.certificates
    ]


def accepted_rows(task: MemoryTask) -> list[Row]:
    """An accepted task as an asset's preview shows it."""
    lengths = ", ".join(str(one.tokens) for one in task.lengths)
    return [{"question": task.question, "answer": task.answer.value, "hops": len(task.hops), "tokens": lengths}]
