"""What the prompts of a run brought about, made anew from the run's own replies."""

import pytest

from assets.amemgym.pipeline import AMEMGYM
from pipelines.experiments.prompt_yields import Yields, reasons, yields_of
from tests.support.coroutines import run
from tests.support.scripted_model import Script, ScriptedModel
from tests.support.small import persona, small_recipe

QUESTION = "questions/draft"


def yields(script: Script) -> Yields:
    return run(yields_of(AMEMGYM, small_recipe(), [persona(0)], model=ScriptedModel(script)))


def test_a_user_who_passes_everything_is_finished_and_every_prompt_and_gate_is_counted() -> None:
    found = yields({})
    assert (found.begun, found.finished, dict(found.given_up)) == (1, 1, {})
    drafted = found.prompts[QUESTION]
    assert drafted.asked == 1
    assert drafted.at_once == 1
    assert drafted.after_objections == 0
    assert drafted.never == 0
    assert all(gate.texts == gate.at_once for gate in found.gates.values())
    assert {"exposure", "recovery"} <= found.gates.keys()


def test_what_is_never_accepted_is_counted_with_its_objections_and_ends_its_user() -> None:
    found = yields({QUESTION: ["I would rather not."]})
    drafted = found.prompts[QUESTION]
    assert drafted.asked == 1
    assert drafted.never == 1
    assert found.begun == 1
    assert found.finished == 0
    assert list(drafted.objections) == ["The answer is not a JSON object"]
    assert dict(found.given_up) == {f"{QUESTION}: unparsable": 1}


@pytest.mark.parametrize(
    ("objection", "told"),
    [
        (
            "That answer cannot be used. Query 2 spells the values ['a_dog'], as in 'My dog.'; let circumstances show them."
            "\nAnswer again with the complete, corrected JSON object.",
            ["Query … spells the values …, as in …"],
        ),
        (
            "Write.\nAn earlier answer could not be used. The choices ['low'] of 'x' are bare levels. Put facts.",
            ["The choices … of … are bare levels"],
        ),
        ("How are you?", []),
    ],
)
def test_reasons_leave_out_what_differs_from_reply_to_reply(objection: str, told: list[str]) -> None:
    assert reasons(objection) == told
