"""Defects planted into a finished user's facts: each is caught by the rule, gate or check that is there for it."""

import dagster as dg
import pytest

from assets.recipe.policies import GatePolicy
from tests.bench.planted_defects.facts import ALARMS, IN_RECORDS
from tests.bench.planted_defects.trial import Settings, Trial
from tests.support.applied_rules import apply_rules
from tests.support.coroutines import run
from tests.support.user_facts import facts_recipe, made_facts
from validation.user_facts.benchmark import USER_FACTS_VALIDATION, shares_of_facts_are_kept

RULES = USER_FACTS_VALIDATION.rules
SETTINGS = Settings(GatePolicy(), judge_error=0)


@pytest.mark.parametrize("kind", ALARMS)
def test_a_defect_raises_an_alarm_and_a_sound_user_raises_none(kind: str) -> None:
    assert run(ALARMS[kind](Trial(0, True, SETTINGS)))
    assert not run(ALARMS[kind](Trial(0, False, SETTINGS)))


@pytest.mark.parametrize("stage", RULES)
def test_nothing_is_wrong_with_a_user_as_it_was_made(stage: str) -> None:
    records = made_facts().records
    outcomes = apply_rules(RULES[stage], list(records[stage].values()), recipe=facts_recipe(), others=records)
    assert [outcome.rule.name for outcome in outcomes if not outcome.passed] == []


def test_every_rule_has_a_planted_defect() -> None:
    assert {(stage, rule.name) for stage, own in RULES.items() for rule in own} == set(IN_RECORDS)


@pytest.mark.parametrize(("share", "kept"), [(0.06, True), (0.02, False)])
def test_a_share_that_is_less_than_one_fact_is_a_warning(share: float, kept: bool) -> None:
    result = shares_of_facts_are_kept(facts_recipe(num_facts=18, dynamics={"ending": share}))
    assert isinstance(result, dg.AssetCheckResult)
    assert (result.passed, result.severity) == (kept, dg.AssetCheckSeverity.WARN)
    assert ("ending gets 1, and its share is 0.4" in str(result.description)) is not kept
