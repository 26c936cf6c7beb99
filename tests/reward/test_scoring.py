"""What is scored: runs, tables of rows, and memories without a run, on documents or recorded sessions."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.errors import EvaluationError
from pipelines.reward.models import load_model
from pipelines.reward.rows import reward_rows, write_reward_rows
from pipelines.reward.training import train
from tests.reward.test_models import made_rows
from tests.reward.test_rows import row, run_folder

OWN = """
class Mine:
    def __init__(self):
        self.texts = []

    def copy(self):
        made = Mine()
        made.texts = list(self.texts)
        return made

    def write(self, events):
        self.texts += [event.text for event in events]

    def recall(self, query, tokens):
        return self.texts[-3:]
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.json"
    train(made_rows(items=8), seed=3).model.save(path)
    return path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a memory of one's own, and a data folder without any endpoint."""
    for name in ("AMEMGYM_BASE_URL", "OPENAI_BASE_URL", "AMEMGYM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path / "home"))
    (tmp_path / "mine.py").write_text(OWN)
    return tmp_path


def scored(*words: object) -> str:
    found = CliRunner().invoke(app, ["reward", "score", *map(str, words)], catch_exceptions=False)
    assert found.exit_code == 0
    return found.output


def test_a_table_of_rows_gets_a_score_for_each_memory_and_fault_with_the_true_share(place: Path, model: Path) -> None:
    runs = [
        run_folder(place, "bm25?perturbed=half", [row(1, right=False)], perturbed="half"),
        run_folder(place, "bm25", [row(number, right=number < 3) for number in range(4)]),
    ]
    write_reward_rows(place / "rows.parquet", reward_rows(runs))
    records = json.loads(scored(model, place / "rows.parquet", "--json"))
    assert [(one["run"], one["true"], one["recalls"]) for one in records] == [
        ("bm25 on amemgym", 0.75, 4),
        ("bm25?perturbed=half on amemgym", 0.0, 1),
    ]


def test_a_memory_of_ones_own_is_scored_on_recorded_sessions_by_what_had_left_the_window(place: Path, model: Path) -> None:
    said = [f"The code of door {number} is {number}{number}{number}. " + "It is near the hall. " * 20 for number in range(6)]
    messages: list[dict[str, str]] = []
    for text in said:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}]
    (place / "sessions.jsonl").write_text(json.dumps({"id": "one", "messages": messages}) + "\n")
    words = (model, place / "sessions.jsonl", "--memory", f"{place / 'mine.py'}:Mine", "--window", "300")
    (record,) = json.loads(scored(*words, "--json"))
    assert record["run"].endswith("mine.py:Mine on " + str(place / "sessions.jsonl"))
    assert record["true"] is None
    assert 0 < record["recalls"] < 6
    assert 0 <= record["predicted"]["value"] <= 1
    assert load_model(model).report.verdict in " ".join(scored(*words).split())


def test_where_most_recalls_are_unlike_the_training_rows_that_is_said(place: Path, model: Path) -> None:
    (one,) = reward_rows([run_folder(place, "bm25", [row(1, right=True)])])
    far = one.model_copy(update={"features": dict.fromkeys(one.features, 9.0)})
    write_reward_rows(place / "rows.parquet", [far] * 3)
    said = " ".join(scored(model, place / "rows.parquet").split())
    assert "Most recalls are unlike the training rows" in said


def test_a_table_without_rows_is_refused(place: Path, model: Path) -> None:
    (place / "empty.jsonl").write_text(json.dumps({"id": "one", "messages": [{"role": "user", "content": "Hello."}]}) + "\n")
    with pytest.raises(EvaluationError, match="Nothing was recalled in"):
        CliRunner().invoke(
            app,
            ["reward", "score", str(model), str(place / "empty.jsonl"), "--memory", "bm25"],
            catch_exceptions=False,
        )
