"""The reasoner: ours, and the same for every memory. It reads what was recalled, what is in sight, and the task."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from assets.llm.answer_text import UnusableReply
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import finished_text
from assets.llm.usage import Usage
from assets.text.words import count_tokens
from pipelines.evaluation.records import CALL_FAILED, AnswerRow, AskKind
from pipelines.evaluation.spending import count_usage, priced_fields
from pipelines.memories.contract import Task, chat_request, cut_to_budget
from prompts.catalogue import load_prompt
from prompts.template import Message

T = TypeVar("T")
NOTHING_RECALLED = "(nothing yet)"
CONTEXT_TOKENS = 110_000  # leaves a window of 128,000 room for the reply: our counts of tokens are estimates
REPLY_ROOM = "--set reply_tokens"
GiveAnswer = Callable[[Task], Awaitable[str]]


@dataclass(frozen=True)
class Reasoner:
    """A model that answers tasks. What was recalled is cut at its end, so that all messages fit into `CONTEXT_TOKENS`.

    `later_holds`: the model is told that the later of two entries holds which disagree.
    """

    model: LanguageModel
    name: str
    seed: int
    later_holds: bool = False

    async def answer(self, recalled: Sequence[str], task: Task) -> str:
        """Return the reply of a chat whose instructions hold the recalled texts, and whose last message is the task.

        Raises UnusableReply for an answer that was cut off or refused; what is said in a dialogue is taken as it came.
        """
        room = CONTEXT_TOKENS - count_tokens(task.text)
        for message in task.window:
            room -= count_tokens(message.content)
        memories = "\n".join(cut_to_budget(recalled, max(0, room))) or NOTHING_RECALLED
        prompt = load_prompt("evaluation/remember")
        head, last = prompt.render(memories=memories, later_holds=self.later_holds, message=task.text).messages
        # Rendering strips a message; the task's own words go out as they came.
        messages = (head, *task.window, Message(last.role, task.text))
        reply = await self.model.complete(chat_request(self.name, messages, seed=self.seed, task=task))
        return reply.text if task.json_schema is None and not task.tools else finished_text(reply, field=REPLY_ROOM)


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
    """The value that was understood (None: nothing), the last reply word for word, the number of tries, and what was wrong.

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
        return {
            "kind": self.kind,
            "reason": self.problem,
            "reply": self.reply,
            "tries": self.tries,
            "memories": self.recalled,
            "budget": self.budget,
            **priced_fields(self.usage),
        }


async def ask(question: ReadableTask[T], give_answer: GiveAnswer) -> Answer[T]:
    """Ask; once more if the answer cannot be read; then give up. An unread answer is not a lucky one: it counts as wrong."""
    with count_usage() as count:
        value, first, problem = await _try_answer(question, question.task, give_answer)
        reply = first
        again = bool(problem)
        if again:
            repeated = repeated_after(question.task, last_answer=first, problem=problem)
            value, reply, problem = await _try_answer(question, repeated, give_answer)
        if problem:
            value = question.salvage(first, reply)
    return Answer(value, reply, 1 + again, problem, count.usage, count.measured_seconds)


async def _try_answer(question: ReadableTask[T], task: Task, give_answer: GiveAnswer) -> tuple[T | None, str, str]:
    """Return the answer's value, the reply, and what is wrong with it; of a reply that is no answer only the latter."""
    try:
        reply = await give_answer(task)
    except UnusableReply as unusable:
        return None, "", f"{unusable} {unusable.remedy}".strip()
    try:
        # In a thread: an episode is read by doing it again, and its calls in the sandbox block.
        return await asyncio.to_thread(question.read, reply), reply, ""
    except ValueError as problem:
        return None, reply, str(problem)


def value_in_reply(task: ReadableTask[T], row: AnswerRow) -> T | None:
    """Return what is read in the row's reply; None where there is nothing to read."""
    if not row.tries or row.reason.startswith(CALL_FAILED):
        return None
    try:
        return task.read(row.reply)
    except ValueError:
        # The first reply of the two is not kept.
        return task.salvage("", row.reply)


def repeated_after(task: Task, *, last_answer: str, problem: str) -> Task:
    """Return the task once more, after an answer that could not be read."""
    prompt = load_prompt("evaluation/ask_again").render(question=task.text, last_answer=last_answer, problem=problem)
    return replace(task, text=joined_text(prompt.messages))


def joined_text(messages: Iterable[Message]) -> str:
    """Return the messages as the text of one, because a task is a single message of the user."""
    return "\n\n".join(message.content for message in messages)


async def gather_or_cancel(work: Iterable[Awaitable[T]]) -> list[T]:
    """Return all results in order. The first error ends the rest and comes out as itself, not in a group."""
    tasks = list(map(asyncio.ensure_future, work))
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        await end_tasks(tasks)


async def end_tasks(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Cancel what still runs, and wait for it."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
