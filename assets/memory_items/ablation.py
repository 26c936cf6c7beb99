"""Ablation: readers answer a question from parts of its documents, and each reading passes, fails or is an error.

An error is never a wrong answer: what could not be read certifies nothing. A certificate stands for final bytes as they were
read; any later change voids it.
"""

import math
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import PromptCalls
from assets.llm.async_calls import gather_all
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ask_structured
from assets.memory_items.documents import ItemDocument
from assets.recipe.document_tasks import AblationPolicy, DocumentTaskRecipe
from assets.recipe.recipe import Recipe
from assets.records.answers import TypedAnswer, is_right
from assets.records.base import GateRecord, ItemFailed, Name, Record
from prompts.catalogue import load_prompt

READ = "memory_items/answer"
FACT_IN_DOCUMENT = "fact in its document"  # the gate at which each fact is read from its own document alone
ANSWER = 6  # tokens of a reader's reply
Expected = Literal["right", "wrong", "measured"]
Outcome = Literal["pass", "fail", "error"]


@dataclass(frozen=True)
class AblationCondition:
    """Documents that readers are given, and what must come of it. Each part is read by itself; one right answer counts."""

    name: str
    parts: tuple[tuple[ItemDocument, ...], ...]
    expected: Expected


@dataclass(frozen=True)
class ReadingSizes:
    """Tokens of a benchmark's readings as far as its recipe decides them, by the embedded model's texts: for the forecast.

    `hop`: of a hop's documents and those beside them. `task`: of instructions with a question. `shown`: of what is shown with
    the question, which is read alone too; 0 where nothing is.
    """

    hop: int
    task: int
    shown: int = 0

    def of_readings(self, recipe: DocumentTaskRecipe) -> list[float]:
        """Return the length of each reading of the last ablation, for a task of the mean number of hops."""
        hops = (recipe.min_hops + recipe.max_hops) / 2
        found = list[float]()
        for length in recipe.lengths:
            own = min(hops * self.hop, length)
            # All but filler; without each hop; filler, in parts; the last turn.
            found += [self.task, self.task + hops * self.hop / 10, self.task + own, *[self.task + own - self.hop] * round(hops)]
            parts = max(1, math.ceil((length - own) / recipe.ablation.max_reading_tokens))
            found += [self.task + (length - own) / parts] * parts
            found += [self.task + length / (hops + recipe.num_quiet_turns)]
            if self.shown:
                found.append(self.task + self.shown)
            if length <= recipe.ablation.max_reading_tokens:
                found.append(self.task + length)
        return found

    def last_ablation(self) -> PromptCalls:
        """Return the calls of the ablation of the final bytes."""
        return PromptCalls(self._count, reading=self._mean, writing=ANSWER)

    def short_readings(self, times: int) -> PromptCalls:
        """Return the calls of so many short readings, each with all its votes."""

        def per_item(recipe: DocumentTaskRecipe) -> float:
            return float(times * recipe.ablation.votes)

        return PromptCalls(per_item, reading=self.task + self.hop / 2, writing=ANSWER)

    def _count(self, recipe: DocumentTaskRecipe) -> float:
        return float(recipe.ablation.votes * len(self.of_readings(recipe)))

    def _mean(self, recipe: DocumentTaskRecipe) -> float:
        tokens = self.of_readings(recipe)
        return sum(tokens) / len(tokens)


class ConditionOutcome(Record):
    """The readings of one condition; `right` of the `readings` gave the right answer, `errors` gave none."""

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


class Certificate(Record):
    """A certificate of one length: readers, their prompt and policy, and the outcomes. `digest` is that of the bytes."""

    target_tokens: int = Field(description="the length that was wanted")
    digest: str = Field(description="sha256 over documents, question and answer")
    readers: tuple[Name, ...] = Field(description="the models that read")
    prompt: str = Field(description="fingerprint of the prompt that they were asked with")
    tokenizer: str = Field(description="what lengths are counted by")
    policy: AblationPolicy = Field(description="how often was read, and how many readings had to be right")
    outcomes: tuple[ConditionOutcome, ...] = Field(description="what the readings of each condition came to")


def _number_as_text(value: object) -> object:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


class ReaderReply(BaseModel):
    """The reply of a reader; null where the documents do not settle the question. A number is taken as its text."""

    answer: Annotated[str | None, BeforeValidator(_number_as_text)]


@dataclass(frozen=True)
class Ablation:
    """The outcomes of some conditions, and every reading as a vote of a gate of the condition's name."""

    outcomes: tuple[ConditionOutcome, ...]
    gate_records: tuple[GateRecord, ...]


def condition_with(name: str, documents: Sequence[ItemDocument], expected: Expected) -> AblationCondition:
    """Return a condition whose documents are read together."""
    return AblationCondition(name, (tuple(documents),), expected)


def in_parts(name: str, documents: Sequence[ItemDocument], *, most: int) -> AblationCondition:
    """Return a condition whose documents are read in parts of at most so many tokens, none of which lets anybody answer."""
    parts: list[list[ItemDocument]] = [[]]
    tokens = 0
    for document in documents:
        if parts[-1] and tokens + document.tokens > most:
            parts.append([])
            tokens = 0
        parts[-1].append(document)
        tokens += document.tokens
    return AblationCondition(name, tuple(map(tuple, parts)), "wrong")


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
    """Read every condition as often as the policy says; `item_id` names in the votes what is read."""
    readers = _Readers(question, answer, policy, item_id, recipe, model)
    votes_by_condition = await gather_all(*map(readers.votes, conditions))
    outcomes: list[ConditionOutcome] = []
    every_vote: list[GateRecord] = []
    for condition, votes in zip(conditions, votes_by_condition, strict=True):
        outcomes.append(_outcome(condition, votes, policy))
        every_vote += votes
    return Ablation(tuple(outcomes), tuple(every_vote))


