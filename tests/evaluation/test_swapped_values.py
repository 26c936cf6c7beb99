"""Counterfactual twins: one told value is another than in the release, and what a memory loses that answers by the release."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from assets.amemgym.records.episode import Episode
from assets.engine.seeded_random import SeededRandom
from pipelines.evaluation.amemgym.swapped_values import swap_value
from pipelines.evaluation.amemgym.tasks import AMemGymTasks
from pipelines.evaluation.folder import FRESH, SWAPPED, FinishedRun, RunFolder, read_run, write_table
from pipelines.evaluation.metrics.fresh import compare_with_fresh, count_users
from pipelines.evaluation.metrics.swapped import SwappedScore, compare_with_swapped, swapped_score
from pipelines.evaluation.records import AnswerRow
from pipelines.evaluation.report.markdown import run_report
from pipelines.evaluation.report.page import page_items, run_page
from pipelines.evaluation.run import Run
from pipelines.evaluation.verifying.verdict import Verification, verify_run
from pipelines.memories.contract import MemorySpec
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel, episode, finish, run_of, tasks

CHEATING = Path(__file__).with_name("cheating_memories.py")


def told(user: Episode) -> list[str]:
    """All first messages, in order."""
    return [session.query for period in user.periods for session in period.sessions]


def twin_of(user: Episode) -> Episode:
    twin = swap_value(user, rng=SeededRandom(1))
    assert twin is not None
    return twin


def test_a_twin_repeats_an_earlier_message_in_place_of_one_and_another_answer_is_right() -> None:
    user = episode("ada")
    twin = twin_of(user)
    before, after = told(user), told(twin)
    [place] = [number for number, (own, other) in enumerate(zip(before, after, strict=True)) if own != other]
    assert after[place] in before[:place]
    assert [question.answer_choices for question in twin.questions] == [question.answer_choices for question in user.questions]
    assert [question.golden for question in twin.questions] != [question.golden for question in user.questions]


def test_a_user_without_a_message_that_can_stand_for_another_has_no_twin() -> None:
    user = episode("ada")
    assert swap_value(user.model_copy(update={"periods": user.periods[:1]}), rng=SeededRandom(1)) is None


def scored(folder: Path, spec: MemorySpec) -> SwappedScore:
    """A memory's score on the twin of one user."""
    data = tasks("ada")
    twins = data.with_swapped_values(1, seed=1)
    assert twins.info.digest != data.info.digest

    def finished(users: AMemGymTasks) -> FinishedRun:
        return finish(run_of(folder, HonestModel(), data=users, spec=spec, conditions=(), baselines=False))

    public = finished(data)
    swapped = finished(twins)
    return compare_with_swapped(public.answers, swapped.answers, run_id=swapped.manifest.run_id)


def test_who_answers_by_what_was_told_is_right_and_who_answers_by_the_release_is_not(tmp_path: Path) -> None:
    honest = scored(tmp_path / "honest", MemorySpec(name="full-history", kind="full-history"))
    assert (honest.before.value, honest.right.value, honest.released.value) == (1.0, 1.0, 0.0)
    knowing = scored(tmp_path / "knowing", find_memory(f"{CHEATING}:KnowsTheKeys"))
    assert knowing.right.value == 0.0
    assert "it gives the released answer in" in knowing.sentence


@pytest.fixture
def with_twins(tmp_path: Path) -> tuple[Path, Path]:
    """The folders of a run of a memory that forgets all, and of its run on twins; it has scores on them and on fresh users."""
    data = tasks("ada")
    spec = MemorySpec(name="none", kind="none")
    works = list[Run]()
    for users in (data, data.with_swapped_values(1, seed=7)):
        works.append(run_of(tmp_path, HonestModel(), data=users, spec=spec, conditions=(), baselines=False, probes="none"))
    public, twins = map(finish, works)
    counts = count_users(public.answers, users=public.manifest.users)
    scored = replace(
        public,
        fresh=compare_with_fresh(counts, counts, run_id="demo-fresh", noun="user"),
        swapped=compare_with_swapped(public.answers, twins.answers, run_id=twins.manifest.run_id),
    )
    page = run_page(scored, page_items(works[0].timelines, scored.turns))
    works[0].folder.keep_further_scores(scored, report=run_report(scored), page=page)
    return works[0].folder.path, works[1].folder.path


def verdict_on(folder: Path) -> Verification:
    return verify_run(read_run(str(folder), runs=folder.parent), folder, tasks("ada"))


def test_a_score_on_twins_follows_from_the_run_on_them_which_is_graded_again(with_twins: tuple[Path, Path]) -> None:
    folder, twins = with_twins
    whole = verdict_on(folder)
    assert whole.problems == ()
    assert not any("twins" in what for what in whole.unverified)

    score = read_run(str(folder), runs=folder.parent).swapped
    assert score is not None
    right = [user.model_copy(update={"right": user.asked, "before": user.asked}) for user in score.users]
    assert tuple(right) != score.users
    RunFolder(folder).write(SWAPPED, swapped_score(right, run_id=score.run_id).model_dump_json())
    assert verdict_on(folder).problems == (f"{SWAPPED} does not follow from the answers and from {twins.name}.",)

    rows = [row.model_copy(update={"status": "right"}) for row in read_run(str(twins), runs=folder.parent).answers]
    write_table(twins / "answers.parquet", rows, kind=AnswerRow)
    assert any(f"{twins.name}: " in problem and "graded otherwise" in problem for problem in verdict_on(folder).problems)


def test_a_score_on_twins_whose_run_is_not_there_is_left_open(with_twins: tuple[Path, Path]) -> None:
    folder, twins = with_twins
    shutil.rmtree(twins)
    found = verdict_on(folder)
    assert found.problems == ()
    assert f"what came of twins, because {twins.name} is not in {folder.parent.name}/ beside it" in found.unverified


def test_a_score_on_fresh_users_or_on_twins_that_somebody_took_away_is_missed(with_twins: tuple[Path, Path]) -> None:
    folder, _ = with_twins
    for name in (FRESH, SWAPPED):
        (folder / name).unlink()
    assert verdict_on(folder).problems == (
        "report.html tells of fresh users, and fresh.json is missing.",
        "report.html tells of twins, and swapped.json is missing.",
    )
