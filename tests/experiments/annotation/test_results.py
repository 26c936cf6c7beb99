"""From answers to figures, errata and the next release's files."""

from datetime import timedelta
from pathlib import Path

import pytest

from dataset_card.diff.errata_files import ERRATA, STUDIES, read_errata, read_studies
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.records import DialogueTurn
from pipelines.experiments.annotation.folder import StudyFolder
from pipelines.experiments.annotation.records import AnnotationError, ItemAnswer
from pipelines.experiments.annotation.results import (
    collect_answers,
    disputed_items,
    final_label,
    result_of,
    write_outcome,
)
from pipelines.experiments.annotation.study import Target
from pipelines.experiments.annotation.units import NONE, VALUE, dialogues, integrity_units
from tests.evaluation.scripted_evaluation import HonestModel, dataset, finish, run_of
from tests.experiments.annotation.making import answered, begin_study, source, study
from tests.support import scenario


def again(folder: StudyFolder) -> None:
    """Whatever is in the folder can be collected."""
    collect_answers(folder.study(), folder.keys(), folder.sheets())


def test_annotators_who_say_what_the_release_says_agree_fully(tmp_path: Path) -> None:
    result = result_of(answered(begin_study(tmp_path)))
    assert (result.items, result.users, result.disputed) == (10, 2, 0)
    assert [one.value for one in (result.raw, result.ac1, result.score)] == [1, 1, 1]
    assert [line.agrees.value for line in result.annotators] == [1, 1]


def test_a_disagreement_lowers_agreement_and_the_rating_its_half_of_the_score(tmp_path: Path) -> None:
    result = result_of(answered(begin_study(tmp_path, "exposure"), ben={"item-0001": "0", "item-0002": "1"}))
    assert (result.items, result.disputed) == (12, 2)
    assert result.raw.value == pytest.approx(10 / 12, abs=1e-6)
    assert result.score.value == pytest.approx(1 - 1.5 / 24, abs=1e-6)
    assert [line.agrees.value for line in result.annotators] == [1, pytest.approx(10 / 12, abs=1e-6)]


def test_planted_items_count_for_the_annotators_alone(tmp_path: Path) -> None:
    folder = begin_study(tmp_path, "exposure", target=Target(size=1000, controls=0.5))
    planted = [item for item, key in folder.keys().items() if key.control]
    result = result_of(answered(folder, ben=dict.fromkeys(planted, "2")))
    assert (result.items, result.raw.value, result.score.value) == (6, 1, 1)
    assert [(line.caught, line.controls) for line in result.annotators] == [(6, 6), (0, 6)]


def test_without_two_answers_to_an_item_there_is_nothing_to_tell(tmp_path: Path) -> None:
    folder = begin_study(tmp_path)
    folder.put(folder.sheet("anna"), {"item-0001": ItemAnswer(value=NONE)})
    with pytest.raises(AnnotationError, match="no agreement to report"):
        again(folder)


def test_answers_to_another_sample_are_not_counted(tmp_path: Path) -> None:
    folder = begin_study(tmp_path)
    folder.save(folder.sheet("anna").model_copy(update={"study_digest": "0" * 64}))
    with pytest.raises(AnnotationError, match="other items"):
        again(folder)


def test_a_majority_decides_and_two_against_each_other_do_not(tmp_path: Path) -> None:
    folder = begin_study(tmp_path, annotators=("anna", "ben", "eva"))
    answers = answered(folder, ben={"item-0003": NONE})
    assert (final_label(answers, "item-0003"), disputed_items(answers)) == (None, ["item-0003"])
    folder.put(folder.sheet("eva"), {"item-0003": ItemAnswer(value=NONE)})
    settled = collect_answers(folder.study(), folder.keys(), folder.sheets())
    assert (final_label(settled, "item-0003"), result_of(settled).disputed) == (NONE, 1)


def test_what_people_answer_otherwise_is_left_out_of_the_next_release_by_an_erratum(tmp_path: Path) -> None:
    folder = begin_study(tmp_path)
    wrong = {"item-0001": NONE, "item-0002": NONE}
    settled = write_outcome(answered(folder, anna=wrong, ben={"item-0001": NONE}), folder=tmp_path / "demo")
    (erratum,) = read_errata(tmp_path / "demo" / ERRATA)
    key = folder.keys()["item-0001"]
    assert (settled.errata, settled.waiting) == ((erratum,), 1)
    assert (erratum.action, erratum.question_id, erratum.was) == ("exclude", key.question_id, key.text)
    assert [(vote.annotator, vote.value) for vote in erratum.votes] == [("anna", NONE), ("ben", NONE)]
    assert [one.study for one in read_studies(tmp_path / "demo" / STUDIES)] == ["check"]


