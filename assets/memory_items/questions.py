"""A question for a chain of facts: its answer, a wording out of which judges read the chain back, and early readings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import Gate, GateAttempt, ReadingTask, pass_gates
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import NAME, ReplySchema, SchemaPart, ask_structured, integer_between, list_of, object_of
from assets.memory_items.ablation import AblationCondition, ablate, expect_passed, given
from assets.memory_items.chains import nested_phrase, path_problems
from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.tasks import TaskQuestion
from assets.memory_items.turns import as_item_document, facts_by_document
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.records.answers import TypedAnswer, normalized
from assets.records.base import ItemFailed, Text
from assets.reporting.asset_description import Row
from assets.text.words import folded, spells
from prompts.catalogue import load_prompt

MOST_NEAR_MISSES = 6
MOST_LAST_HOP_DOCUMENTS = 12  # a reader who gets all documents of one relation would read most of a long task
MOST_PROBLEMS = 3  # in the sentence of an item that fails


class QuestionReply(BaseModel):
    """The reply of the writer of a question."""

    question: Text


@dataclass(frozen=True)
class TaskChain:
    """A task's chain, among all facts of the task and the documents in which they stand."""

    task_id: str
    hops: Sequence[Fact]
    facts: Sequence[Fact]
    documents: Sequence[SourceDocument]

    def expect_one_answer(self) -> None:
        """Raise ItemFailed where another path leads to the answer, or another document has it."""
        problems = [*path_problems(self.hops, self.facts), *answer_elsewhere(self.hops, self.documents)]
        if problems:
            first = "; ".join(problems[:MOST_PROBLEMS])
            raise ItemFailed("ambiguous", f"The chain from {self.hops[0].subject!r} cannot be asked for: {first}.")

    def typed_answer(self, *, seed: int) -> TypedAnswer:
        """Return the value of the last hop, with what its relation is of other subjects as near misses."""
        last = self.hops[-1]
        right = normalized(last.kind, last.value)
        rivals: dict[str, str] = {}
        for fact in self._of_last_relation():
            spelling = normalized(fact.kind, fact.value)
            if spelling != right:
                rivals[spelling] = fact.value
        near_misses = [text for _, text in sorted(rivals.items())]
        return TypedAnswer(
            kind=last.kind,
            value=last.value,
            options=tuple(SeededRandom(seed, self.task_id, "question").shuffled(last.options)),
            near_misses=tuple(near_misses[:MOST_NEAR_MISSES]),
        )

    def last_hop_alone(self) -> AblationCondition:
        """Return the condition of the last hop's document beside those that say the same of other subjects."""
        earlier = facts_by_document(self.hops[:-1])
        ids = {self.hops[-1].document_id: None}
        for fact in self._of_last_relation():
            if fact.document_id not in earlier:
                ids[fact.document_id] = None
        shown = set(list(ids)[:MOST_LAST_HOP_DOCUMENTS])
        documents = [as_item_document(one) for one in self.documents if one.document_id in shown]
        return given("last hop alone", documents, "wrong")

    def _of_last_relation(self) -> Iterator[Fact]:
        for fact in self.facts:
            if fact.relation == self.hops[-1].relation:
                yield fact


def answer_elsewhere(hops: Sequence[Fact], documents: Sequence[SourceDocument]) -> Iterator[str]:
    """Yield a sentence for each document beside that of the last hop that holds the answer.

    Options are in many documents, and tell nothing alone.
    """
    last = hops[-1]
    if last.options:
        return
    own = next(one for one in documents if one.document_id == last.document_id)
    spelled = own.text[last.start : last.end]
    for one in documents:
        # Signs count in code: the words of a result may well be those of a call that comes to something else.
        has_answer = spelled in one.text if last.kind == "code" else spells(one.text, spelled)
        if has_answer and one.document_id != last.document_id:
            yield f"{one.document_id} has the answer {spelled!r} too"


async def ask_chain(
    chain: TaskChain,
    answer: TypedAnswer,
    *,
    stage: str,
    rules: Sequence[str],
    conditions: Sequence[AblationCondition],
    recipe: DocumentTaskRecipe,
    model: LanguageModel,
) -> TaskQuestion:
    """Return the chain's question, followed by its rules. The prompts `stage`/word and `stage`/check word it and read it back.

    Raises ItemFailed where they do not, or where readers come to the answer by one of the conditions.
    """
    phrases = sorted({fact.phrase for fact in chain.facts})
    attempt = await _Wording(chain, answer, stage, phrases, recipe, model).accepted()
    question = " ".join((attempt.text, *rules))
    read = await ablate(question, answer, conditions, policy=recipe.ablation, item_id=chain.task_id, recipe=recipe, model=model)
    expect_passed(read, before=attempt.records)
    return TaskQuestion(
        task_id=chain.task_id,
        hops=tuple(chain.hops),
        start=chain.hops[0].subject,
        question=question,
        answer=answer,
        gate_records=(*attempt.records, *read.gate_records),
    )


