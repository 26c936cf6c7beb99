"""The last ablation: readers read each length as it will be released, with something left out, and it gets its certificate."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import (
    READ,
    AblationCondition,
    Certificate,
    ablate,
    certificate_problems,
    condition_with,
    expect_passed,
    in_parts,
)
from assets.memory_items.documents import TOKENIZER, ItemDocument, SizedItem, opening_and, told_around
from assets.memory_items.facts import Fact
from assets.memory_items.tasks import MemoryTask, TaskAblation, TaskLengths, TaskQuestion
from assets.memory_items.turns import documents_in_view
from assets.recipe.document_tasks import DocumentTaskRecipe, Eviction
from assets.records.base import GateRecord, ItemFailed
from assets.reporting.asset_description import Row
from prompts.catalogue import load_prompt

# The conditions of a certificate, beside one for each hop.
NONE = "none"
FACTS = "facts"
OWN = "all but filler"  # where documents disagree, the words of one of them say which counts
FILLER = "filler only"
LAST = "last turn only"
EVERYTHING = "everything"  # no certificate needs it: long tasks are not read at once
SHOWN = "shown with the question"  # where something is
T = TypeVar("T", bound=MemoryTask)


async def certify_lengths(
    asked: TaskQuestion, lengths: TaskLengths, *, recipe: DocumentTaskRecipe, model: LanguageModel
) -> TaskAblation:
    """Read every length as it will be released. Raises ItemFailed where a condition fails or could not be read."""
    policy = recipe.ablation
    certificates: list[Certificate] = []
    votes: list[GateRecord] = []
    # One length after the other: most readings are of the same documents at each, and the reply cache has them then.
    for sized in lengths.lengths:
        read = await ablate(
            asked.full_question,
            asked.answer,
            final_conditions(sized, asked, eviction=recipe.eviction, most=policy.max_reading_tokens),
            policy=policy,
            item_id=f"{sized.target_tokens} tokens",
            recipe=recipe,
            model=model,
        )
        expect_passed(read)
        certified = Certificate(
            target_tokens=sized.target_tokens,
            digest=certified_digest(asked, sized),
            readers=tuple(recipe.models.judge.panel),
            prompt=load_prompt(READ).fingerprint,
            tokenizer=TOKENIZER,
            policy=policy,
            outcomes=read.outcomes,
        )
        certificates.append(certified)
        votes += read.gate_records
    return TaskAblation(task_id=asked.task_id, certificates=tuple(certificates), gate_records=tuple(votes))


def certified_digest(asked: TaskQuestion | MemoryTask, sized: SizedItem) -> str:
    """Return the digest of all that this length's certificate covers."""
    return sized.digest(
        question=asked.full_question, answer=asked.answer, shown=asked.shown_with_question, also=asked.also_certified
    )


def final_conditions(sized: SizedItem, asked: TaskQuestion, *, eviction: Eviction, most: int) -> list[AblationCondition]:
    """Return the conditions that are read of the final bytes. Raises ItemFailed for bytes that do not hold a fact."""
    documents = list(sized.documents)
    own: list[ItemDocument] = []
    filler: list[ItemDocument] = []
    for document in documents:
        group = filler if document.role == "filler" else own
        group.append(document)
    facts = [stating_document(fact, documents) for fact in asked.hops]
    conditions = [condition_with(NONE, (), "wrong"), condition_with(FACTS, facts, "right"), condition_with(OWN, own, "right")]
    for number, fact in enumerate(asked.hops, start=1):
        others = [document for document in own if fact.fact_id not in document.facts]
        conditions.append(condition_with(without_hop(number), [*asked.shown_with_question, *others], "wrong"))
    conditions.append(in_parts(FILLER, filler, most=most))
    conditions.append(in_parts(LAST, documents_in_view(sized.turns, eviction), most=most))
    if asked.shown_with_question:
        conditions.append(condition_with(SHOWN, asked.shown_with_question, "wrong"))
    if sized.tokens <= most:
        # Measured alone: a reader may overlook a fact among many documents, which says nothing against the task.
        conditions.append(condition_with(EVERYTHING, documents, "measured"))
    return conditions


def without_hop(number: int) -> str:
    """Return the name of the condition that leaves out the document of this hop, counted from 1."""
    return f"without hop {number}"


def required_conditions(asked: TaskQuestion | MemoryTask) -> list[str]:
    """Return the conditions that a certificate must have."""
    required = [NONE, FACTS, *map(without_hop, range(1, len(asked.hops) + 1)), FILLER, LAST]
    if asked.shown_with_question:
        required.append(SHOWN)
    if asked.operation != "act":  # an agent gets the facts of texts, not the texts
        required.append(OWN)
    return required


def stating_document(fact: Fact, documents: Sequence[ItemDocument]) -> ItemDocument:
    """Return the fact's document with the paragraph of its value alone. Raises ItemFailed where the value is not there.

    Of a session with an interpreter it has the paragraph before as well, which says when that was; and where the paragraph does
    not name what it is about, the first one. What is unconfirmed keeps its whole document, of which any line may say so.
    """
    for document in documents:
        if fact.fact_id in document.facts and fact.stands_in(document.text):
            if fact.status == "unconfirmed":
                return document
            told = told_around(document.text, fact.start)
            is_named = fact.subject in f"{document.title}\n{told}"
            return document.model_copy(update={"text": told if is_named else opening_and(told, document.text)})
    raise ItemFailed("rule_violated", f"The final bytes do not hold the fact {fact.relation} of {fact.subject!r}.")


def uncertified_lengths(task: MemoryTask) -> Iterator[str]:
    """Yield a sentence for each way in which a length of the task is not the one that was certified."""
    conditions = required_conditions(task)
    for sized, certified in zip(task.lengths, task.certificates, strict=True):
        for problem in certificate_problems(certified, digest=certified_digest(task, sized), conditions=conditions):
            yield f"{sized.target_tokens} tokens: {problem}"


def certified_task(
    record: type[T], *, asked: TaskQuestion, lengths: TaskLengths, ablation: TaskAblation, eviction: Eviction, **own: object
) -> T:
    """Return the accepted task; `own`: the record's own fields. Raises ItemFailed where bytes changed after a certificate."""
    fields = {
        "task_id": asked.task_id,
        "introduction": asked.introduction,
        "question": asked.question,
        "answer": asked.answer,
        "operation": asked.operation,
        "hops": asked.hops,
        "eviction": eviction,
        "lengths": lengths.lengths,
        "certificates": ablation.certificates,
    }
    task = record.model_validate({**fields, **own})
    for problem in uncertified_lengths(task):
        raise ItemFailed("rule_violated", f"The task is not certified: {problem}.")
    return task


def certificate_rows(task: TaskAblation) -> list[Row]:
    """Return the certificates as an asset's preview shows them."""
    rows: list[Row] = []
    for certified in task.certificates:
        row: Row = {"tokens": certified.target_tokens, "digest": certified.digest[:12]}
        for outcome in certified.outcomes:
            row[outcome.condition] = f"{outcome.right}/{outcome.readings}"
        rows.append(row)
    return rows


def accepted_rows(task: MemoryTask) -> list[Row]:
    """Return an accepted task as an asset's preview shows it."""
    lengths = ", ".join(str(length.tokens) for length in task.lengths)
    row: Row = {"question": task.question, "answer": task.answer.value, "asks": task.operation, "hops": len(task.hops)}
    return [{**row, "tokens": lengths}]