def test_settling_again_adds_nothing_and_keeps_what_people_wrote(tmp_path: Path) -> None:
    folder, place = begin_study(tmp_path), tmp_path / "demo"
    write_outcome(answered(folder, anna={"item-0001": NONE}, ben={"item-0001": NONE}), folder=place)
    edited = (place / ERRATA).read_text(encoding="utf-8").replace("action: exclude", "action: note  # it can stay")
    (place / ERRATA).write_text(edited, encoding="utf-8")
    first, keys = folder.keys()["item-0001"], folder.keys().values()
    other = next(key for key in keys if (key.user_id, key.question_id) != (first.user_id, first.question_id))
    more = {"item-0001": NONE, other.item: NONE}
    settled = write_outcome(answered(folder, anna=more, ben=more), folder=place)
    assert len(settled.errata) == 1
    assert (place / ERRATA).read_text(encoding="utf-8").startswith(edited)
    assert [one.action for one in read_errata(place / ERRATA)] == ["note", "exclude"]
    assert write_outcome(answered(folder, anna=more, ben=more), folder=place).errata == ()


def test_an_opening_rated_low_is_noted_because_only_people_can_reword_it(tmp_path: Path) -> None:
    low = {"item-0004": "0"}
    settled = write_outcome(answered(begin_study(tmp_path, "exposure"), anna=low, ben=low), folder=tmp_path / "demo")
    assert [(one.action, one.session is not None) for one in settled.errata] == [("note", True)]


@pytest.fixture
def lived(tmp_path: Path) -> FinishedRun:
    return finish(run_of(tmp_path / "runs", HonestModel()))


def test_each_session_of_a_run_is_judged_for_every_variable_of_its_user(tmp_path: Path, lived: FinishedRun) -> None:
    users = source(*dataset().episodes, digest=dataset().digest)
    drawn, keys = study("integrity", run=lived, source=users)
    groups = {task.group: task for task in drawn.tasks}
    assert len(drawn.tasks) == 3 * len(groups) == 3 * 2 * 4
    assert [one.speaker for one in groups["group-0001"].passages[:2]] == ["user", "assistant"]
    assert {key.expected for key in keys} == {"0"}
    assert drawn.run == lived.manifest.run_id


def test_of_a_dialogue_only_values_that_it_tells_are_planted_and_no_more_than_their_share(lived: FinishedRun) -> None:
    users = source(*dataset().episodes, digest=dataset().digest)
    drawn, keys = study("integrity", run=lived, source=users, target=Target(size=1000, controls=0.25))
    planted = [key for key in keys if key.control]
    exposed = {key.item: users.episodes[0].periods[key.period].sessions[key.session or 0].exposed_states for key in planted}
    # Each of the two users tells six values, in four sessions of which each is judged for three variables.
    assert len(planted) == 3
    assert all(key.variable in exposed[key.item] for key in planted)
    assert drawn.sizing[-1].startswith("3 of 24 items are planted: 25 % of the 12 ")


def test_a_dialogue_is_judged_by_the_values_of_its_own_time() -> None:
    whole = scenario.episode()
    both = whole.periods[1].sessions[0]
    diet, goal = ({name: both.exposed_states[name]} for name in (scenario.DIET, scenario.GOAL))
    first = scenario.varied(both, exposed_states=diet)
    second = scenario.varied(both, exposed_states=goal, session_time=both.session_time + timedelta(days=9))
    period = scenario.varied(whole.periods[1], sessions=(first, second))
    episode = scenario.varied(whole, periods=(whole.periods[0], period, whole.periods[2]))
    turns = [
        DialogueTurn(
            user_id=episode.user_id, period=1, session=place, round=0, at=one.session_time, message=one.query, reply="Yes."
        )
        for place, one in enumerate(period.sessions)
    ]
    before, after = integrity_units([(episode, (turn,)) for turn in turns])
    shown = [
        {draft.variable: fact.value for draft in unit.drafts for fact in draft.facts if fact.name == VALUE}
        for unit in (before, after)
    ]
    assert shown == [{**whole.periods[0].state, **diet}, whole.periods[1].state]


def test_dialogues_of_another_dataset_are_refused_and_make_no_errata(tmp_path: Path, lived: FinishedRun) -> None:
    with pytest.raises(AnnotationError, match="give the release that it was run on"):
        dialogues(lived, source(*dataset().episodes, digest="0" * 64))
    users = source(*dataset().episodes, digest=dataset().digest)
    folder = begin_study(tmp_path, "integrity", run=lived, source=users)
    clash = {"item-0001": "2"}
    assert write_outcome(answered(folder, anna=clash, ben=clash), folder=tmp_path / "demo").errata == ()