def expect_passed(ablation: Ablation, *, before: Sequence[GateRecord] = ()) -> None:
    """Raise ItemFailed where a condition failed or could not be read; `before` are earlier votes of the item."""
    failed = [outcome for outcome in ablation.outcomes if outcome.outcome != "pass"]
    if not failed:
        return
    # Errors come first: an item that could not be read was not judged, whatever else failed.
    failed.sort(key=attrgetter("outcome"))
    reason = "call_failed" if failed[0].outcome == "error" else "gate_exhausted"
    sentences = "; ".join(outcome.sentence for outcome in failed)
    raise ItemFailed(reason, f"Ablation did not pass. {sentences}.", gate_records=[*before, *ablation.gate_records])


@dataclass(frozen=True)
class _Readers:
    """The panel that reads one question of one item."""

    question: str
    answer: TypedAnswer
    policy: AblationPolicy
    item_id: str
    recipe: Recipe
    model: LanguageModel

    async def votes(self, condition: AblationCondition) -> list[GateRecord]:
        """Return the readings of each part in order, as many of each as the policy says."""
        calls: list[Coroutine[Any, Any, GateRecord]] = []
        for part in condition.parts:
            for sample in range(self.policy.votes):
                documents = self._order(part, condition=condition.name, sample=sample)
                calls.append(self._vote(condition, documents, number=len(calls), sample=sample))
        return await gather_all(*calls)

    def _order(self, part: Sequence[ItemDocument], *, condition: str, sample: int) -> Sequence[ItemDocument]:
        """Return the documents as this reading has them: later ones in another order, lest they err where the first did."""
        if sample == 0:
            return part
        return SeededRandom(self.recipe.world_seed, self.item_id, "reading", condition, sample).shuffled(part)

    async def _vote(
        self, condition: AblationCondition, part: Sequence[ItemDocument], *, number: int, sample: int
    ) -> GateRecord:
        panel = self.recipe.models.judge.panel
        reader = panel[sample % len(panel)]
        reading = await self._reading(part, reader=reader, sample=sample)
        right = is_right(self.answer, reading.get("answer"))
        as_expected = condition.expected == "measured" or right == (condition.expected == "right")
        return GateRecord(
            gate=condition.name,
            item_id=self.item_id,
            draft=0,
            refinement=0,
            vote=number,
            judge=reader,
            text=", ".join(document.document_id for document in part),
            target={"answer": self.answer.value, "kind": self.answer.kind},
            reading=reading,
            accepted="error" not in reading and as_expected,
        )

    async def _reading(self, documents: Sequence[ItemDocument], *, reader: str, sample: int) -> dict[str, str]:
        """Return one reader's answer: nothing where the documents do not tell, an error where no reply could be used."""
        prompt = load_prompt(READ).render(
            question=self.question,
            documents=[document.text_with_title for document in documents],
            language=self.recipe.language_name,
        )
        try:
            answer = await ask_structured(
                self.model,
                prompt=prompt,
                reply=ReaderReply,
                convert=lambda reply: reply.answer,
                settings=self.recipe.asking,
                sample=sample,
                model_name=reader,
            )
        except ItemFailed as failed:
            return {"error": failed.message}
        return {} if answer is None else {"answer": answer}


def was_right(vote: GateRecord) -> bool | None:
    """Return True for the right answer; None for an error, and for votes of gates that ask for no answer."""
    if "error" in vote.reading or set(vote.target) != {"answer", "kind"}:
        return None
    answer = TypedAnswer.model_validate({"kind": vote.target["kind"], "value": vote.target["answer"]})
    return is_right(answer, vote.reading.get("answer"))


def _outcome(condition: AblationCondition, votes: Sequence[GateRecord], policy: AblationPolicy) -> ConditionOutcome:
    errors = 0
    right_by_part = [0] * len(condition.parts)
    for number, vote in enumerate(votes):
        errors += "error" in vote.reading
        right_by_part[number // policy.votes] += bool(was_right(vote))
    passes = True
    if condition.expected == "right":
        passes = min(right_by_part) >= policy.needed_right
    elif condition.expected == "wrong":
        # The best part decides: an answer that one part gives away is given away.
        passes = max(right_by_part) <= policy.allowed_right
    outcome: Outcome = "pass" if passes else "fail"
    if errors:
        outcome = "error"
    return ConditionOutcome(
        condition=condition.name,
        expected=condition.expected,
        outcome=outcome,
        readings=len(votes),
        right=sum(right_by_part),
        errors=errors,
    )


def certificate_problems(certified: Certificate, *, digest: str, conditions: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each reason why the certificate does not stand for these bytes; `conditions`: those it must have."""
    if certified.digest != digest:
        yield f"the certificate is of {certified.digest[:12]}, and the bytes are {digest[:12]}: something was changed after it"
    missing = list(conditions)
    for outcome in certified.outcomes:
        if outcome.condition in missing:
            missing.remove(outcome.condition)
    if missing:
        yield f"the certificate lacks {', '.join(missing)}"
    for outcome in certified.outcomes:
        if outcome.outcome != "pass" or outcome.errors or not outcome.readings:
            yield f"the certificate has a condition that is no pass ({outcome.sentence})"
