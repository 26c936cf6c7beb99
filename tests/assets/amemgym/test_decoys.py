"""Judges see texts under planted labels, of which it is known whether they are right."""

from collections import Counter

import pytest

from assets.amemgym.answers.stage import write_answers
from assets.amemgym.audits.stage import audit_user
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerSet
from assets.amemgym.records.state import SessionSet, StateSchema, StateTrajectory
from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import ModelRequest
from assets.recipe.amemgym import AMemGymRecipe
from tests.assets.amemgym.audited import CHECK, CHOOSE, EXPOSURE, answered, audited, recipe, sessions
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import decoded, material, reading
from tests.support.scripted_model import ScriptedModel


def test_an_honest_judge_accepts_right_labels_and_no_wrong_one() -> None:
    found = [{(one.gate, one.right, one.accepted) for one in audited(decoys=12, seed=seed)[0].decoys} for seed in range(4)]
    assert {one for own in found for one in own} == {
        (gate, right, right) for gate in ("summary", "event", "exposure", "recovery and choice") for right in (True, False)
    }


def test_a_judge_that_notices_no_change_is_found_out_by_old_values() -> None:
    def stuck(request: ModelRequest) -> object:
        return reading({name: scenario.STATES[0][name] for name in material(request, "state_choices")})

    audit, _ = audited({EXPOSURE: [stuck]}, decoys=12)
    fooled = {decoy.kind for decoy in audit.decoys if decoy.gate == "exposure" and decoy.accepted and not decoy.right}
    assert "old_value" in fooled


def test_a_wrong_label_is_never_the_one_that_the_text_was_accepted_under() -> None:
    audit, _ = audited(decoys=50)
    for decoy in audit.decoys:
        if decoy.kind != "other_question" and decoy.gate != "summary":
            assert (decoded(decoy.text) == decoy.label) == decoy.right, decoy


def test_a_wrong_summary_tells_what_does_not_hold_at_the_end_of_its_period() -> None:
    audits = [audited(decoys=20, seed=seed)[0] for seed in range(4)]
    wrong = [decoy for audit in audits for decoy in audit.decoys if decoy.gate == "summary" and not decoy.right]
    assert wrong
    assert not [one for one in wrong if decoded(one.text).items() <= scenario.STATES[int(one.item_id[1:])].items()]


def test_an_old_value_is_the_one_before_the_sessions_period() -> None:
    audit, _ = audited(decoys=20)
    old = [decoy for decoy in audit.decoys if decoy.kind == "old_value"]
    assert old
    for decoy in old:
        period = int(decoy.item_id[1:3])
        changed = [name for name, value in decoded(decoy.text).items() if decoy.label[name] != value]
        assert [decoy.label[name] for name in changed] == [scenario.STATES[period - 1][name] for name in changed]


def test_wrong_items_are_as_many_as_the_recipe_says_with_all_their_texts_and_right_ones_half_as_many() -> None:
    audit, _ = audited(decoys=3)
    texts = recipe().gates.texts
    for gate in ("summary", "event", "exposure", "recovery and choice"):
        counts = Counter((decoy.item, decoy.right) for decoy in audit.decoys if decoy.gate == gate)
        assert counts == {**{(item, False): texts for item in range(3)}, (3, True): 1, (4, True): 1}


def test_a_right_item_is_of_another_period_or_question_than_the_wrong_ones_so_that_they_share_calls() -> None:
    one_text = {"max_refinements": 0, "max_redrafts": 0}
    for seed in range(8):
        policy = scenario.recipe(gates=one_text, audit={"decoys": 1}, min_variants_per_question=4, seed=seed)
        audit = run(audit_user(*parts(), recipe=policy, model=ScriptedModel()))
        for gate in ("exposure", "recovery and choice"):
            of = {decoy.right: decoy.item_id[:3] for decoy in audit.decoys if decoy.gate == gate}
            assert of[True] != of[False]


def guessing(request: ModelRequest) -> object:
    """One of the options for every answer or situation, each as likely."""
    rng = SeededRandom("guess", request.sample, *(message.content for message in request.messages))
    asked, offered = ("answers", "situations") if request.labels.prompt == CHECK else ("situations", "answers")
    chosen: dict[str, int] = {}
    for case in material(request, "cases").values():
        for key in case[asked]:
            chosen[key] = rng.integer_below(len(case[offered]) + 1)
    return chosen


@pytest.mark.slow  # six hundred items are read
def test_the_false_accepts_of_a_judge_that_guesses_are_those_that_chance_foretells() -> None:
    wrong: list[bool] = []
    for seed in range(6):
        audit = run(audit_user(*parts(), recipe=guessed(seed), model=ScriptedModel({CHECK: [guessing], CHOOSE: [guessing]})))
        items: dict[int, bool] = {}
        for decoy in audit.decoys:
            if decoy.gate == "recovery and choice" and not decoy.right:
                items[decoy.item] = items.get(decoy.item, False) or decoy.accepted
        wrong += items.values()
    # Of four options and "none"; in every second text the right one is taken out.
    chance = (((1 / 5) ** 2 + (1 / 4) ** 2) / 2) ** 0.5
    foretold = 1 - (1 - chance**2) ** guessed(0).gates.texts
    assert len(wrong) == 6 * 100
    assert abs(sum(wrong) / len(wrong) - foretold) < 4 * (foretold * (1 - foretold) / len(wrong)) ** 0.5


def guessed(seed: int) -> AMemGymRecipe:
    gates = {"votes": 1, "votes_needed": 1, "unexposed": False, "consistency": False}
    audit = {"decoys": 100, "pairs": 0, "guesses": 0}
    return scenario.recipe(gates=gates, audit=audit, min_variants_per_question=4, sample=1000 * seed)


def parts() -> tuple[UserProfile, StateSchema, StateTrajectory, SessionSet, AnswerSet]:
    return scenario.profile(), scenario.schema(), scenario.trajectory(), sessions(), answered()


def test_without_the_reverse_gate_it_has_no_decoys() -> None:
    paper = scenario.recipe(gates={"policy": "paper"}, audit={"decoys": 1}, min_variants_per_question=4)
    audit = run(audit_user(*parts(), recipe=paper, model=ScriptedModel()))
    assert {decoy.gate for decoy in audit.decoys} == {"exposure", "recovery"}


def test_the_readings_of_decoys_are_samples_of_their_own() -> None:
    audit, model = audited(decoys=5, pairs=0)
    asked = [(request.sample, request.messages) for name in (EXPOSURE, CHECK, CHOOSE) for request in model.asked(name)]
    alone = [decoy for decoy in audit.decoys if decoy.gate not in ("summary", "event")]  # stories share their calls
    assert len(asked) == len(set(asked)) == sum(sum(decoy.readings.values()) for decoy in alone)
    gates = ScriptedModel()
    run(write_answers(scenario.schema(), scenario.trajectory(), recipe=recipe(), model=gates))
    assert not {sample for sample, _ in asked} & {request.sample for request in gates.requests}
