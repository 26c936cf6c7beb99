"""A run as a record of Every Eval Ever; the parts that its schema (0.3.0) wants are spelled out here."""

import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipelines.evaluation.folder import FinishedRun
from pipelines.export.every_eval_ever import write_record
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of

AT = datetime(2026, 11, 26, 12, tzinfo=UTC)
# Where the shared repository keeps the lines: benchmark, developer and model, and a random id of version 4.
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
LINES = re.compile(rf"data/amemgym/unknown/test-model/{UUID}_samples\.jsonl")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    return finish(run_of(tmp_path_factory.mktemp("run"), HonestModel(), conditions=()))


def test_a_record_holds_every_score_of_the_run_with_its_interval_and_direction(run: FinishedRun, tmp_path: Path) -> None:
    record: dict[str, Any] = json.loads(write_record(run, tmp_path, made_at=AT).read_text())
    assert record["schema_version"] == "0.3.0"
    assert record["retrieved_timestamp"] == str(int(AT.timestamp()))
    assert record["model_info"]["additional_details"]["memory"] == "full-history"
    found = {one["metric_config"]["metric_id"].removeprefix("amemgym."): one for one in record["evaluation_results"]}
    known = {name: one for name, one in run.results.metrics.items() if one.value is not None}
    assert {name: one["score_details"]["score"] for name, one in found.items()} == {n: e.value for n, e in known.items()}
    interval = found["overall"]["score_details"]["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"]) == (known["overall"].low, known["overall"].high)
    assert not found["overall"]["metric_config"]["lower_is_better"]
    assert found["write_failure"]["metric_config"]["lower_is_better"]


def test_each_question_is_a_line_that_belongs_to_the_overall_score(run: FinishedRun, tmp_path: Path) -> None:
    record: dict[str, Any] = json.loads(write_record(run, tmp_path, made_at=AT).read_text())
    detailed = record["detailed_evaluation_results"]
    assert LINES.fullmatch(detailed["file_path"])
    content = (tmp_path / detailed["file_path"]).read_bytes()
    assert detailed["checksum"] == hashlib.sha256(content).hexdigest()
    lines: list[dict[str, Any]] = [json.loads(line) for line in content.splitlines()]
    questions = [row for row in run.answers if row.kind == "question"]
    assert detailed["total_rows"] == len(lines) == len(questions)
    assert len({line["sample_id"] for line in lines}) == len(lines)
    overall = next(one for one in record["evaluation_results"] if one["metric_config"]["metric_id"] == "amemgym.overall")
    assert {line["evaluation_result_id"] for line in lines} == {overall["evaluation_result_id"]}
    assert {line["evaluation_id"] for line in lines} == {record["evaluation_id"]}
    assert sum(line["evaluation"]["is_correct"] for line in lines) == sum(row.status == "right" for row in questions)
    assert [line["input"]["reference"] for line in lines] == [[row.expected] for row in questions]


def test_the_same_run_gives_the_same_bytes(run: FinishedRun, tmp_path: Path) -> None:
    first, second = (write_record(run, tmp_path / name, made_at=AT) for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
