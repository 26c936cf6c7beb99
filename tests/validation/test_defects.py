"""Every kind of defect, alone in a clean set, is caught by what is meant for it: a rule of its stage, an expectation about
its column, or the reader of snapshots; and the clean set passes all of them.
"""

from pathlib import Path
from typing import Any

import pytest

from assets.amemgym.pipeline import AMEMGYM, STAGES
from assets.amemgym.tables import TABLES
from assets.engine.serialized_record import serialized_rows
from pipelines.resources.storage.snapshots import ParquetSnapshots, SnapshotError
from tests.support import scenario
from tests.support.applied_rules import apply_rules
from tests.support.small import START, excluding, schema_of, small_recipe, trajectory_of
from tests.validation.clean_set import clean_set
from tests.validation.defects import Defect
from tests.validation.defects_in_answers import IN_ANSWERS
from tests.validation.defects_in_schemas import IN_SCHEMAS
from tests.validation.defects_in_tables import IN_TABLES
from tests.validation.defects_in_trajectories import IN_TRAJECTORIES
from tests.validation.validated_tables import validate_tables
from validation.amemgym.benchmark import RULES
from validation.amemgym.tables import TABLE_EXPECTATIONS
from validation.expectations.expectation import ColumnExpectation

DEFECTS = {**IN_SCHEMAS, **IN_TRAJECTORIES, **IN_ANSWERS, **IN_TABLES}
CASES = [pytest.param(place, one, id=f"{place}: {one.kind}") for place, defects in DEFECTS.items() for one in defects]


def suite_of(table: str) -> list[ColumnExpectation]:
    return TABLE_EXPECTATIONS.suites(AMEMGYM, clean_set().recipe, items=3)[table]


def found_by_rules(stage: str, rows: list[Any], *, only: str = "") -> dict[str, list[str]]:
    """What each rule of the stage says, or those that begin with `only`."""
    clean = clean_set()
    rules = [rule for rule in RULES[stage] if rule.name.startswith(only)]
    outcomes = apply_rules(rules, rows, recipe=clean.recipe, others=clean.records)
    return {one.rule.name: [violation.message for violation in one.violations] for one in outcomes}


def found_in_columns(table: str, rows: list[Any], *, project: Path, only: str = "") -> dict[str, list[str]]:
    """The sample of each expectation about the table, or of those that begin with `only`."""
    clean = clean_set()
    own = [one for one in suite_of(table) if f"{one.column} {one.statement}".startswith(only)]
    tables = {**clean.tables, table: rows}
    lines = validate_tables(tables, {table: own}, AMEMGYM, TABLE_EXPECTATIONS, released=clean.released, project=project)
    return {f"{line.column} {line.expectation}": list(line.sample) for line in lines}


def found_by_reader(stage: str, rows: list[Any], folder: Path) -> dict[str, list[str]]:
    """Why the snapshot of these rows is refused."""
    (kind,) = [one.record for one in STAGES if one.name == stage]
    snapshots = ParquetSnapshots(folder)
    writer = snapshots.writer(stage, unit="demo")
    writer.add(stage, serialized_rows(enumerate(rows)))
    with pytest.raises(SnapshotError) as refused:
        snapshots.read(writer.finish([]), stage, record=kind)
    return {"reader": [str(refused.value)]}


@pytest.mark.parametrize(("place", "defect"), CASES)
def test_a_defect_is_caught(place: str, defect: Defect, tmp_path: Path) -> None:
    kind, _, name = place.partition(" ")
    if kind == "table":
        table = name
        found = found_in_columns(table, defect.spoil(list(clean_set().tables[table])), project=tmp_path, only=defect.rule)
    elif kind == "file":
        stage = name
        found = found_by_reader(stage, defect.spoil(clean_set().rows(stage)), tmp_path)
    else:
        stage = name
        found = found_by_rules(stage, defect.spoil(clean_set().rows(stage)), only=defect.rule)
    (messages,) = [messages for rule, messages in found.items() if rule.startswith(defect.rule)]
    assert [message for message in messages if defect.message in message]


@pytest.mark.parametrize("stage", RULES)
def test_a_clean_set_passes_every_rule(stage: str) -> None:
    assert found_by_rules(stage, clean_set().rows(stage)) == {rule.name: [] for rule in RULES[stage]}


@pytest.mark.parametrize("table", TABLES)
def test_in_a_clean_set_every_column_expectation_holds(table: str, tmp_path: Path) -> None:
    rows = list(clean_set().tables[table])
    assert found_in_columns(table, rows, project=tmp_path) == {f"{one.column} {one.statement}": [] for one in suite_of(table)}


def test_there_are_forty_kinds_and_more() -> None:
    assert len({one.kind for defects in DEFECTS.values() for one in defects}) >= 40


def test_every_rule_has_a_defect() -> None:
    rules = {(f"stage {stage}", rule.name) for stage in AMEMGYM.stage_names for rule in RULES[stage]}
    missing = rules - {(place, defect.rule) for place, defects in DEFECTS.items() for defect in defects}
    own_tests = {"golden_changes", "possible_states", "first_state_stated"}
    assert missing == {("stage state_trajectory", name) for name in own_tests}


def test_a_state_of_values_that_exclude_each_other_is_found() -> None:
    trajectory = trajectory_of([{"a": "x", "b": "x"}], ends=[START])
    schema = excluding(schema_of({"a": ["x", "y"], "b": ["x", "y"]}), {"a": "x", "b": "x"})
    others = {"state_schema": {schema.user_id: schema}, "user_profiles": {schema.user_id: scenario.profile()}}
    outcomes = apply_rules(RULES["state_trajectory"], [trajectory], recipe=small_recipe(), others=others)
    (outcome,) = [one for one in outcomes if one.rule.name == "possible_states"]
    assert [one.message for one in outcome.violations] == ["period 0 holds {'a': 'x', 'b': 'x'}, which exclude each other"]


def test_a_first_state_other_than_the_profile_says_is_found() -> None:
    trajectory = trajectory_of([{"a": "x", "b": "x"}], ends=[START])
    schema = excluding(schema_of({"a": ["x", "y"], "b": ["x", "y"]})).model_copy(update={"stated": {"a": "x", "b": "y"}})
    others = {"state_schema": {schema.user_id: schema}, "user_profiles": {schema.user_id: scenario.profile()}}
    outcomes = apply_rules(RULES["state_trajectory"], [trajectory], recipe=small_recipe(), others=others)
    (outcome,) = [one for one in outcomes if one.rule.name == "first_state_stated"]
    assert [one.message for one in outcome.violations] == ["b is 'x' at first, and the profile says 'y'"]


def test_the_share_of_changing_answers_is_held_against_the_recipe_s() -> None:
    clean = clean_set()
    recipe = clean.recipe.model_copy(update={"golden_changes": 0.0})
    outcomes = apply_rules(RULES["state_trajectory"], clean.rows("state_trajectory"), recipe=recipe, others=clean.records)
    (outcome,) = [one for one in outcomes if one.rule.name == "golden_changes"]
    assert [one.message.partition(", ")[2] for one in outcome.violations] == ["the recipe wants 0%"] * 3
