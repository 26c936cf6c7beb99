"""A memory on tasks over documents: each is written, asked and graded by itself, and what fails costs one task."""

import asyncio
from collections.abc import Sequence
from functools import partial

from pydantic import Field

from assets.llm.ports import RequestFailed
from assets.llm.text import count_tokens, spells
from assets.memory_items.answers import is_right
from assets.records.base import ItemFailed, Record
from pipelines.evaluation.contract import MemoryTools
from pipelines.evaluation.document_tasks.tasks import DocumentTask
from pipelines.evaluation.hosting import MemoryFailed, MemoryHost
from pipelines.evaluation.isolated import MemoryRow, answer_in_each, contents_of
from pipelines.evaluation.memories.registry import MemorySpec, host_memory
from pipelines.evaluation.reasoning import Reasoner, ask


class DocumentRow(Record):
    """One task at one length: the row of isolated scores, and what tells why."""

    row: MemoryRow
    hops: int
    target_tokens: int
    written_tokens: int = Field(description="length of all that was written to the memory")
    fact_recall: float = Field(description="share of the needed values that are in what the memory gave back")


class TaskError(Record):
    """A task that could not be evaluated: no score, neither right nor wrong."""

    item: str
    message: str


async def evaluate_memory(
    spec: MemorySpec, tasks: Sequence[DocumentTask], *, tools: MemoryTools, reasoner: Reasoner, budget: int, at_once: int = 8
) -> tuple[list[DocumentRow], list[TaskError]]:
    """A row for each task that could be evaluated, and an error for each other one, both in order."""
    limit = asyncio.Semaphore(at_once)

    async def one(task: DocumentTask) -> DocumentRow | TaskError:
        async with limit:
            host = host_memory(spec, tools)
            try:
                return await evaluate_task(task, host, reasoner=reasoner, budget=budget)
            except (MemoryFailed, ItemFailed, RequestFailed) as error:
                return TaskError(item=task.item, message=str(error))
            finally:
                host.close()

    results = await asyncio.gather(*(one(task) for task in tasks))
    rows = [result for result in results if isinstance(result, DocumentRow)]
    return rows, [result for result in results if isinstance(result, TaskError)]


async def evaluate_task(task: DocumentTask, host: MemoryHost, *, reasoner: Reasoner, budget: int) -> DocumentRow:
    """Write the documents turn by turn, then ask; no memory sees the question before. Raises MemoryFailed."""
    memory = await host.new_memory()
    events = 0
    for batch in task.batches():
        await memory.write(batch)
        events += len(batch)
    recalled = await memory.recall(task.question, tokens=budget)
    contents = contents_of(recalled=recalled, facts=task.facts, everything=task.everything(), tokens=budget)
    answers = await answer_in_each(partial(_graded, task, reasoner), contents)
    found = [any(spells(text, value) for text in recalled) for value in task.values]
    return DocumentRow(
        row=MemoryRow(
            cluster=task.cluster,
            item=task.item,
            turn=len(task.sized.turns),
            query=task.question,
            written=events,
            budget=budget,
            recalled=tuple(recalled),
            recalled_tokens=sum(map(count_tokens, recalled)),
            **{f"right_with_{name}": right for name, right in answers.items()},
        ),
        hops=len(task.values),
        target_tokens=task.sized.target_tokens,
        written_tokens=task.sized.tokens,
        fact_recall=round(sum(found) / len(found), 6),
    )


async def _graded(task: DocumentTask, reasoner: Reasoner, texts: Sequence[str]) -> bool:
    """Whether the answer from these texts is right; one that cannot be read is not."""
    answer = await ask(task.asked(), partial(reasoner.answer, texts))
    return is_right(task.answer, answer.value)
