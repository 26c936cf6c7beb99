"""A task asked of the same reasoner with a memory (S), with none (N), the needed facts (O), or everything (F).

The benchmark says how a task is asked and graded, and which facts it needs.
"""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol, TypeVar, get_args

from assets.llm.ports import RequestFailed
from assets.text.words import count_tokens
from pipelines.evaluation.arms import TextsAtHand
from pipelines.evaluation.reasoning import CONTEXT_TOKENS, Answer, ReadableTask, Reasoner, ask, gather_or_cancel
from pipelines.evaluation.records import CALL_FAILED, AskKind, RunManifest
from pipelines.evaluation.spending import MemoryWork, count_work, memory_call
from pipelines.memories.contract import Task, cut_to_budget, newest_within
from pipelines.memories.failures import CallLost
from pipelines.memories.hosting.hosted import HostedMemory

T = TypeVar("T")
Condition = Literal["memory", "none", "facts", "everything"]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
KIND_OF: dict[str, AskKind] = {"none": "no_memory", "facts": "facts", "everything": "everything"}  # beside the memory's own
ROOM_FOR_TASK = 8_000  # tokens of the context, for the question with its options and what is still in sight


def contents_of(*, facts: Sequence[str], everything: Sequence[str], tokens: int) -> dict[str, Sequence[str]]:
    """Return the texts that fill the recall slot in each condition without the memory.

    The reasoner's context alone bounds everything; the oldest go first.
    """
    return {
        "none": (),
        "facts": cut_to_budget(facts, tokens),
        "everything": newest_within(everything, CONTEXT_TOKENS - ROOM_FOR_TASK),
    }


class Recalling(Protocol):
    """The side that is asked: it recalls for a query, and answers from recalled texts. A whole agent recalls nothing.

    `tokens`: what may be recalled at once, also in an answer for which an agent asks its memory itself.
    """

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]: ...

    async def answer(self, recalled: Sequence[str], task: Task, *, tokens: int) -> str: ...


@dataclass(frozen=True)
class ReasonerWithMemory:
    """Our reasoner with a memory, or with none: for baselines, and the conditions beside the memory's own.

    `waits`: a recall waits until the memory has finished its work.
    """

    reasoner: Reasoner
    memory: HostedMemory | None
    waits: bool = True

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        # Memories of others may know no user, and have no database, before the first write.
        if self.memory is None or (self.memory.host.place is not None and not self.memory.written):
            return []
        if self.waits:
            # Only the first recall after a write waits for it, which is no time of a search.
            await wait_until_readable(self.memory)
        with memory_call("recall"):
            return await self.memory.recall(query, tokens=tokens, settled=self.waits)

    async def count_stored(self) -> None:
        """Count what the memory was given and what it holds, when its item ends."""
        if self.memory is None:
            return
        texts = [event.text for batch in self.memory.written for event in batch]
        source = sum(len(text.encode()) for text in texts)
        count_work(MemoryWork(events=len(texts), source_bytes=source, stored_bytes=await self.memory.stored_bytes()))

    async def answer(self, recalled: Sequence[str], task: Task, *, tokens: int = 0) -> str:
        return await self.reasoner.answer(recalled, task)


async def wait_until_readable(memory: HostedMemory) -> None:
    """Return when all that was written can be recalled; measured for a memory that has to finish something."""
    if memory.settled or not memory.settles:
        await memory.settle()
        return
    with memory_call("settle"):
        await memory.settle()


async def answer_in_conditions(
    task: ReadableTask[T], bare: Recalling, *, texts: TextsAtHand, manifest: RunManifest
) -> list[Answer[T]]:
    """Return the answers in the run's conditions without the memory."""
    contents = contents_of(facts=texts.facts, everything=texts.everything, tokens=manifest.tokens)
    asked = list[Awaitable[Answer[T]]]()
    for condition in manifest.conditions:
        kind = KIND_OF[condition]
        asked.append(_answer_in(task, bare, contents[condition], kind=kind, budget=manifest.tokens))
    return await gather_or_cancel(asked)


async def answer_from_memory(
    task: ReadableTask[T], subject: Recalling, bare: Recalling, *, texts: TextsAtHand, manifest: RunManifest
) -> list[Answer[T]]:
    """Return the answer from the memory first, then those at the budgets of the run's curve, and in its arms."""
    # The memory's own is the first, which callers tell apart by its place.
    asked = [recall_and_answer(task, subject, tokens=manifest.tokens)]
    for tokens in manifest.curve:
        asked.append(recall_and_answer(task, subject, tokens=tokens, kind="at_budget"))
    answers = await gather_or_cancel(asked)
    # Chance texts are as long as what was recalled, which is known only now.
    recalled = sum(map(count_tokens, answers[0].recalled))
    controls: list[Awaitable[Answer[T]]] = []
    for arm in manifest.arms:
        own = cut_to_budget(texts.of_arm(arm, tokens=recalled), manifest.tokens)
        if own:
            controls.append(answer_from(task, bare, own, kind=arm, budget=manifest.tokens))
    return [*answers, *await gather_or_cancel(controls)]


async def _answer_in(task: ReadableTask[T], bare: Recalling, texts: Sequence[str], *, kind: AskKind, budget: int) -> Answer[T]:
    """Return the answer in a condition without the memory. Rows keep the needed facts; everything is in events.parquet."""
    answer = await answer_from(task, bare, texts, kind=kind, budget=budget)
    return replace(answer, recalled=tuple(texts)) if kind == "facts" else answer


async def recall_and_answer(task: ReadableTask[T], subject: Recalling, *, tokens: int, kind: AskKind = "question") -> Answer[T]:
    """Return the answer from what is recalled; none where that failed."""
    recalled = await recall_texts(task, subject, tokens=tokens, kind=kind)
    return (
        recalled if isinstance(recalled, Answer) else await answer_recalled(task, subject, recalled, tokens=tokens, kind=kind)
    )


async def recall_texts(
    task: ReadableTask[T], subject: Recalling, *, tokens: int, kind: AskKind
) -> tuple[str, ...] | Answer[Any]:
    """Return what is recalled; the answer that there is where that failed, as an endpoint may refuse an embedding."""
    try:
        return tuple(await subject.recall(task.task.query, tokens=tokens))
    except (RequestFailed, CallLost) as failed:
        return replace(_refuse_answer(failed), kind=kind, budget=tokens)


async def answer_recalled(
    task: ReadableTask[T], subject: Recalling, recalled: tuple[str, ...], *, tokens: int, kind: AskKind
) -> Answer[T]:
    """Return the answer from recalled texts, with these."""
    return replace(await answer_from(task, subject, recalled, kind=kind, budget=tokens), recalled=recalled)


async def answer_from(
    task: ReadableTask[T], subject: Recalling, texts: Sequence[str], *, kind: AskKind, budget: int = 0
) -> Answer[T]:
    """Return the answer from these texts; none where the endpoint refuses this very request. Other requests go on."""
    try:
        answer = await ask(task, partial(subject.answer, texts, tokens=budget))
    except (RequestFailed, CallLost) as failed:
        answer = _refuse_answer(failed)
    return replace(answer, kind=kind, budget=budget)


def _refuse_answer(failed: Exception) -> Answer[Any]:
    return Answer(None, "", 1, f"{CALL_FAILED}: {failed}")
