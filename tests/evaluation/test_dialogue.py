"""The simulated user is checked: what gives a tracked value away is asked for again, and what remains is counted."""

from collections.abc import Callable

import pytest

from assets.llm.ports import ModelRequest
from assets.recipe.amemgym import AMemGymRecipe
from pipelines.evaluation.amemgym.dialogue import SimulatedMessage, SimulatedUser, breach, next_message
from pipelines.evaluation.metrics.results import fidelity_of
from prompts.template import Message
from tests.evaluation.scripted_evaluation import HonestModel, episode
from tests.support.coroutines import run
from tests.support.scenario import CHOICES, DIET, EVENINGS, GOAL

EPISODE = episode()
SESSION = EPISODE.periods[2].sessions[0]
HISTORY = [Message("user", SESSION.query), Message("assistant", "Which evenings?")]


def message_of(model: HonestModel) -> SimulatedMessage:
    """The next message in the session of period 2."""
    recipe = AMemGymRecipe(variant="evaluation", gates={"max_reasks": 0})  # pyright: ignore[reportArgumentType]
    return run(next_message(SimulatedUser(EPISODE, recipe.asking, "English", model), SESSION, HISTORY, period=2))


def revealing(*values: str) -> Callable[[ModelRequest], object]:
    """A check that finds these diets in turn, then nothing."""
    left = list(values)

    def check(_: ModelRequest) -> object:
        return {"told": [{"variable": DIET, "value": left.pop(0)}] if left else []}

    return check


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        (EVENINGS, "Tue | Thu", ""),
        (EVENINGS, "{none}", f"stale {EVENINGS}"),
        (DIET, "vegetarian", f"reveals {DIET}"),
        (DIET, "eats everything", f"stale {DIET}"),
        (GOAL, CHOICES[GOAL][2], f"contradicts {GOAL}"),
    ],
)
def test_what_a_message_may_not_tell_has_a_name(name: str, value: str, expected: str) -> None:
    assert breach(EPISODE, SESSION, name, value, period=2) == expected


def test_a_clean_message_is_sent_as_it_is() -> None:
    assert message_of(HonestModel()) == SimulatedMessage("And what else could I try?", 1, ())


def test_a_telling_message_is_asked_for_again_with_what_is_wrong_with_it() -> None:
    model = HonestModel({"evaluation/check_turn": revealing("vegetarian")})

    assert message_of(model) == SimulatedMessage("And what else could I try?", 2, ())
    assert f"reveals {DIET}" in model.asked("evaluation/follow_up")[1].messages[-1].content


def test_the_check_sees_the_opening_message_and_what_was_said_last() -> None:
    model = HonestModel()
    message_of(model)
    (request,) = model.asked("evaluation/check_turn")
    shown = request.messages[-1].content
    assert f"<opening_message>\n{SESSION.query}\n</opening_message>" in shown
    assert "<said_before>\nassistant: Which evenings?\n</said_before>" in shown
    both = [model.asked(name)[0].messages[-1].content for name in ("evaluation/follow_up", "evaluation/check_turn")]
    assert all("<tracked_variables>" in text for text in both)


def test_what_still_tells_after_three_tries_is_sent_and_counted() -> None:
    found = message_of(HonestModel({"evaluation/check_turn": revealing(*["vegetarian"] * 3)}))

    assert (found.tries, found.breaches) == (3, (f"reveals {DIET}",))


def test_a_check_that_cannot_be_read_does_not_pass_for_a_clean_one() -> None:
    assert message_of(HonestModel({"evaluation/check_turn": "hm"})).breaches == ("unchecked",)


def test_an_empty_message_is_never_sent() -> None:
    assert message_of(HonestModel({"evaluation/follow_up": ""})).message == "Please go on."


def test_fidelity_does_not_exist_without_a_message_of_the_simulated_user() -> None:
    assert fidelity_of([]).score is None
