"""How rules are applied, and what they say of a set."""

import pytest

from assets.amemgym.records.persona import Persona
from assets.amemgym.records.user import UserRecord
from assets.recipe.amemgym import AMemGymRecipe
from assets.text.words import alike, spells
from tests.support import scenario
from tests.support.applied_rules import apply_rules
from tests.support.small import persona
from tests.validation.clean_set import clean_set
from tests.validation.defects import at
from validation.amemgym.benchmark import RULES
from validation.rules import Rule

RECIPE = scenario.recipe()


def ages_are_even(record: Persona, _: AMemGymRecipe) -> list[str]:
    return ["is odd"] if record.age % 2 else []


def test_all_users_are_counted_and_each_violation_names_its_own() -> None:
    rule = Rule("even_age", "Ages are even.", ages_are_even)
    (outcome,) = apply_rules([rule], [persona(1), persona(2), persona(3)], recipe=RECIPE)
    assert (outcome.items, outcome.passed) == (3, False)
    assert [violation.item_id for violation in outcome.violations] == [persona(1).user_id, persona(3).user_id]


def test_a_rule_over_nobody_passes() -> None:
    for outcome in apply_rules(RULES["personas"], [], recipe=RECIPE):
        assert (outcome.items, outcome.passed) == (0, True)


def test_a_user_whom_the_stage_beside_does_not_know_is_a_violation() -> None:
    def same_age(record: Persona, other: Persona, _: AMemGymRecipe) -> list[str]:
        return [] if record.age == other.age else ["is older"]

    rule = Rule("same_age", "Nobody ages.", same_age, reads=("personas",))
    known: dict[str, dict[str, UserRecord]] = {"personas": {persona(1).user_id: persona(1)}}
    (outcome,) = apply_rules([rule], [persona(1), persona(2)], recipe=RECIPE, others=known)
    assert [(one.item_id, one.message) for one in outcome.violations] == [(persona(2).user_id, "has no record of personas")]


def test_a_record_too_broken_to_be_judged_hides_no_other_rule() -> None:
    rows = at("periods", 0, state={})(clean_set().rows("state_trajectory"))
    found = apply_rules(RULES["state_trajectory"], rows, recipe=clean_set().recipe, others=clean_set().records)
    assert {
        one.rule.name: one.violations[0].message for one in found if one.rule.name in ("legal_states", "balanced_values")
    } == {
        "legal_states": f"the state of period 0 lacks {sorted(rows[1 - 1].periods[1].state)}",
        "balanced_values": f"cannot be judged, since it lacks {next(iter(rows[0].periods[1].state))!r}",
    }


@pytest.mark.parametrize("stage", RULES)
def test_rules_have_names_of_their_own_and_a_sentence(stage: str) -> None:
    assert len({rule.name for rule in RULES[stage]}) == len(RULES[stage])
    assert all(rule.truth.endswith(".") for rule in RULES[stage])


@pytest.mark.parametrize("text", ["先热身。再慢跑。", "¿Correr? ¡Sí! Hoy.", "Run 2.5 km, e.g. today. Then rest."])
def test_sentences_of_any_script_are_counted(text: str) -> None:
    rows = at("questions", 0, "choices", 0, answer=text)(clean_set().rows("answers"))
    found = apply_rules(RULES["answers"], rows, recipe=clean_set().recipe, others=clean_set().records)
    assert next(one.passed for one in found if one.rule.name == "a_few_sentences")


def test_words_are_spelled_in_any_case_and_spacing_but_as_a_whole() -> None:
    assert spells("I moved to a Very  late\nshift.", "very_late")
    assert not spells("This is every latecomer's dream.", "very_late")


def test_texts_are_alike_when_they_read_the_same() -> None:
    assert list(alike(["Home type", "diet", "home_type", "DIET ", "pet"])) == [
        ["Home type", "home_type"],
        ["diet", "DIET "],
    ]
