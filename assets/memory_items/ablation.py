"""Ablation: readers answer a question from parts of its documents, and each reading passes, fails or is an error.

An error is never a wrong answer: what could not be read certifies nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ask_structured
from assets.memory_items.answers import TypedAnswer, is_right
from assets.memory_items.documents import ItemDocument
from assets.recipe.recipe import Recipe
from assets.records.base import GateRecord, ItemFailed, Name, Record, unit
from prompts.catalogue import load_prompt

READ = "memory_items/answer"
FACT_IN_DOCUMENT = "fact in its document"  # the gate at which each fact is read from its own document alone
Expected = Literal["right", "wrong", "measured"]
Outcome = Literal["pass", "fail", "error"]


class AblationPolicy(Record):
    """How often parts of a task are read, and how much of it at once."""

    votes: int = Field(default=2, ge=1, le=15, description="readings of each part", json_schema_extra=unit("readings"))
    needed_right: int = Field(
        default=2,
        ge=1,
        le=15,
        description="readings that must be right where all facts are given",
        json_schema_extra=unit("readings"),
    )
    allowed_right: int = Field(
        default=0,
        ge=0,
        le=14,
        description="readings that may be right where a fact is missing",
        json_schema_extra=unit("readings"),
    )
    max_reading_tokens: int = Field(
        default=100_000,
        ge=500,
        description="length of one reading at most; longer filler is read in parts",
        json_schema_extra=unit("tokens"),
    )

    @model_validator(mode="after")
    def votes_are_enough(self) -> Self:
        if not self.allowed_right < self.needed_right <= self.votes:
            raise ValueError(
                f"ablation.needed_right is {self.needed_right}; it must be more than ablation.allowed_right, which is "
                f"{self.allowed_right}, and no more than ablation.votes, which is {self.votes}."
            )
        return self


@dataclass(frozen=True)
class AblationCondition:
    """What readers are given, and what must come of it. Each part is read by itself; an answer in one of them counts."""

    name: str
    parts: tuple[tuple[ItemDocument, ...], ...]
    expected: Expected


class ConditionOutcome(Record):
    """What the readings of one condition came to; `right` of the `readings` gave the right answer, `errors` gave none."""

    condition: Name = Field(description="what readers were given")
    expected: Expected = Field(description="right, wrong or measured: what must come of it")
    outcome: Outcome = Field(description="pass, fail or error")
    readings: int = Field(description="how often it was read")
    right: int = Field(description="how many readings gave the right answer")
    errors: int = Field(description="how many readings gave none")

    @property
    def sentence(self) -> str:
        return (
            f"{self.condition}: {self.right} of {self.readings} readings right, {self.errors} errors, {self.expected} expected"
        )


class ReaderReply(BaseModel):
    """What a reader is asked for; null where the documents do not settle the question."""

    answer: str | None


@dataclass(frozen=True)
class Ablation:
    """The outcomes of some conditions, and every reading as a vote of a gate of the condition's name."""

    outcomes: tuple[ConditionOutcome, ...]
    gate_records: tuple[GateRecord, ...]

    @property
    def failed(self) -> Iterator[ConditionOutcome]:
        """The conditions that did not pass."""
        return (one for one in self.outcomes if one.outcome != "pass")


def given(name: str, documents: Sequence[ItemDocument], expected: Expected) -> AblationCondition:
    """A condition whose documents are read together."""
    return AblationCondition(name, (tuple(documents),), expected)


def in_parts(name: str, documents: Sequence[ItemDocument], expected: Expected, *, most: int) -> AblationCondition:
    """A condition whose documents are read in parts of at most so many tokens."""
    parts: list[list[ItemDocument]] = [[]]
    tokens = 0
    for document in documents:
        if parts[-1] and tokens + document.tokens > most:
            parts.append([])
            tokens = 0
        parts[-1].append(document)
        tokens += document.tokens
    return AblationCondition(name, tuple(map(tuple, parts)), expected)


