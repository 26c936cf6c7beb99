"""Judges read summaries and events in the user's story; what they refuse goes back with their reason."""

from typing import Any

import pytest

from assets.amemgym.events import elaborate_events
from assets.amemgym.records.state import EventSet, StateTrajectory
from assets.amemgym.state_trajectory.story_reading import CONTRADICTION, SUBJECT
from assets.llm.ports import ModelRequest
from assets.records.base import ItemFailed
from tests.assets.amemgym.evolved_states import FIRST, INITIAL, SECOND, STORY, THIRD, UPDATE, evolved
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import honest, material, numbered_choices
from tests.support.scenario import DIET, EVENINGS, GOAL
from tests.support.scripted_model import Reply, ScriptedModel

CHECK, REFINE, RETELL = "state_trajectory/check", "events/refine", "state_trajectory/retell"
ONE_VOTE = {"votes": 1, "votes_needed": 1, "max_refinements": 1, "max_redrafts": 1}


def judged(number: int, tells: dict[str, str], *, because: str = "") -> Reply:
    """Honest readings, but of the text with this number where the request has it judged."""

    def answer(request: ModelRequest) -> object:
        found: Any = honest(request)
        _, numbers = numbered_choices(request)
        if tells and str(number) in found["readings"]:
            found["readings"][str(number)] = [numbers[pair] for pair in tells.items()]
        reasons = {str(number): because} if because and number in material(request, "judged") else {}
        return {**found, "contradictions": reasons}

    return answer


def events_with(*readings: Reply, **gates: Any) -> tuple[EventSet, ScriptedModel]:
    model = ScriptedModel({CHECK: readings})
    recipe = scenario.recipe(gates={**ONE_VOTE, **gates})
    parts = (scenario.profile(), scenario.schema(), scenario.trajectory())
    return run(elaborate_events(*parts, recipe=recipe, model=model)), model


def test_an_event_out_of_which_its_values_are_read_is_kept() -> None:
    record, model = events_with(honest)
    assert [vote.accepted for vote in record.gate_records] == [True, True, True]
    assert [vote.target for vote in record.gate_records] == [vote.reading for vote in record.gate_records]
    assert model.asked(REFINE) == []


@pytest.mark.parametrize(
    "tells",
    [{GOAL: FIRST[GOAL]}, {DIET: FIRST[DIET]}, {DIET: SECOND[DIET], EVENINGS: THIRD[EVENINGS]}],
    ids=["another variable", "the old value", "a change that did not happen"],
)
def test_an_event_that_tells_something_else_is_told_anew(tells: dict[str, str]) -> None:
    record, model = events_with(judged(1, tells), honest)
    assert material(model.asked(REFINE)[0], "reading") == tells
    assert [(vote.item_id, vote.refinement) for vote in record.gate_records if vote.accepted][:2] == [
        ("e01-01", 1),
        ("e01-02", 0),
    ]


def test_an_event_may_tell_what_is_as_before() -> None:
    record, model = events_with(judged(1, {DIET: SECOND[DIET], EVENINGS: FIRST[EVENINGS]}))
    assert record.gate_records[0].reading == record.gate_records[0].target == {DIET: SECOND[DIET]}
    assert model.asked(REFINE) == []


def test_a_reading_of_two_choices_of_one_variable_is_asked_for_again() -> None:
    def both(request: ModelRequest) -> object:
        found: Any = honest(request)
        choices, numbers = numbered_choices(request)
        found["readings"]["1"] = [numbers[DIET, choice] for choice in choices[DIET]]
        return found

    _, model = events_with(both, honest)
    (objection,) = model.objections(CHECK)
    assert f"Text 1 tells one choice of {DIET!r} at most" in objection


def test_an_event_goes_back_with_what_it_contradicts() -> None:
    _, model = events_with(judged(2, {}, because="She gave up running for good in text 1."), honest)
    assert material(model.asked(REFINE)[0], "reading")[CONTRADICTION] == "She gave up running for good in text 1."


def test_a_user_whose_event_never_passes_is_given_up_with_the_votes() -> None:
    with pytest.raises(ItemFailed, match="No draft of e01-01 passed the event gate in 4 readings") as given_up:
        events_with(judged(1, {DIET: FIRST[DIET]}))
    assert {vote.gate for vote in given_up.value.gate_records} == {"event"}


def test_events_of_many_periods_share_a_call_that_shows_the_story_so_far() -> None:
    _, model = events_with(judged(2, {DIET: FIRST[DIET]}), honest)
    first, again = model.asked(CHECK)
    assert material(first, "judged") == [1, 2, 3]
    assert material(again, "judged") == [2]
    assert list(material(again, "texts")) == ["1", "2"]


def test_as_many_texts_share_a_call_as_the_recipe_says() -> None:
    _, model = events_with(honest, texts_per_call=1)
    assert [len(material(request, "judged")) for request in model.asked(CHECK)] == [2, 1]


def test_nobody_reads_events_and_summaries_under_the_papers_policy() -> None:
    model = ScriptedModel()
    parts = (scenario.profile(), scenario.schema(), scenario.trajectory())
    run(elaborate_events(*parts, recipe=scenario.recipe(gates={"policy": "paper"}), model=model))
    assert model.asked(CHECK) == []


def summed_up(*readings: Reply) -> tuple[StateTrajectory, ScriptedModel]:
    return evolved({INITIAL: [FIRST], UPDATE: STORY, CHECK: readings}, recipe=scenario.recipe(gates=ONE_VOTE))


def test_a_summary_may_tell_what_holds_and_nothing_else() -> None:
    trajectory, _ = summed_up(judged(1, {DIET: SECOND[DIET], EVENINGS: SECOND[EVENINGS]}))
    assert [vote.reading for vote in trajectory.gate_records] == [{}, {}]
    trajectory, model = summed_up(judged(1, {DIET: FIRST[DIET], GOAL: SECOND[GOAL]}), honest)
    (asked,) = model.asked(RETELL)
    assert material(asked, "reading") == {DIET: FIRST[DIET]}
    assert material(asked, "summary") == "A warning at the clinic."
    assert trajectory.periods[1].summary == "Life went on after all."
    assert trajectory.periods[1].changed == scenario.trajectory().periods[1].changed


def test_a_summary_has_to_tell_of_the_changes_of_its_own_period() -> None:
    def of_the_other(request: ModelRequest) -> object:
        """The first summary sums up the period that changes the evenings, which is the second."""
        found: Any = honest(request)
        _, numbers = numbered_choices(request)
        evenings = numbers[EVENINGS, THIRD[EVENINGS]]
        periods: dict[str, list[int]] = material(request, "periods")
        found["periods"]["1"] = [int(number) for number, changes in periods.items() if changes == [evenings]]
        return found

    trajectory, model = summed_up(of_the_other, honest)
    (asked,) = model.asked(RETELL)
    assert material(asked, "reading") == {SUBJECT: "none of the changes of its period"}
    assert [vote.accepted for vote in trajectory.gate_records] == [False, True, True]
