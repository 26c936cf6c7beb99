"""The worth of questions: difficulty, discrimination, and keys to look at."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from assets.engine.seeded_random import SeededRandom
from pipelines.evaluation.folder import FinishedRun
from pipelines.experiments.scoring.board_tables import board_sections
from pipelines.experiments.scoring.compare import compare_runs
from pipelines.experiments.scoring.leaderboard import QUESTIONS, write_leaderboard
from pipelines.experiments.scoring.question_worth import worth_csv, worth_notes, worth_of_questions
from pipelines.memories.contract import MemorySpec
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of

ABILITIES = (20, 30, 40, 50, 60, 70, 80, 90)  # percent of questions that a memory gets right


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Sequence[FinishedRun]:
    """Eight memories on 200 questions, most of which anybody guesses; the key of the last is wrong, so that the better fail."""
    folder = tmp_path_factory.mktemp("runs")
    made = finish(run_of(folder, HonestModel(), conditions=(), probes="none", baselines=False))
    template = next(row for row in made.answers if row.kind == "question")
    found = list[FinishedRun]()
    for ability in ABILITIES:
        rows = list(made.answers)
        for number in range(200):
            share = ability if number < 60 else 50
            right = SeededRandom(1, "answer", ability, number).integer_below(100) < share
            if number == 199:
                right = ability <= 50
            changes = {"item": f"q{number}", "status": "right" if right else "wrong"}
            rows.append(template.model_copy(update=changes))
        run_id = f"run-{ability}"
        memory = MemorySpec(name=f"m{ability}", kind="bm25")
        manifest = made.manifest.model_copy(update={"run_id": run_id, "memory": memory})
        results = made.results.model_copy(update={"run_id": run_id})
        found.append(replace(made, manifest=manifest, answers=rows, results=results))
    return found


def test_a_question_that_better_memories_fail_is_listed_for_a_look_at_its_key(runs: Sequence[FinishedRun]) -> None:
    worth = worth_of_questions(runs)
    assert worth is not None
    wrong = next(one for one in worth.negative if one.item == "q199")
    assert wrong in worth.negative[:4]
    assert (wrong.right, wrong.difficulty) == (4, 0.5)
    assert wrong.discrimination is not None
    assert wrong.discrimination < -worth.may_be_chance < 0
    same = next(one for one in worth.questions if one.right == worth.memories)
    assert (same.difficulty, same.discrimination) == (0, None)
    assert "Over 8 memories a discrimination between -.70 and .70 may be chance" in " ".join(worth_notes(worth))


def test_fewer_than_five_memories_say_nothing_of_questions(runs: Sequence[FinishedRun]) -> None:
    assert worth_of_questions(runs[:4]) is None
    assert worth_of_questions(runs[:5]) is not None


def test_a_board_shows_the_worth_and_has_every_question_beside_it(runs: Sequence[FinishedRun], tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    page = write_leaderboard(compare_runs(runs), runs=tmp_path / "runs")
    lines = page.with_name(f"{page.stem}-{QUESTIONS}").read_text(encoding="utf-8").splitlines()
    worth = worth_of_questions(runs)
    assert worth is not None
    assert lines[0] == "user_id,length,period,item,key,right,difficulty,discrimination"
    assert lines == worth_csv(worth).splitlines()
    assert "What the questions are worth" in [section.title for section in board_sections(runs)]
    assert "q199" in page.read_text(encoding="utf-8")
