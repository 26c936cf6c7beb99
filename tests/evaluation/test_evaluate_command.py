"""`amemgym evaluate` and `amemgym compare`, on the embedded model, with a data.json and with problems."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dataset_card.reference.data_json import data_json
from dataset_card.reference.settings import DataSettings, settings_bytes, settings_path
from dataset_card.release.folder import write_release
from pipelines.cli.errors import Problem
from pipelines.cli.main import app
from pipelines.evaluation.amemgym.dataset import Rounds, load_dataset
from pipelines.evaluation.errors import EvaluationError
from pipelines.home import Home
from pipelines.resources.storage.open_stores import open_release_store
from tests.dataset_card.reference.foreign_data import write_foreign_data
from tests.evaluation.scripted_evaluation import episode
from tests.support import releases, scenario
from tests.support.commands import priced_embedded_model


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
    report = output_of("evaluate", data, "--memory", "full-history", "--users", 2)
    board = output_of("evaluate", data, "--memory", "full-history", "--memory", "awi")
    runs = sorted(path.name for path in (data.parent / "home" / "runs").iterdir())
    compared = output_of("compare", *runs)

    assert "## By period" in report
    assert "| awi | on-policy |" in board
    assert len(runs) == 2
    assert "minus" in compared
    assert "detectable" in compared


def test_the_size_of_the_run_is_told_before_its_first_call(data: Path) -> None:
    with pytest.raises(Problem, match="reply cache has no reply"):
        CliRunner().invoke(app, ["evaluate", str(data), "--memory", "full-history", "--offline"], catch_exceptions=False)
    manifests = list((data.parent / "home" / "runs").glob("*/manifest.json"))

    assert len(manifests) == 1


def test_dialogues_of_one_run_are_replayed_into_another_assistant(data: Path) -> None:
    output_of("evaluate", data, "--memory", "full-history")
    led = next((data.parent / "home" / "runs").iterdir()).name

    assert "off-policy" in output_of("evaluate", data, "--memory", "rag-2-4-30", "--replay", led)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["evaluate", "nowhere", "--memory", "full-history"], "neither a data.json, nor a release folder"),
        (["evaluate", "DATA", "--memory", "brain"], "no memory 'brain'"),
        (["evaluate", "DATA", "--memory", "full-history", "--users", "3"], "has 2 users"),
        (["evaluate", "DATA", "--memory", "full-history", "--replay", "lost"], "names no run"),
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
        output_of("evaluate", data, "--memory", "full-history", "--memory", "awi")


def test_what_of_a_data_json_cannot_be_used_is_told_with_its_place(data: Path) -> None:
    items = json.loads(data.read_bytes())
    items[1]["qas"][0]["required_info"] = ["mood"]
    data.write_text(json.dumps(items), encoding="utf-8")

    # The other user's question is asked, or this user's others.
    assert "cannot be used and are left out: ben" in output_of("evaluate", data, "--memory", "full-history").replace("\n", " ")
    data.write_text(json.dumps([{**items[0], "periods": []}]), encoding="utf-8")
    with pytest.raises(Problem, match=r"data\.json holds no user who can be used\. 1 of 1 users .* ada: periods"):
        CliRunner().invoke(app, ["evaluate", str(data), "--memory", "full-history"], catch_exceptions=False)


def test_rounds_and_language_of_a_bare_file_are_told_set_and_taken_from_the_file_beside_it(data: Path) -> None:
    store = open_release_store(Home(data.parent / "home"))
    bare = load_dataset(str(data), release_store=store)
    assert bare.notices[0].startswith("data.json does not say rounds, language and dates; taken are those of the paper's base")

    beside = DataSettings(language="ru", num_rounds_initial=3, num_rounds_update=4)
    Path(settings_path(str(data))).write_bytes(settings_bytes(beside))
    kept = load_dataset(str(data), release_store=store)
    given = load_dataset(str(data), release_store=store, settings={"language": "ja"})
    assert (kept.rounds, kept.language) == (Rounds(3, 4), "Russian")
    assert (given.rounds, given.language) == (Rounds(3, 4), "Japanese")
    assert "By data.settings.json beside it" in kept.notices[0]
    with pytest.raises(Problem, match=r"num_rounds_update cannot be set so for data\.json"):
        output_of("evaluate", data, "--memory", "full-history", "--set", "num_rounds_update=none")


def test_a_release_and_its_own_data_json_are_the_same_data_set(tmp_path: Path) -> None:
    release = write_release(
        releases.content(recipe=scenario.recipe(num_users=2, language="de", num_rounds_update=3)), root=tmp_path
    )
    store = open_release_store(Home(tmp_path))
    whole, bare = (
        load_dataset(str(place), release_store=store) for place in (release.folder, release.folder / "demo" / "data.json")
    )
    assert (bare.episodes, bare.rounds, bare.language, bare.settings) == (
        whole.episodes,
        whole.rounds,
        whole.language,
        whole.settings,
    )
    with pytest.raises(EvaluationError, match="has its own language"):
        load_dataset(str(release.folder), release_store=store, settings={"language": "en"})


def test_users_of_anybody_s_file_are_evaluated_to_the_end(data: Path) -> None:
    write_foreign_data(data)
    report = output_of("evaluate", data, "--memory", "full-history", "--users", 2, "--set", "num_rounds_update=1")
    assert "overall" in report
    assert "Given here: num_rounds_update." in report.replace("\n", " ")


def test_the_runner_knows_nothing_of_dagster() -> None:
    code = "import sys, pipelines.cli.evaluate; sys.exit('dagster' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0


def test_a_leaderboard_ranks_all_runs_and_an_off_policy_run_shows_what_it_changes(data: Path) -> None:
    output_of("evaluate", data, "--memory", "full-history", "--memory", "awi")
    led = next((data.parent / "home" / "runs").glob("data.json-full-history-*")).name
    output_of("evaluate", data, "--memory", "full-history", "--memory", "awi", "--replay", led)
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
def test_a_budget_pauses_a_run_with_a_sentence_that_names_the_options(
    data: Path, words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMEMGYM_PRICES", str(priced_embedded_model(data.parent)))
    with pytest.raises(Problem, match=sentence):
        CliRunner().invoke(app, ["evaluate", str(data), "--memory", "full-history", *words], catch_exceptions=False)


def test_a_leaderboard_of_nothing_says_so(data: Path) -> None:
    with pytest.raises(Problem, match="no finished run"):
        output_of("leaderboard")