@dataclass(frozen=True)
class _Wording:
    """Words a chain's question, and reads its steps back. `phrases` are those of all facts, in alphabetic order."""

    chain: TaskChain
    answer: TypedAnswer
    stage: str
    phrases: Sequence[str]
    recipe: DocumentTaskRecipe
    model: LanguageModel

    async def accepted(self) -> GateAttempt:
        """Return a wording that passed the gate, with its votes. Raises ItemFailed."""
        hops = self.chain.hops
        target = {"name": folded(hops[0].subject)}
        for number, fact in enumerate(hops, start=1):
            target[str(number)] = fact.phrase
        gate = Gate("chain", target, None, self._reword, self._word)
        attempt = GateAttempt(self.chain.task_id, await self._word(0))
        await pass_gates([[(gate, attempt)]], self._read_steps, size=1, recipe=self.recipe)
        return attempt

    async def _word(self, sample: int, reading: dict[str, str] | None = None) -> str:
        prompt = load_prompt(f"{self.stage}/word").render(
            wanted=nested_phrase(self.chain.hops),
            options=list(self.answer.options),
            reading=reading or {},
            language=self.recipe.language_name,
        )
        return await ask_structured(
            self.model, prompt=prompt, reply=QuestionReply, convert=self._checked, settings=self.recipe.asking, sample=sample
        )

    async def _reword(self, _: str, reading: dict[str, str], sample: int) -> str:
        return await self._word(sample + 1, reading)

    def _checked(self, reply: QuestionReply) -> str:
        """Return the question. Raises ValueError where it lacks the start or an option, or tells a step."""
        start = self.chain.hops[0].subject
        if start not in reply.question:
            raise ValueError(f"The question must have the name {start!r}.")
        for name in sorted(self._names_between()):
            if spells(reply.question, name):
                raise ValueError(f"The question tells {name!r}, which is to be found out.")
        for option in self.answer.options:
            if not spells(reply.question, option):
                raise ValueError(f"The question lacks the option {option!r}.")
        return reply.question

    def _names_between(self) -> set[str]:
        """Return the names and values of the chain that are to be found out."""
        names: set[str] = set()
        for fact in self.chain.hops:
            names.update((fact.subject, fact.value))
        return names - {self.chain.hops[0].subject, *self.answer.options}

    async def _read_steps(self, tasks: Sequence[ReadingTask[None]]) -> list[dict[str, str]]:
        """Return the steps that a judge reads out of each question, from a list in another order each time."""
        steps = list_of(integer_between(1, len(self.phrases)), min_items=0)
        shown: dict[str, list[str]] = {}
        cases: dict[str, dict[str, object]] = {}
        schemas: dict[str, SchemaPart] = {}
        for number, task in enumerate(tasks, start=1):
            rng = SeededRandom(self.recipe.world_seed, task.item_id, "steps", task.vote.number)
            phrases = rng.shuffled(self.phrases)
            shown[str(number)] = phrases
            cases[str(number)] = {"question": task.text, "steps": _numbered(phrases)}
            schemas[str(number)] = object_of({"name": NAME, "steps": steps})
        schema: ReplySchema[dict[str, dict[str, object]]] = ReplySchema(object_of(schemas))
        reply = await ask_structured(
            self.model,
            prompt=load_prompt(f"{self.stage}/check").render(cases=cases),
            reply=schema,
            convert=lambda reply: reply,
            settings=self.recipe.asking,
            sample=tasks[0].vote.number,
            model_name=tasks[0].vote.judge,
        )
        return [_reading(reply[number], phrases) for number, phrases in shown.items()]


def _numbered(phrases: Sequence[str]) -> dict[str, str]:
    return {str(number): phrase for number, phrase in enumerate(phrases, start=1)}


def _reading(read: dict[str, object], phrases: Sequence[str]) -> dict[str, str]:
    """Return the name and the phrases of the steps that a judge read; nothing where there are none."""
    steps = read["steps"]
    assert isinstance(steps, list)
    named = _numbered([phrases[int(str(step)) - 1] for step in steps])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return {"name": folded(str(read["name"])), **named} if named else {}


def chain_question_rows(question: TaskQuestion) -> list[Row]:
    """Return the question, its answer and its chain as an asset's preview shows them."""
    steps = " -> ".join([question.start, *(hop.value for hop in question.hops)])
    near_misses = ", ".join(question.answer.near_misses)
    return [{"question": question.question, "answer": question.answer.value, "chain": steps, "near misses": near_misses}]
