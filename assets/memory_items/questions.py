"""A question on several facts: its answer, a wording out of which judges read the facts back, and early readings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import Gate, GateAttempt, ReadingTask, pass_gates
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import (
    NAME,
    ReplySchema,
    SchemaPart,
    ask_structured,
    enum_of,
    integer_between,
    list_of,
    numbered,
    object_of,
)
from assets.memory_items.ablation import AblationCondition, ablate, condition_with, expect_passed
from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.operations import ENDS_IN_A_FACT, AskedFacts, PartSteps
from assets.memory_items.tasks import TaskQuestion
from assets.memory_items.turns import as_item_document, facts_by_document
from assets.recipe.document_tasks import DocumentTaskRecipe, Operation
from assets.records.answers import TypedAnswer, normalize_answer
from assets.records.base import ItemFailed, Text
from assets.reporting.asset_description import Row
from assets.text.words import folded, spells
from prompts.catalogue import load_prompt

CHECK = "memory_items/check"
MOST_NEAR_MISSES = 6
MOST_LAST_HOP_DOCUMENTS = 12  # a reader who gets all documents of one relation would read most of a long task
MOST_PROBLEMS = 3  # in the sentence of an item that fails
MOST_WORDS = 25  # of a question without its options: what is longer is read twice


class QuestionReply(BaseModel):
    """The reply of the writer of a question."""

    question: Text


@dataclass(frozen=True)
class TaskChain:
    """The facts that a task's answer takes, among all facts of the task and the documents in which they stand.

    `operations`: what any question of the benchmark may ask; judges read back which one it is.
    """

    task_id: str
    hops: Sequence[Fact]
    facts: Sequence[Fact]
    documents: Sequence[SourceDocument]
    operation: Operation = "follow"
    operations: Sequence[Operation] = ("follow",)

    @property
    def asked_facts(self) -> AskedFacts:
        return AskedFacts(self.operation, self.hops)

    def expect_one_answer(self) -> None:
        """Raise ItemFailed where the answer takes less than all hops, or another document has it."""
        problems = list(self.asked_facts.problems(self.facts))
        if self.operation in ENDS_IN_A_FACT:
            problems += answer_elsewhere(self.hops, self.documents)
        if problems:
            first = "; ".join(problems[:MOST_PROBLEMS])
            raise ItemFailed("ambiguous", f"The facts from {self.hops[0].subject!r} on cannot be asked for: {first}.")

    def typed_answer(self, *, seed: int) -> TypedAnswer:
        """Return the answer, with near misses: what comes out with values of other subjects, or of documents that do not count.

        Raises ItemFailed where the facts lead to no answer.
        """
        asked = self.asked_facts
        kind = asked.answer_kind
        value = asked.answer(self.facts)
        if value is None:
            raise ItemFailed("ambiguous", f"The facts from {self.hops[0].subject!r} on lead to no answer.")
        near_misses: dict[str, str] = {}
        for rival in asked.rivals(self.facts):
            spelling = normalize_answer(kind, rival)
            if spelling and spelling != normalize_answer(kind, value) and len(near_misses) < MOST_NEAR_MISSES:
                near_misses.setdefault(spelling, rival)
        return TypedAnswer(
            kind=kind,
            value=value,
            options=tuple(SeededRandom(seed, self.task_id, "question").shuffled(asked.options)),
            # Their order tells nothing.
            near_misses=tuple(sorted(near_misses.values())),
        )

    def last_hop_alone(self) -> AblationCondition:
        """Return the condition of the last hop's document beside those that say the same of other subjects."""
        earlier = facts_by_document(self.hops[:-1])
        ids = {self.hops[-1].document_id: None}
        for fact in self.facts:
            if fact.relation == self.hops[-1].relation and fact.document_id not in earlier:
                ids[fact.document_id] = None
        shown = set(list(ids)[:MOST_LAST_HOP_DOCUMENTS])
        documents = [as_item_document(document) for document in self.documents if document.document_id in shown]
        return condition_with("last hop alone", documents, "wrong")