async def ablate(
    question: str,
    answer: TypedAnswer,
    conditions: Sequence[AblationCondition],
    *,
    policy: AblationPolicy,
    item_id: str,
    recipe: Recipe,
    model: LanguageModel,
) -> Ablation:
    """Read every condition as often as the policy says; `item_id` names what is read in the votes."""
    votes = await gather_all(
        *(
            _votes(question, answer, condition, policy=policy, item_id=item_id, recipe=recipe, model=model)
            for condition in conditions
        )
    )
    outcomes = [_outcome(condition, own, policy) for condition, own in zip(conditions, votes, strict=True)]
    return Ablation(tuple(outcomes), tuple(vote for own in votes for vote in own))


def expect_passed(ablation: Ablation, *, before: Sequence[GateRecord] = ()) -> None:
    """Raise ItemFailed where a condition failed or could not be read; `before` are earlier votes of the item."""
    failed = sorted(ablation.failed, key=lambda one: one.outcome)
    if failed:
        reason = "call_failed" if failed[0].outcome == "error" else "gate_exhausted"
        sentences = "; ".join(one.sentence for one in failed)
        raise ItemFailed(reason, f"Ablation did not pass. {sentences}.", gate_records=[*before, *ablation.gate_records])


async def _votes(
    question: str,
    answer: TypedAnswer,
    condition: AblationCondition,
    *,
    policy: AblationPolicy,
    item_id: str,
    recipe: Recipe,
    model: LanguageModel,
) -> list[GateRecord]:
    panel = recipe.models.judge.panel
    readings = [(part, vote) for part in condition.parts for vote in range(policy.votes)]
    read = await gather_all(
        *(
            _reading(question, part, reader=panel[vote % len(panel)], vote=vote, recipe=recipe, model=model)
            for part, vote in readings
        )
    )
    return [
        GateRecord(
            gate=condition.name,
            item_id=item_id,
            draft=0,
            refinement=0,
            vote=number,
            judge=panel[vote % len(panel)],
            text=", ".join(document.document_id for document in part),
            target={"answer": answer.value, "kind": answer.kind},
            reading=reading,
            accepted="error" not in reading and _is_as_expected(condition.expected, is_right(answer, reading.get("answer"))),
        )
        for number, ((part, vote), reading) in enumerate(zip(readings, read, strict=True))
    ]


def was_right(vote: GateRecord) -> bool | None:
    """Whether a reading gave the right answer; None for an error, and for votes of gates that ask for no answer."""
    if "error" in vote.reading or set(vote.target) != {"answer", "kind"}:
        return None
    answer = TypedAnswer.model_validate({"kind": vote.target["kind"], "value": vote.target["answer"]})
    return is_right(answer, vote.reading.get("answer"))


def _is_as_expected(expected: Expected, right: bool) -> bool:
    return expected == "measured" or right == (expected == "right")


async def _reading(
    question: str, documents: Sequence[ItemDocument], *, reader: str, vote: int, recipe: Recipe, model: LanguageModel
) -> dict[str, str]:
    """What one reader answers: nothing where the documents do not tell, an error where no reply could be used."""
    prompt = load_prompt(READ).render(
        question=question, documents=[document.perceived for document in documents], language=recipe.language_name
    )
    try:
        reply = await ask_structured(
            model,
            prompt=prompt,
            reply=ReaderReply,
            convert=lambda reply: reply.answer,
            recipe=recipe,
            sample=vote,
            model_name=reader,
        )
    except ItemFailed as failed:
        return {"error": failed.message}
    return {} if reply is None else {"answer": reply}


def _outcome(condition: AblationCondition, votes: Sequence[GateRecord], policy: AblationPolicy) -> ConditionOutcome:
    right = [bool(was_right(vote)) for vote in votes]
    errors = sum("error" in vote.reading for vote in votes)
    by_part = [sum(right[first : first + policy.votes]) for first in range(0, len(right), policy.votes)]
    passes = {
        "right": min(by_part) >= policy.needed_right,
        "wrong": max(by_part) <= policy.allowed_right,
        "measured": True,
    }
    outcome: Outcome = "error" if errors else "pass" if passes[condition.expected] else "fail"
    return ConditionOutcome(
        condition=condition.name,
        expected=condition.expected,
        outcome=outcome,
        readings=len(votes),
        right=sum(right),
        errors=errors,
    )
