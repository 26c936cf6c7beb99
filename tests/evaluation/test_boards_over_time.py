"""A board whose runs go on: it says what they have got or what has changed since, and forged words are found all the same."""

from pathlib import Path

import pytest

from pipelines.evaluation.folder import FRESH, LATENCY, VERIFICATION, FinishedRun, RunFolder
from pipelines.evaluation.metrics.fresh import compare_with_fresh, count_users
from pipelines.evaluation.verifying.verdict import verify_run
from pipelines.experiments.scoring.compare import compare_runs
from pipelines.experiments.scoring.leaderboard import board_news, board_problems, runs_of_board, write_leaderboard
from pipelines.memories.contract import MemorySpec
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks


@pytest.fixture
def runs(tmp_path: Path) -> list[FinishedRun]:
    found = list[FinishedRun]()
    for kind in ("full-history", "none"):
        spec = MemorySpec(name=kind, kind=kind)
        work = run_of(tmp_path / "runs", HonestModel(), data=tasks("ada"), spec=spec, conditions=(), baselines=False)
        found.append(finish(work))
    return found


def add_files(folder: Path, run: FinishedRun) -> None:
    """Verify the run, and give it a score on fresh users."""
    public = count_users(run.answers, users=run.manifest.users)
    fresh = compare_with_fresh(public, public, run_id="demo-fresh", noun="user")
    place = RunFolder(folder)
    place.write(FRESH, fresh.model_dump_json())
    verify_run(run, folder, tasks("ada"))


def test_a_board_of_runs_that_got_more_files_follows_from_what_it_read_and_forged_words_are_found(
    tmp_path: Path, runs: list[FinishedRun]
) -> None:
    folder = tmp_path / "runs" / runs[0].manifest.run_id
    board = write_leaderboard(compare_runs(runs), runs=folder.parent)
    shown, now = runs_of_board(board, runs=folder.parent)
    assert list(board_problems(shown, now)) == list(board_news(shown)) == []

    add_files(folder, runs[0])
    shown, now = runs_of_board(board, runs=folder.parent)
    [news] = board_news(shown)
    assert news.startswith(f"{folder.name} has got {FRESH}, {VERIFICATION} since this board was made; make it again")
    assert list(board_problems(shown, now)) == []

    text = board.read_text(encoding="utf-8")
    board.write_text(text.replace('"notes":["', '"notes":["The first is the best.","'), encoding="utf-8")
    assert "notes is not what follows from the runs." in board_problems(*runs_of_board(board, runs=folder.parent))


def test_a_board_says_which_of_its_runs_has_changed_since(tmp_path: Path, runs: list[FinishedRun]) -> None:
    folder = tmp_path / "runs" / runs[0].manifest.run_id
    board = write_leaderboard(compare_runs(runs), runs=folder.parent)
    slower = runs[0].latency.model_copy(update={"median": 7.0})
    RunFolder(folder).write(LATENCY, slower.model_dump_json())
    [problem] = board_problems(*runs_of_board(board, runs=folder.parent))
    assert problem.startswith(f"{folder.name} has changed since this board was made ({LATENCY}); make it again")


def test_a_board_without_word_of_the_files_that_it_read_is_made_again(tmp_path: Path, runs: list[FinishedRun]) -> None:
    board = write_leaderboard(compare_runs(runs), runs=tmp_path / "elsewhere")
    told = list(board_problems(*runs_of_board(board, runs=tmp_path / "runs")))
    assert [problem.partition(" of ")[0] for problem in told] == ["The board does not say which files"] * 2
