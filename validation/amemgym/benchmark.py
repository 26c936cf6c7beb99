"""What must hold of AMemGym: its rules, what it expects of its tables, and its quality report."""

from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.recipe import AMemGymRecipe
from assets.engine.benchmark import Benchmark
from assets.recipe.loading import expect_recipe
from assets.recipe.recipe import Recipe
from validation.amemgym import (
    answers,
    audits,
    episodes,
    events,
    personas,
    questions,
    session_queries,
    state_schema,
    state_trajectory,
    user_profiles,
)
from validation.amemgym.report.page import render_page, report_metadata, shortcuts_outcome
from validation.amemgym.tables import TABLE_EXPECTATIONS
from validation.benchmark import ReportCheck, ReportSpec, Validation
from validation.report.builder import ReportBuilder
from validation.rules import Rule

# Each stage has a module of its name here that states its rules.
RULES: dict[str, tuple[Rule, ...]] = {
    "personas": personas.RULES,
    "user_profiles": user_profiles.RULES,
    "questions": questions.RULES,
    "state_schema": state_schema.RULES,
    "state_trajectory": state_trajectory.RULES,
    "events": events.RULES,
    "session_queries": session_queries.RULES,
    "answers": answers.RULES,
    "audits": audits.RULES,
    "episodes": episodes.RULES,
}


def report_builder(recipe: Recipe, *, items: int, benchmark: Benchmark) -> ReportBuilder:
    # numpy and what needs it take a second to import, which is not spent where the graph is only shown.
    from validation.amemgym.report.builder import QualityReportBuilder

    return QualityReportBuilder(expect_recipe(recipe, AMemGymRecipe), users=items)


AMEMGYM_VALIDATION = Validation(
    benchmark=AMEMGYM,
    rules=RULES,
    expectations=TABLE_EXPECTATIONS,
    report=ReportSpec(
        builder=report_builder,
        render=render_page,
        metadata=report_metadata,
        checks=(
            ReportCheck(
                "wall_holds",
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
