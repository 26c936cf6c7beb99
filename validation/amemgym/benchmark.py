"""AMemGym: its rules, the expectations of its tables, and its quality report."""

from assets.amemgym.pipeline import AMEMGYM
from assets.engine.benchmark import Benchmark
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.loading import expect_recipe
from assets.recipe.recipe import Recipe
from validation.amemgym.personas import pool_is_unchanged
from validation.amemgym.report.page import quality_metadata, render_quality_page, shortcuts_outcome
from validation.amemgym.tables import TABLE_EXPECTATIONS
from validation.report.builder import ReportBuilder
from validation.report.validation import ReportCheck, ReportSpec, Validation, rules_by_stage

RULES = rules_by_stage(AMEMGYM, "validation.amemgym")


def report_builder(recipe: Recipe, *, items: int, benchmark: Benchmark) -> ReportBuilder:
    # numpy and what needs it take a second to import, which is not spent where the graph is only shown.
    from validation.amemgym.report.builder import QualityReportBuilder

    return QualityReportBuilder(expect_recipe(recipe, AMemGymRecipe), users=items)


AMEMGYM_VALIDATION = Validation(
    benchmark=AMEMGYM,
    rules=RULES,
    expectations=TABLE_EXPECTATIONS,
    source_check=pool_is_unchanged,
    report=ReportSpec(
        builder=report_builder,
        render=render_quality_page,
        metadata=quality_metadata,
        checks=(
            ReportCheck(
                "shortcuts_hold",
                "No way to answer without memory gets further than the recipe's margins allow.",
                shortcuts_outcome,
            ),
        ),
        description="How good the finished set is, as a record and a page: counts beside the paper's (Table 4, App. C.1), "
        "rules, gates and how often they err, what can be guessed without memory. A release needs its blocking checks to pass.",
        tags={"asks_a_model": "yes", "paper": "C.1"},
        sources=(report_builder,),
    ),
)
