"""`amemgym evaluate` and `amemgym compare`, on the embedded model, with a data.json and with problems."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dataset_card.reference.data_json import data_json
from pipelines.cli.errors import Problem
from pipelines.cli.main import app
from tests.evaluation.scripted_evaluation import episode


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data.json of two users, and a data folder of its own without any endpoint."""
    for name in ("AMEMGYM_BASE_URL", "OPENAI_BASE_URL", "AMEMGYM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path / "home"))
    path = tmp_path / "data.json"
    path.write_bytes(data_json([episode("ada"), episode("ben")]))
    return path


def output_of(*arguments: object) -> str:
    """The output of the command, which must succeed."""
    found = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0
    return found.output


def test_a_data_json_is_evaluated_reported_and_compared(data: Path) -> None:
    report = output_of("evaluate", data, "--assistant", "llm", "--users", 2)
    board = output_of("evaluate", data, "--assistant", "llm", "--assistant", "awi")
    runs = sorted(path.name for path in (data.parent / "home" / "runs").iterdir())
    compared = output_of("compare", *runs)

    assert "## By period" in report
    assert "| awi | on-policy |" in board
    assert len(runs) == 2
    assert "minus" in compared
    assert "detectable" in compared


def test_the_size_of_the_run_is_told_before_its_first_call(data: Path) -> None:
    with pytest.raises(Problem, match="reply cache has no reply"):
        CliRunner().invoke(app, ["evaluate", str(data), "--assistant", "llm", "--offline"], catch_exceptions=False)
    manifests = list((data.parent / "home" / "runs").glob("*/manifest.json"))

    assert len(manifests) == 1


def test_dialogues_of_one_run_are_replayed_into_another_assistant(data: Path) -> None:
    output_of("evaluate", data, "--assistant", "llm")
    led = next((data.parent / "home" / "runs").iterdir()).name

    assert "off-policy" in output_of("evaluate", data, "--assistant", "rag-2-4-30", "--replay", led)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["evaluate", "nowhere", "--assistant", "llm"], "neither a data.json, nor a release folder"),
        (["evaluate", "DATA", "--assistant", "brain"], "no assistant 'brain'"),
        (["evaluate", "DATA", "--assistant", "llm", "--users", "3"], "has 2 users"),
        (["evaluate", "DATA", "--assistant", "llm", "--replay", "lost"], "names no run"),
        (["compare", "one"], "two or more runs"),
    ],
)
def test_a_problem_is_one_sentence_before_the_first_call(data: Path, arguments: list[str], words: str) -> None:
    given = [str(data) if argument == "DATA" else argument for argument in arguments]

    with pytest.raises(Problem, match=words):
        CliRunner().invoke(app, given, catch_exceptions=False)
    assert not (data.parent / "home" / "runs").exists()


def test_a_board_that_cannot_be_written_is_one_sentence(data: Path) -> None:
    (data.parent / "home").mkdir()
    (data.parent / "home" / "boards").write_text("no folder", encoding="utf-8")

    with pytest.raises(Problem, match="boards"):
        output_of("evaluate", data, "--assistant", "llm", "--assistant", "awi")


def test_a_damaged_data_json_is_named_with_its_place(data: Path) -> None:
    items = json.loads(data.read_bytes())
    items[1]["qas"][0]["required_info"] = ["mood"]
    data.write_text(json.dumps(items), encoding="utf-8")

    with pytest.raises(Problem, match=r"data\.json cannot be evaluated on: Item \[1\]"):
        CliRunner().invoke(app, ["evaluate", str(data), "--assistant", "llm"], catch_exceptions=False)


def test_the_runner_knows_nothing_of_dagster() -> None:
    code = "import sys, pipelines.cli.evaluate; sys.exit('dagster' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0


def test_a_leaderboard_ranks_all_runs_and_an_off_policy_run_shows_what_it_changes(data: Path) -> None:
    output_of("evaluate", data, "--assistant", "llm", "--assistant", "awi")
    led = next((data.parent / "home" / "runs").glob("data.json-llm-*")).name
    output_of("evaluate", data, "--assistant", "llm", "--assistant", "awi", "--replay", led)
    runs = sorted(path.name for path in (data.parent / "home" / "runs").iterdir())
    compared = output_of("compare", *runs)
    board = output_of("leaderboard", "--dataset", "data.json")

    assert "| assistant | on-policy | off-policy | off minus on | ranks gained off-policy |" in compared
    assert board.count("| off-policy |") == board.count("| on-policy |") == 2
    assert "| random | baseline |" in board
    # The board of the first two, of the two off-policy, and of all four by either command.
    assert len(list((data.parent / "home" / "boards").glob("*.html"))) == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--max-tokens", "500"], r"max_tokens .*these are --max-cost and --max-tokens"),
        (["--max-cost", "0"], "A budget of 0 lets no call through"),
    ],
)
def test_a_budget_pauses_a_run_with_a_sentence_that_names_the_options(data: Path, words: list[str], sentence: str) -> None:
    with pytest.raises(Problem, match=sentence):
        CliRunner().invoke(app, ["evaluate", str(data), "--assistant", "llm", *words], catch_exceptions=False)


def test_a_leaderboard_of_nothing_says_so(data: Path) -> None:
    with pytest.raises(Problem, match="no finished run"):
        output_of("leaderboard")
