"""Memories on documents in turns: what is not recalled is not known, and scores say so by length."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from assets.deep_research.records.tasks import ResearchTask
from assets.llm.ports import Vector
from assets.records.columnar import to_table
from dataset_card.card.header import nested_path
from pipelines.evaluation.contract import MemoryEvent, MemoryTools
from pipelines.evaluation.document_tasks.results import curve
from pipelines.evaluation.document_tasks.run import DocumentRow, TaskError, evaluate_memory
from pipelines.evaluation.document_tasks.tasks import DocumentTask, read_answer, read_tasks
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.memories.registry import MemorySpec
from pipelines.evaluation.reasoning import Reasoner
from tests.support.coroutines import run
from tests.support.research_tasks import EmbeddedModel, made_task


@dataclass
class NoEmbedder:
    async def embed(self, texts: list[str], *, model: str) -> list[Vector]:
        raise AssertionError("No memory here compares meanings.")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[DocumentTask]:
    folder = tmp_path_factory.mktemp("release")
    path = folder / nested_path("small")
    path.parent.mkdir()
    pq.write_table(to_table([made_task().instance], record_type=ResearchTask), path)  # pyright: ignore[reportUnknownMemberType]
    return read_tasks(folder, ResearchTask, variant="small", language="English")


def evaluated(
    kind: str, tasks: list[DocumentTask], *, budget: int, **settings: int
) -> tuple[list[DocumentRow], list[TaskError]]:
    model = EmbeddedModel()
    tools = MemoryTools(model, NoEmbedder(), "reader", "none", 7)  # pyright: ignore[reportArgumentType]
    spec = MemorySpec(name=kind, kind=kind, settings=dict(settings))
    return run(evaluate_memory(spec, tasks, tools=tools, reasoner=Reasoner(model, "reader", 7), budget=budget))


def test_a_memory_of_everything_answers_and_one_of_nothing_does_not(tasks: list[DocumentTask]) -> None:
    ((full,), _), ((none,), _) = (evaluated(kind, tasks, budget=6000) for kind in ("full-history", "none"))
    conditions = ("memory", "none", "facts", "everything")
    assert [full.row.right(condition) for condition in conditions] == [True, False, True, True]  # pyright: ignore[reportArgumentType]
    assert [none.row.right(condition) for condition in conditions] == [False, False, True, True]  # pyright: ignore[reportArgumentType]
    assert (full.fact_recall, none.fact_recall) == (1.0, 0.0)
    assert (full.target_tokens, full.hops, full.written_tokens) == (4000, 2, made_task().lengths.lengths[0].tokens)


def test_what_does_not_fit_is_lost(tasks: list[DocumentTask]) -> None:
    (row,), errors = evaluated("window", tasks, budget=6000, most_tokens=500)
    assert errors == []
    assert row.row.right_with_memory is False
    assert row.row.recalled_tokens <= 500
    (point, *_) = curve([row], seed=1)
    assert (point.by, point.value, point.scores.gain.value) == ("length", 4000, 0.0)


def test_documents_arrive_by_turn_and_the_question_is_never_written(tasks: list[DocumentTask]) -> None:
    (task,) = tasks
    batches = list(task.batches())
    assert len(batches) == len(made_task().turns.turns)
    assert all(isinstance(event, MemoryEvent) and task.question not in event.text for batch in batches for event in batch)
    assert task.asked().task.window == ()


def test_a_memory_that_fails_costs_its_task_and_no_score(tasks: list[DocumentTask], tmp_path: Path) -> None:
    source = tmp_path / "breaking.py"
    source.write_text(
        "class Breaking:\n    def __init__(self, tools): ...\n    def write(self, events): raise RuntimeError('no room')\n"
        "    def recall(self, query, *, tokens): return []\n"
    )
    rows, errors = evaluated(f"{source}:Breaking", tasks, budget=100)
    assert rows == []
    assert "failed in 'write': RuntimeError: no room" in errors[0].message


def test_answers_are_read_and_what_is_none_is_told(tmp_path: Path) -> None:
    assert [read_answer('{"answer": "7"}'), read_answer('{"answer": null}')] == ["7", None]
    with pytest.raises(ValueError, match='key "answer"'):
        read_answer('{"reply": 1}')
    with pytest.raises(EvaluationError, match="cannot be read as tasks over documents"):
        read_tasks(tmp_path, ResearchTask, variant="small", language="English")
