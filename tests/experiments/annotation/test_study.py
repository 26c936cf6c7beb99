"""What a study is drawn from, how large it is, and what its annotators cannot see."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.engine.seeded_random import SeededRandom
from assets.records.annotation import StudyKind
from pipelines.experiments.annotation.records import AnnotationError, AnswerSheet, Study
from pipelines.experiments.annotation.spreadsheet import to_csv
from pipelines.experiments.annotation.study import PAPER_SIZES, Target, items_for, paper_target, sample_size, sample_strata
from pipelines.experiments.annotation.units import NONE
from tests.experiments.annotation.making import source, study
from tests.support.scenario import USER_ID


def sheet(of: Study, name: str = "anna") -> AnswerSheet:
    return AnswerSheet(study=of.name, study_digest=of.sha256(), annotator=name)


def test_the_sample_grows_with_precision_and_the_arithmetic_is_told() -> None:
    plan = sample_size(Target(expected=0.95, half_width=0.03, controls=0.0), population=100_000)
    assert plan.units == 203
    assert "1.96^2 x 0.95 x 0.05 / 0.03^2 = 202.7 items" in plan.sentences[0]
    assert sample_size(Target(half_width=0.01, controls=0.0), population=100_000).units == 1793


def test_a_small_release_needs_fewer_and_planted_items_come_on_top() -> None:
    assert sample_size(Target(controls=0.0), population=51).units == 41
    assert sample_size(Target(controls=0.1), population=51).units == 46
    assert sample_size(Target(controls=0.0), population=100, items_per_unit=20).units == 10
    assert sample_size(Target(size=1), population=5).sentences == ("1 item is asked for; of 5, 1 is taken.",)
    assert sample_size(Target(controls=0.0), population=1).sentences[2].endswith("so 1 of 1 item is taken.")


def test_the_papers_samples_are_a_preset() -> None:
    assert [paper_target(kind).size for kind in PAPER_SIZES] == [200, 40, 100]
    assert sample_size(paper_target("exposure"), population=500).units == 200


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=60), st.integers(1, 80), st.integers(0, 5))
def test_each_stratum_gives_its_share_and_the_same_seed_the_same_sample(units: list[str], size: int, seed: int) -> None:
    places = list(enumerate(units))
    taken = sample_strata(places, size=size, stratum=lambda unit: unit[1], rng=SeededRandom(seed))
    assert taken == sample_strata(places, size=size, stratum=lambda unit: unit[1], rng=SeededRandom(seed))
    assert len(taken) == len(set(taken)) == min(size, len(units))
    for name in set(units):
        share = len(taken) * units.count(name) / len(units)
        assert abs(sum(stratum == name for _, stratum in taken) - share) < 1


def test_every_exposed_value_is_an_item_with_the_value_before() -> None:
    drawn, keys = study("exposure")
    assert len(drawn.tasks) == 2 * 6
    assert {key.expected for key in keys} == {"2"}
    changed = next(key for key in keys if key.period == 2)
    facts = {fact.name: fact.value for task in drawn.tasks if task.item == changed.item for fact in task.facts}
    assert (facts["value to judge"], facts["value before"]) == ("Tue | Thu", "{none}")


def test_a_question_is_asked_once_for_each_situation_lived_through() -> None:
    drawn, keys = study("truth")
    assert len(drawn.tasks) == 2 * (2 + 3)
    by_item = {task.item: task for task in drawn.tasks}
    golden = [next(one.text for one in by_item[key.item].labels if one.value == key.expected) for key in keys]
    assert any(text.startswith("Lentils and rice") for text in golden)
    assert all(task.labels[-1].value == NONE for task in drawn.tasks)


def test_planted_items_show_another_value_and_the_key_knows_them() -> None:
    drawn, keys = study("exposure", target=Target(size=1000, controls=0.5))
    planted = [key for key in keys if key.control]
    assert len(planted) == 6
    assert {key.expected for key in planted} == {"0"}
    shown_facts = {task.item: {fact.name: fact.value for fact in task.facts} for task in drawn.tasks}
    truth = {key.item: value for key in planted for value in [_true_value(key.variable, key.period)]}
    assert all(shown_facts[item]["value to judge"] != value for item, value in truth.items())


def _true_value(variable: str, period: int) -> str:
    return source().episodes[0].periods[period].state[variable]


@pytest.mark.parametrize("kind", ["exposure", "truth"])
def test_a_sheet_tells_neither_key_nor_source(kind: StudyKind) -> None:
    drawn, keys = study(kind, target=Target(size=1000, controls=0.3))
    page = to_csv(drawn, sheet(drawn))
    secrets = [USER_ID, "5f0c-ada-003", "demo 0.1.0", "d" * 64, "expected", "control", "question_id", "experience", "q01"]
    assert [word for word in secrets if word in page] == []
    assert page == to_csv(study(kind, target=Target(size=1000, controls=0.3))[0], sheet(drawn))
    assert len(keys) == len(drawn.tasks)


def test_each_annotator_has_an_order_of_their_own_and_always_the_same() -> None:
    drawn, _ = study("truth")
    orders = [
        [(task.item, [label.value for label in task.labels]) for task in items_for(drawn, sheet(drawn, name))] for name in "ab"
    ]
    assert orders[0] != orders[1]
    assert sorted(item for item, _ in orders[0]) == sorted(item for item, _ in orders[1])
    assert orders[0] == [(task.item, [label.value for label in task.labels]) for task in items_for(drawn, sheet(drawn, "a"))]


@pytest.mark.parametrize(
    ("names", "message"), [(("anna",), "two or more"), (("anna", "anna"), "two or more"), (("anna", "../ben"), "cannot name")]
)
def test_annotators_are_two_with_names_that_can_be_files(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(AnnotationError, match=message):
        study("truth", annotators=names)


@pytest.mark.parametrize("name", ["First", "a.b", "", "a" * 41, "../up"])
def test_a_study_has_a_name_that_can_be_a_folder_everywhere(name: str) -> None:
    with pytest.raises(AnnotationError, match="cannot name a study; use up to 40 small letters"):
        study("truth", name=name)


def test_a_study_of_dialogues_needs_a_run() -> None:
    with pytest.raises(AnnotationError, match="--run"):
        study("integrity")
