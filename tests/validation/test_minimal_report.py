"""A benchmark without rules, expectations or measurements of its own has checks, a report and a page all the same."""

from pathlib import Path

from assets.amemgym.pipeline import AMEMGYM, STAGES
from assets.engine.benchmark import Benchmark
from assets.records.base import Failure, FailureReason
from assets.records.report import MinimalReport
from assets.reporting.verdict import verdict_on
from tests.support.coroutines import run
from tests.support.run_contexts import materialized, run_context, sampled
from tests.support.scripted_model import ScriptedModel
from tests.support.small import small_recipe
from validation.checks import benchmark_checks
from validation.finished_items import FinishedItems
from validation.report.asset import report_asset, report_on
from validation.report.builder import commonest_messages
from validation.report.page import render_minimal_page
from validation.report.validation import Validation
from validation.rules import Rule, invariants

RECIPE = small_recipe()
OTHER = Benchmark(
    name="other",
    noun="task",
    recipe=AMEMGYM.recipe,
    stages=AMEMGYM.stages,
    tables={name: AMEMGYM.tables[name] for name in ("users", "questions")},
    prefix="other_",
)
RULES = {"questions": (Rule("questions_differ", "Questions differ.", invariants),)}


def test_it_is_reported_with_its_rules_and_what_follows_from_the_classes_of_its_rows(tmp_path: Path) -> None:
    context = run_context(tmp_path, ScriptedModel({}))
    results = materialized(context, RECIPE, *STAGES[1:])
    refs = {name: {RECIPE.variant: result.ref} for name, result in results.items()}
    refs |= {"personas": {RECIPE.variant: sampled(context, RECIPE)}}
    report, left_out = run(
        report_on(FinishedItems(context, RECIPE, refs, OTHER), Validation(OTHER, RULES), project=tmp_path / "gx")
    )
    assert isinstance(report, MinimalReport)
    assert report.noun == "task"
    assert report.finished == 2
    assert report.wanted == 2
    assert left_out == []
    assert [(line.rule, line.users, line.violations) for line in report.rules] == [("questions_differ", 2, 0)]
    assert {line.table: line.rows for line in report.columns} == {"users": 2, "questions": 2 * RECIPE.num_questions}
    assert all(line.ok for line in report.columns)
    assert verdict_on(report).kind == "release"
    page = render_minimal_page(report)
    assert "2 of 2</b>tasks finished" in page
    assert "May be released" in page


def test_its_assets_and_checks_have_names_of_their_own() -> None:
    validation = Validation(OTHER, RULES)
    assert report_asset(validation).key.to_user_string() == "other/other_quality_report"
    assert [sorted(key.name for key in check.check_keys) for check in benchmark_checks(validation)] == [
        ["questions_differ"],
        ["all_tasks_finished", "rules_hold"],
        ["made_from_one_recipe"],
        ["table_columns"],
    ]


def test_a_replaced_item_s_reason_stands_with_the_message_that_most_of_them_have() -> None:
    told: list[tuple[FailureReason, str]] = [
        ("rule_violated", "cut"),
        ("rule_violated", "too long"),
        ("rule_violated", "too long"),
        ("refused", "no text"),
    ]
    failures = [
        Failure(item_id=str(number), position=number, stage="questions", reason=reason, message=message, last_reply="")
        for number, (reason, message) in enumerate(told)
    ]
    assert commonest_messages(failures) == {"questions: refused": "no text", "questions: rule_violated": "too long"}
