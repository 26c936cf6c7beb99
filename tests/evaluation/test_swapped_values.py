"""Counterfactual twins: one told value is another than in the release, and what a memory loses that answers by the release."""

from pathlib import Path

from assets.amemgym.records.episode import Episode
from assets.engine.seeded_random import SeededRandom
from pipelines.evaluation.amemgym.swapped_values import swap_value
from pipelines.evaluation.amemgym.tasks import AMemGymTasks
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.swapped import SwappedScore, compare_with_swapped
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
