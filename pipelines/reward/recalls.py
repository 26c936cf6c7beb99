"""Recalls that nobody answers from: a memory lives a release of documents, or recorded sessions, and is scored by a model."""

from collections.abc import Sequence
from pathlib import Path

from assets.text.words import count_tokens
from pipelines.errors import EvaluationError
from pipelines.evaluation.answered.document_tasks import DocumentItem, DocumentTasks
from pipelines.evaluation.command import EvaluationProgress, EvaluationRequest, open_run
from pipelines.evaluation.isolated import MemoryRow
from pipelines.evaluation.reasoning import gather_or_cancel
from pipelines.evaluation.run import Run
from pipelines.home import Home
from pipelines.memories.hosting import MemoryFailed
from pipelines.recorded_sessions.replay import Replay
from pipelines.recorded_sessions.sessions import RecordedSession
from pipelines.reward.features import WrittenTexts
from pipelines.reward.rows import Origin, RewardRow, reward_row

NOBODY = ""  # answered


async def recalls_of_documents(request: EvaluationRequest, *, home: Home) -> list[RewardRow]:
    """Return a row without a label for each task of a release of documents, at each length. Raises EvaluationError.

    The memory is given what an evaluation would give it, and no reasoner is asked.
    """
    async with open_run(request, home=home, progress=EvaluationProgress()) as (run, _):
        tasks = run.tasks
        if not isinstance(tasks, DocumentTasks) or type(tasks.documents[0]) is not DocumentItem:
            raise EvaluationError(
                f"{tasks.info.name} is of {tasks.info.benchmark}, where memories live with answers; evaluate the memory on it "
                "and score the run."
            )
        return await gather_or_cancel(_document_row(run, tasks, item) for item in tasks.documents)


async def _document_row(run: Run, tasks: DocumentTasks, item: DocumentItem) -> RewardRow:
    host = run.host(item.task.task_id)
    try:
        memory = await host.new_memory()
        for batch in item.batches:
            await memory.write(batch)
        await memory.settle()
        recalled = await memory.recall(item.task.question, tokens=run.manifest.tokens)
    except MemoryFailed as failed:
        raise EvaluationError(f"Task {item.item_id}: {failed}") from failed
    finally:
        await host.close()
    origin = Origin(
        benchmark=tasks.info.benchmark,
        release=tasks.info.digest,
        memory=run.manifest.memory.name,
        perturbed="",
        reasoner=NOBODY,
    )
    texts = WrittenTexts([event.text for event in item.events])
    row = MemoryRow(
        cluster=item.task.task_id,
        length=item.sized.target_tokens,
        item=item.task.task_id,
        turn=len(item.sized.turns) - 1,
        query=item.task.question,
        written=len(item.events),
        budget=run.manifest.tokens,
        recalled=tuple(recalled),
        recalled_tokens=sum(map(count_tokens, recalled)),
        right_with_memory=False,  # nobody answered: the row has no label
    )
    return reward_row(row, texts, origin=origin, kept=None)


def recalls_of_sessions(result: Replay, sessions: Sequence[RecordedSession], *, source: Path) -> list[RewardRow]:
    """Return a row without a label for each decision for which the memory was asked; each session has a memory of its own."""
    written: dict[str, WrittenTexts] = {}
    for session in sessions:
        written[session.name] = WrittenTexts([step.event.text for step in session.steps])
    origin = Origin(benchmark="recorded sessions", release=source.name, memory=result.memory, perturbed="", reasoner=NOBODY)
    rows: list[RewardRow] = []
    for recall in result.rows:
        row = MemoryRow(
            cluster=recall.session,
            item=f"{recall.step}",
            turn=recall.step,
            query=recall.query,
            written=recall.written,
            budget=recall.budget,
            recalled=recall.recalled,
            recalled_tokens=recall.recalled_tokens,
            right_with_memory=False,  # nobody answered: the row has no label
        )
        rows.append(reward_row(row, written[recall.session], origin=origin, kept=None))
    return rows