def answer_elsewhere(hops: Sequence[Fact], documents: Sequence[SourceDocument]) -> Iterator[str]:
    """Yield a sentence for each document beside that of the last hop that holds the answer.

    Options are in many documents, and tell nothing alone.
    """
    last = hops[-1]
    if last.options:
        return
    own = next(document for document in documents if document.document_id == last.document_id)
    spelled = own.text[last.start : last.end]
    for document in documents:
        # Signs count in code: the words of a result may well be those of a call that comes to something else.
        has_answer = spelled in document.text if last.kind == "code" else spells(document.text, spelled)
        if has_answer and document.document_id != last.document_id:
            yield f"{document.document_id} has the answer {spelled!r} too"


def num_words(question: str, options: Sequence[str]) -> int:
    """Return how many words the question has beside these options."""
    for option in options:
        question = question.replace(option, "")
    return sum(any(map(str.isalnum, word)) for word in question.split())


async def ask_chain(
    chain: TaskChain,
    answer: TypedAnswer,
    *,
    stage: str,
    introduction: str,
    conditions: Sequence[AblationCondition],
    recipe: DocumentTaskRecipe,
    model: LanguageModel,
) -> TaskQuestion:
    """Return the chain's question. The prompt `stage`/word words it, and CHECK reads it back.

    `introduction`: what is told before the question. Raises ItemFailed where they do not, or where readers come to the answer
    by one of the conditions.
    """
    phrases = sorted({fact.phrase for fact in chain.facts})
    attempt = await _Wording(chain, answer, stage, phrases, recipe, model).write_until_accepted()
    question = TaskQuestion(
        task_id=chain.task_id,
        operation=chain.operation,
        hops=tuple(chain.hops),
        starts=chain.asked_facts.starts,
        introduction=introduction,
        question=attempt.text,
        answer=answer,
        gate_records=(),
    )
    read = await ablate(
        question.full_question,
        answer,
        conditions,
        policy=recipe.ablation,
        item_id=chain.task_id,
        recipe=recipe,
        model=model,
    )
    expect_passed(read, before=attempt.records)
    return question.model_copy(update={"gate_records": (*attempt.records, *read.gate_records)})


