"""The reasoner: ours, and the same for every memory. It reads what was recalled, what is in sight, and the task."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from assets.llm.ports import LanguageModel
from assets.llm.text import count_tokens
from assets.llm.usage import Usage
from pipelines.evaluation.contract import Task, chat_request, cut_to_budget
from pipelines.evaluation.records import AskKind
from pipelines.evaluation.spending import count_usage, priced_fields
from prompts.catalogue import load_prompt
from prompts.template import Message

T = TypeVar("T")
NOTHING_RECALLED = "(nothing yet)"
CONTEXT_TOKENS = 110_000
GiveAnswer = Callable[[Task], Awaitable[str]]


@dataclass(frozen=True)
class Reasoner:
    """A model that answers tasks. What was recalled is cut at its end, so that all messages fit into `CONTEXT_TOKENS`."""

    model: LanguageModel
    name: str
    seed: int

    async def answer(self, recalled: Sequence[str], task: Task) -> str:
        """The reply of a chat whose instructions hold the recalled texts, and whose last message is the task."""
        request = chat_request(self.name, self.messages(recalled, task), seed=self.seed, task=task)
        return (await self.model.complete(request)).text

    def messages(self, recalled: Sequence[str], task: Task) -> tuple[Message, ...]:
        """What is sent to the model."""
        room = CONTEXT_TOKENS - count_tokens(task.text) - sum(count_tokens(message.content) for message in task.window)
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

    `usage` and `seconds` are those of all its calls; no seconds where they were not measured. `kind` is what it counts as, and
    `recalled` what the memory gave for it, within which `budget`.
    """

    value: T | None
    reply: str
    tries: int
    problem: str
    usage: Usage = field(default_factory=Usage)
    seconds: float | None = None
    kind: AskKind = "question"
    recalled: tuple[str, ...] = ()
    budget: int = 0

    @property
    def columns(self) -> dict[str, Any]:
        """The fields of an answer's row that are the same on every benchmark."""
        said = {"kind": self.kind, "reason": self.problem, "reply": self.reply, "tries": self.tries}
        return {**said, "memories": self.recalled, "budget": self.budget, **priced_fields(self.usage)}


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
        await end_tasks(tasks)


async def end_tasks(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Cancel what still runs, and wait for it."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
