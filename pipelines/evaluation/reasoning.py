"""The reasoner: ours, and the same for every memory. It reads what was recalled, what is in sight, and the task."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from assets.llm.ports import CallLabels, LanguageModel, ModelRequest
from assets.llm.text import count_tokens
from assets.llm.usage import Usage
from pipelines.evaluation.contract import MAX_REPLY_TOKENS, Task, cut_to_budget
from pipelines.evaluation.spending import count_usage
from prompts.catalogue import load_prompt
from prompts.template import Message

T = TypeVar("T")
NOTHING_RECALLED = "(nothing yet)"
CONTEXT_TOKENS = 110_000
GiveAnswer = Callable[[Task], Awaitable[str]]


@dataclass(frozen=True)
class Reasoner:
    """A model that answers tasks. `context_tokens`: room for all messages; what was recalled is cut at its end to fit."""

    model: LanguageModel
    name: str
    seed: int
    temperature: float | None = 0.0
    max_output_tokens: int = MAX_REPLY_TOKENS
    context_tokens: int = CONTEXT_TOKENS

    async def answer(self, recalled: Sequence[str], task: Task) -> str:
        """The reply of a chat whose instructions hold the recalled texts, and whose last message is the task."""
        request = ModelRequest(
            model=self.name,
            messages=self.messages(recalled, task),
            temperature=self.temperature,
            max_output_tokens=self.max_output_tokens,
            schema_name=task.schema_name,
            json_schema=task.json_schema,
            seed=self.seed,
            sample=0,
            labels=CallLabels(stage="evaluation", prompt=task.schema_name),
        )
        return (await self.model.complete(request)).text

    def messages(self, recalled: Sequence[str], task: Task) -> tuple[Message, ...]:
        """What is sent to the model."""
        room = self.context_tokens - count_tokens(task.text) - sum(count_tokens(message.content) for message in task.window)
        memories = "\n".join(cut_to_budget(recalled, max(0, room)))
        head, last = (
            load_prompt("evaluation/remember").render(memories=memories or NOTHING_RECALLED, message=task.text).messages
        )
        # Rendering strips a message; the task's own words go out as they came.
        return (head, *task.window, Message(last.role, task.text))


@dataclass(frozen=True)
class ReadableTask(Generic[T]):
    """A task and how its answer is read. `read` raises ValueError with a sentence for whoever answers.

    `salvage` takes what can be used from the two replies of an answer that could not be read as a whole.
    """

    task: Task
    read: Callable[[str], T]
    salvage: Callable[[str, str], T | None] = lambda first, second: None


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What was understood (None: nothing), the last reply word for word, how often was asked, and what was wrong.

    `usage` and `seconds` are those of all its calls; no seconds where they were not measured.
    """

    value: T | None
    reply: str
    tries: int
    problem: str
    usage: Usage = field(default_factory=Usage)
    seconds: float | None = None


async def ask(question: ReadableTask[T], give_answer: GiveAnswer) -> Answer[T]:
    """Ask; once more if the answer cannot be read; then give up. An unread answer is not a lucky one: it counts as wrong."""
    with count_usage() as count:
        answer = await _ask_twice(question, give_answer)
    return replace(answer, usage=count.usage, seconds=count.measured)


async def _ask_twice(question: ReadableTask[T], give_answer: GiveAnswer) -> Answer[T]:
    first = await give_answer(question.task)
    try:
        return Answer(question.read(first), first, 1, "")
    except ValueError as problem:
        task = repeated_after(question.task, last_answer=first, problem=str(problem))
    second = await give_answer(task)
    try:
        return Answer(question.read(second), second, 2, "")
    except ValueError as problem:
        return Answer(question.salvage(first, second), second, 2, str(problem))


def repeated_after(task: Task, *, last_answer: str, problem: str) -> Task:
    """The task once more, after an answer that could not be read."""
    prompt = load_prompt("evaluation/ask_again").render(question=task.text, last_answer=last_answer, problem=problem)
    return replace(task, text="\n\n".join(message.content for message in prompt.messages))


async def gather_all(work: Iterable[Awaitable[T]]) -> list[T]:
    """All results in order. The first error ends the rest and comes out as itself, not in a group."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
