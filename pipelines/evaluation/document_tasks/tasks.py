"""The tasks of a release of documents in turns, one for each length, as a memory meets them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pydantic import ValidationError

from assets.llm.structured_output import extract_json, schema_of_model
from assets.memory_items.ablation import ReaderReply
from assets.memory_items.answers import TypedAnswer
from assets.memory_items.documents import ItemDocument, SizedItem
from assets.memory_items.final_ablation import stated
from assets.memory_items.tasks import MemoryTask
from assets.records.columnar import from_table
from dataset_card.card.header import nested_path
from pipelines.evaluation.contract import MemoryEvent, Task
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.reasoning import ReadableTask
from prompts.catalogue import load_prompt
from prompts.template import Message

ASK = "memory_items/ask"


@dataclass(frozen=True)
class DocumentTask:
    """One question over documents in turns. `cluster`: the item whose tasks are resampled together.

    `facts` are the needed ones, each as its document states it; `values` what has to be remembered of them. `shown`: what is
    in sight together with the question, and never written.
    """

    cluster: str
    question: str
    answer: TypedAnswer
    sized: SizedItem
    visible_turns: int
    facts: tuple[str, ...]
    values: tuple[str, ...]
    shown: tuple[ItemDocument, ...] = ()
    language: str = "English"

    @property
    def item(self) -> str:
        return f"{self.cluster} at {self.sized.target_tokens}"

    def batches(self) -> Iterator[list[MemoryEvent]]:
        """What is written, turn by turn."""
        for turn in self.sized.turns:
            yield [MemoryEvent(one.perceived, "document") for one in turn.documents]

    def everything(self) -> list[str]:
        """All that is written, as lines of a recall slot."""
        return [event.line for events in self.batches() for event in events]

    def asked(self) -> ReadableTask[str | None]:
        """The question with what is still in sight, and how its answer is read."""
        turns = self.sized.turns[len(self.sized.turns) - self.visible_turns :]
        window = [*(one for turn in turns for one in turn.documents), *self.shown]
        return ReadableTask(
            Task(
                text="\n\n".join(
                    part.content for part in load_prompt(ASK).render(question=self.question, language=self.language).messages
                ),
                query=self.question,
                window=tuple(Message("user", one.perceived) for one in window),
                schema_name="memory_items_ask",
                json_schema=schema_of_model(ReaderReply).json_schema,
            ),
            read_answer,
        )


def read_answer(reply: str) -> str | None:
    """The answer in a reply. Raises ValueError for a reply that is none."""
    content = extract_json(reply)
    try:
        return ReaderReply.model_validate(content).answer
    except ValidationError as error:
        raise ValueError('Answer with one JSON object that has the key "answer".') from error


def read_tasks(folder: Path, record: type[MemoryTask], *, variant: str, language: str) -> list[DocumentTask]:
    """All tasks of a release folder, by length and then in its order; `record` is that of its benchmark's finished items.

    Raises EvaluationError for what is no such release.
    """
    path = folder / nested_path(variant)
    parquet: Any = pq  # typed in part only
    try:
        rows = from_table(parquet.read_table(path), record_type=record)
    except (OSError, KeyError, json.JSONDecodeError) as error:
        raise EvaluationError(f"{path} cannot be read as tasks over documents: {str(error).splitlines()[0]}.") from error
    tasks = [_task(row, sized, language=language) for row in rows for sized in row.lengths]
    return sorted(tasks, key=lambda task: task.sized.target_tokens)


def _task(row: MemoryTask, sized: SizedItem, *, language: str) -> DocumentTask:
    documents: list[ItemDocument] = list(sized.documents)
    held = {document.document_id: document.text for document in documents}
    return DocumentTask(
        cluster=row.task_id,
        question=row.question,
        answer=row.answer,
        sized=sized,
        visible_turns=row.eviction.visible_turns,
        facts=tuple(stated(fact, documents).perceived for fact in row.hops),
        values=tuple(held[fact.document_id][fact.start : fact.end] for fact in row.hops),
        shown=row.shown_with_question,
        language=language,
    )
