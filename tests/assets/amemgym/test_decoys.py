"""Judges see texts under planted labels, of which it is known whether they are right."""

import json
from collections import Counter

from assets.amemgym.answers.stage import write_answers
from assets.amemgym.audits.stage import audit_user
from assets.llm.ports import ModelRequest
from tests.assets.amemgym.audited import CHECK, CHOOSE, EXPOSURE, answered, audited, recipe, sessions
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import material
from tests.support.scripted_model import ScriptedModel


def test_an_honest_judge_accepts_right_labels_and_no_wrong_one() -> None:
    audit, _ = audited(decoys=12)
    assert {(decoy.gate, decoy.right, decoy.accepted) for decoy in audit.decoys} == {
        (gate, right, right) for gate in ("exposure", "recovery", "choice") for right in (True, False)
    }


def test_a_judge_that_notices_no_change_is_found_out_by_old_values() -> None:
    def stuck(request: ModelRequest) -> object:
        return {name: scenario.STATES[0][name] for name in material(request, "state_choices")}

    audit, _ = audited({EXPOSURE: [stuck]}, decoys=12)
    fooled = {decoy.kind for decoy in audit.decoys if decoy.gate == "exposure" and decoy.accepted and not decoy.right}
    assert "old_value" in fooled


def test_a_wrong_label_is_never_the_one_that_the_text_was_accepted_under() -> None:
    audit, _ = audited(decoys=50)
    for decoy in audit.decoys:
        if decoy.kind != "other_question":
            assert (json.loads(decoy.text) == decoy.label) == decoy.right, decoy


def test_an_old_value_is_the_one_before_the_sessions_period() -> None:
    audit, _ = audited(decoys=50)
    old = [decoy for decoy in audit.decoys if decoy.kind == "old_value"]
    assert old
    for decoy in old:
        period = int(decoy.item_id[1:3])
        changed = [name for name, value in json.loads(decoy.text).items() if decoy.label[name] != value]
        assert [decoy.label[name] for name in changed] == [scenario.STATES[period - 1][name] for name in changed]


def test_wrong_labels_are_as_many_as_the_recipe_says_and_right_ones_half_as_many() -> None:
    audit, _ = audited(decoys=3)
    counts = Counter((decoy.gate, decoy.right) for decoy in audit.decoys)
    assert counts == {
        (gate, right): 2 if right else 3 for gate in ("exposure", "recovery", "choice") for right in (True, False)
    }


def test_without_the_reverse_gate_it_has_no_decoys() -> None:
    parts = (scenario.profile(), scenario.schema(), scenario.trajectory(), sessions(), answered())
    paper = scenario.recipe(gates={"policy": "paper"}, min_variants_per_question=4)
    audit = run(audit_user(*parts, recipe=paper, model=ScriptedModel()))
    assert {decoy.gate for decoy in audit.decoys} == {"exposure", "recovery"}


def test_the_readings_of_decoys_are_samples_of_their_own() -> None:
    audit, model = audited(decoys=50, pairs=0)
    asked = [(request.sample, request.messages) for name in (EXPOSURE, CHECK, CHOOSE) for request in model.asked(name)]
    assert len(asked) == len(set(asked)) == sum(decoy.readings for decoy in audit.decoys)
    gates = ScriptedModel()
    run(write_answers(scenario.schema(), scenario.trajectory(), recipe=recipe(), model=gates))
    assert not {sample for sample, _ in asked} & {request.sample for request in gates.requests}