@dataclass(frozen=True)
class _Wording:
    """Words a chain's question, and reads its steps back. `phrases` are those of all facts, in alphabetic order."""

    chain: TaskChain
    answer: TypedAnswer
    stage: str
    phrases: Sequence[str]
    recipe: DocumentTaskRecipe
    model: LanguageModel

    async def write_until_accepted(self) -> GateAttempt:
        """Return a wording that passed the gate, with its votes. Raises ItemFailed."""
        asked = self.chain.asked_facts
        gate = Gate("chain", _reading(asked.operation, asked.steps, asked.then), None, self._reword, self._word)
        attempt = GateAttempt(self.chain.task_id, await self._word(0))
        await pass_gates([[(gate, attempt)]], self._read_steps, size=1, recipe=self.recipe)
        return attempt

    async def _word(self, sample: int, reading: dict[str, str] | None = None) -> str:
        asked = self.chain.asked_facts
        parts = [part._asdict() for part in asked.steps]
        prompt = load_prompt(f"{self.stage}/word").render(
            wanted={"operation": asked.operation, "parts": parts, "then": asked.then},
            most_words=MOST_WORDS,
            options=list(self.answer.options),
            reading=reading or {},
            language=self.recipe.language_name,
        )
        return await ask_structured(
            self.model,
            prompt=prompt,
            reply=QuestionReply,
            convert=self._check_reply,
            settings=self.recipe.asking,
            sample=sample,
        )

    async def _reword(self, _: str, reading: dict[str, str], sample: int) -> str:
        return await self._word(sample + 1, reading)

    def _check_reply(self, reply: QuestionReply) -> str:
        """Return the question. Raises ValueError where it lacks a start or an option, tells a step, or is long."""
        for start in self.chain.asked_facts.starts:
            if start not in reply.question:
                raise ValueError(f"The question must have the name {start!r}.")
        for name in sorted(self._names_between()):
            if spells(reply.question, name):
                raise ValueError(f"The question tells {name!r}, which is to be found out.")
        for option in self.answer.options:
            if not spells(reply.question, option):
                raise ValueError(f"The question lacks the option {option!r}.")
        words = num_words(reply.question, self.answer.options)
        if words > MOST_WORDS:
            raise ValueError(f"The question has {words} words before its options; write {MOST_WORDS} at most.")
        return reply.question

    def _names_between(self) -> set[str]:
        """Return the names and values of the chain that are to be found out."""
        names: set[str] = set()
        for fact in self.chain.hops:
            names.update((fact.subject, fact.value))
        return names - {*self.chain.asked_facts.starts, *self.answer.options}

    async def _read_steps(self, tasks: Sequence[ReadingTask[None]]) -> list[dict[str, str]]:
        """Return the steps that a judge reads out of each question, from a list in another order each time."""
        shown: dict[str, list[str]] = {}
        cases: dict[str, dict[str, object]] = {}
        for number, task in enumerate(tasks, start=1):
            rng = SeededRandom(self.recipe.world_seed, task.item_id, "steps", task.vote.number)
            phrases = rng.shuffled(self.phrases)
            shown[str(number)] = phrases
            cases[str(number)] = {"question": task.text, "steps": numbered(phrases)}
        schema: ReplySchema[dict[str, Any]] = ReplySchema(object_of(dict.fromkeys(shown, self._case_schema())))
        reply = await ask_structured(
            self.model,
            prompt=load_prompt(CHECK).render(cases=cases),
            reply=schema,
            convert=lambda reply: reply,
            settings=self.recipe.asking,
            sample=tasks[0].vote.number,
            model_name=tasks[0].vote.judge,
        )
        return [self._read_case(reply[number], phrases) for number, phrases in shown.items()]

    def _case_schema(self) -> SchemaPart:
        steps = list_of(integer_between(1, len(self.phrases)), min_items=0)
        part = object_of({"name": NAME, "steps": steps})
        return object_of({"operation": enum_of(self.chain.operations), "parts": list_of(part, min_items=0), "then": steps})

    def _read_case(self, case: dict[str, Any], phrases: Sequence[str]) -> dict[str, str]:
        """Return a judge's reading of one question as the target has it; nothing where there are no steps."""

        def name_options(numbers: Sequence[int]) -> list[str]:
            return [phrases[number - 1] for number in numbers]

        parts: list[PartSteps] = []
        for part in case["parts"]:
            parts.append(PartSteps(str(part["name"]), name_options(part["steps"])))
        return _reading(str(case["operation"]), parts, name_options(case["then"]))


def _reading(operation: str, parts: Sequence[PartSteps], then: Sequence[str]) -> dict[str, str]:
    """Return a question's operation and parts in one spelling; the order of parts means nothing. Nothing without a step."""
    spelled: list[str] = []
    for part in parts:
        if part.steps:
            spelled.append(" > ".join((folded(part.name), *part.steps)))
    if not spelled:
        return {}
    reading = {"operation": operation, **numbered(sorted(spelled))}
    if then:
        reading["then"] = " > ".join(then)
    return reading


def chain_question_rows(question: TaskQuestion) -> list[Row]:
    """Return the question, its answer and its facts as an asset's preview shows them."""
    facts = "; ".join(f"{hop.relation} of {hop.subject}: {hop.value}" for hop in question.hops)
    near_misses = ", ".join(question.answer.near_misses)
    row: Row = {"question": question.question, "answer": question.answer.value, "asks": question.operation}
    return [{**row, "facts": facts, "near misses": near_misses}]
