"""Rules and column expectations as Dagster shows them: per partition, with counts or with samples."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.amemgym.personas.stage import PERSONAS
from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.records.persona import Persona
from assets.amemgym.tables import TABLES
from assets.engine.ports import VALUES
from assets.engine.provenance import Provenance
from assets.engine.serialized_record import serialized_rows
from assets.records.report import ColumnLine
from pipelines.resources.storage.io_manager import AssetValueIOManager
from tests.support.run_contexts import provenance, run_context
from tests.support.scripted_model import ScriptedModel
from tests.support.small import persona, small_recipe
from validation.amemgym.benchmark import AMEMGYM_VALIDATION
from validation.checks import SAMPLE_SIZE, rules_check_result, stage_checks
from validation.report.checks import columns_result
from validation.rules import Rule, RuleOutcome, Violation


def run_with(personas: Sequence[Persona], folder: Path, *, damaged: bool = False) -> dg.ExecuteInProcessResult:
    """Run of a sample, its checks, and an asset that depends on it. `damaged`: its file is cut off before."""
    shop = run_context(folder, ScriptedModel())

    @dg.asset(key=AMEMGYM.asset_key("personas"), partitions_def=AMEMGYM.partitions.by_unit, io_manager_key=VALUES)
    def sampled() -> Provenance:
        writer = shop.snapshots.writer("personas", unit="demo")
        writer.add("personas", serialized_rows(enumerate(personas)))
        ref = writer.finish([])
        for part in (folder.rglob(Path(one.path).name) for one in ref.parts if damaged):
            (path,) = part
            path.write_bytes(path.read_bytes()[:-30])
        return provenance(small_recipe(variant="demo", exclude_ids=("excluded",)), {"personas": ref})

    @dg.asset(name="next_stage", key_prefix="amemgym", partitions_def=AMEMGYM.partitions.by_unit)
    def next_stage(personas: Provenance) -> None: ...

    return dg.materialize(
        [sampled, next_stage, stage_checks(PERSONAS, AMEMGYM_VALIDATION)],
        partition_key="demo",
        resources={"run_context": shop, VALUES: AssetValueIOManager(folder / "values", shop.snapshots)},
        raise_on_error=False,
    )


def checks_of(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    return {check.check_name: check for check in result.get_asset_check_evaluations()}


def values(check: dg.AssetCheckEvaluation | dg.AssetCheckResult) -> dict[str, Any]:
    return {name: getattr(one, "value", one) for name, one in (check.metadata or {}).items()}


def test_rules_that_hold_say_for_how_many_users_and_in_which_partition(tmp_path: Path) -> None:
    result = run_with([persona(1), persona(2)], tmp_path)
    assert result.success
    for check in checks_of(result).values():
        assert (check.passed, check.partition, check.description) == (True, "demo", "Holds for all 2 users.")
        assert values(check) == {"looked_at": "personas", "users": 2, "share_without_fault": 1.0}


def test_a_damaged_snapshot_ends_the_checks_with_one_sentence(tmp_path: Path) -> None:
    [failed] = [event for event in run_with([persona(1)], tmp_path, damaged=True).all_events if event.is_step_failure]
    given = failed.step_failure_data.user_failure_data

    assert given is not None
    assert "materialize 'personas' of 'demo' again, or in a terminal: amemgym generate demo" in (given.description or "")


def test_a_blocking_rule_that_is_broken_stops_what_depends_on_the_asset(tmp_path: Path) -> None:
    result = run_with([persona(1), persona(2), persona(1)], tmp_path)
    check = checks_of(result)["one_row_per_user"]
    assert not result.success
    assert (check.passed, check.severity, check.partition) == (False, dg.AssetCheckSeverity.ERROR, "demo")
    assert check.description == (
        f"Every user is sampled once. Not so for 1 of 3 users; the first is {persona(1).user_id}: has 2 rows"
    )
    assert (values(check)["violations"], values(check)["share_without_fault"]) == (1, pytest.approx(2 / 3))
    assert values(check)["example"] == f"{persona(1).user_id}: has 2 rows"
    assert "has 2 rows" in values(check)["sample"]
    assert [event.step_key for event in result.get_step_success_events() if event.step_key == "amemgym__next_stage"] == []


def test_a_rule_that_does_not_block_only_warns(tmp_path: Path) -> None:
    twin = persona(1).model_copy(update={"user_id": "twin"})
    result = run_with([persona(1), twin], tmp_path)
    check = checks_of(result)["personas_differ"]
    assert result.success
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)


def test_samples_are_bounded_and_the_count_is_not(tmp_path: Path) -> None:
    silent = [persona(number, persona="", professional_persona=None) for number in range(SAMPLE_SIZE + 5)]
    check = checks_of(run_with(silent, tmp_path))["personas_tell_something"]
    assert values(check)["violations"] == SAMPLE_SIZE + 5
    assert values(check)["sample"].count("has no persona text") == SAMPLE_SIZE


DOCS = Path("reports/demo/gx/uncommitted/data_docs/local_site/index.html")


def line(**changes: Any) -> ColumnLine:
    fields: dict[str, Any] = {"table": "users", "column": "age", "expectation": "is 0 to 120", "rows": 20, "unexpected": 0}
    return ColumnLine.model_validate({**fields, **changes})


def test_tables_whose_expectations_hold_pass_and_one_that_was_not_validated_does_not() -> None:
    lines = [line(table=table) for table in TABLES]
    complete = columns_result(TABLES, [*lines, line(table="users", column="")], data_docs=DOCS)
    count = len(TABLES)
    assert (complete.passed, complete.description) == (
        True,
        f"All {count + 1} expectations hold for {20 * count} rows of {count} tables.",
    )
    shown = values(complete)
    assert (shown["rows"], shown["expectations"], shown["share_met"]) == (20 * count, count + 1, 1.0)
    assert shown["data_docs"] == str(DOCS)
    assert not columns_result(TABLES, [], data_docs=DOCS).passed
    partly = columns_result(TABLES, [one for one in lines if one.table != "users"], data_docs=DOCS)
    assert (partly.passed, partly.description) == (False, "The columns of users were not validated.")


def test_a_broken_expectation_is_shown_with_its_rows() -> None:
    lines = [line(), line(column="name", expectation="is not blank", unexpected=2, sample=("user_id: 7",))]
    broken = columns_result(("users",), lines, data_docs=DOCS)
    assert (broken.passed, broken.description) == (
        False,
        "1 of 2 expectations are broken; the first: name of users is not blank. Not so in 2 of 20 rows, such as user_id: 7.",
    )
    assert "user\\_id: 7" in values(broken)["sample"] or "user_id: 7" in values(broken)["sample"]


def test_rules_that_say_one_thing_are_one_check_that_blocks_where_a_blocking_one_is_broken() -> None:
    spaces = RuleOutcome(Rule("spaces", "Texts have single spaces.", find=no_message, check="plain_prose"), items=4)
    length = RuleOutcome(Rule("length", "Texts are short.", find=no_message, blocking=False, check="plain_prose"), items=4)
    both = [spaces, length]
    assert (
        rules_check_result("plain_prose", both, asset="answers", noun="user").description == "All 2 rules hold for all 4 users."
    )
    length.add([Violation("user-1", "is long"), Violation("user-1", "is very long")])
    advised = rules_check_result("plain_prose", both, asset="answers", noun="user")
    assert (advised.passed, advised.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert (values(advised)["violations"], values(advised)["share_without_fault"]) == (2, 0.75)
    spaces.add([Violation("user-2", "has two spaces")])
    blocked = rules_check_result("plain_prose", both, asset="answers", noun="user")
    assert (blocked.passed, blocked.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert blocked.description == (
        "Texts have single spaces. Not so for 1 of 4 users; the first is user-2: has two spaces. "
        "1 more of its 2 rules is broken."
    )


def no_message(*_: object) -> tuple[str, ...]:
    return ()
