"""What must hold of deep research: its rules, and its quality report."""

from assets.deep_research.pipeline import DEEP_RESEARCH
from assets.deep_research.recipe import DeepResearchRecipe
from assets.engine.benchmark import Benchmark
from assets.recipe.loading import expect_recipe
from assets.recipe.recipe import Recipe
from validation.benchmark import ReportCheck, ReportSpec, Validation
from validation.deep_research import instances, lengths, worlds
from validation.memory_items.ablation import ablation_rules
from validation.memory_items.documents import DOCUMENT_RULES
from validation.memory_items.facts import fact_rules
from validation.memory_items.questions import question_rules
from validation.memory_items.report import MemoryItemsReportBuilder, TaskFeatures, limits_outcome, render_page, report_metadata
from validation.memory_items.turns import turn_rules
from validation.report.builder import ReportBuilder
from validation.rules import Rule

RULES: dict[str, tuple[Rule, ...]] = {
    "dr_worlds": worlds.RULES,
    "dr_sources": DOCUMENT_RULES,
    "dr_facts": fact_rules(sources="dr_sources"),
    "dr_questions": question_rules(facts="dr_facts"),
    "dr_turns": turn_rules(questions="dr_questions"),
    "dr_lengths": lengths.RULES,
    "dr_ablation": ablation_rules(lengths="dr_lengths", questions="dr_questions"),
    "dr_instances": instances.RULES,
}


def report_builder(recipe: Recipe, *, items: int, benchmark: Benchmark) -> ReportBuilder:
    own = expect_recipe(recipe, DeepResearchRecipe)
    return MemoryItemsReportBuilder(own, own, TaskFeatures(), items=items, benchmark=benchmark)


DEEP_RESEARCH_VALIDATION = Validation(
    benchmark=DEEP_RESEARCH,
    rules=RULES,
    report=ReportSpec(
        builder=report_builder,
        render=render_page,
        metadata=report_metadata,
        checks=(
            ReportCheck(
                "limits_hold",
                "Lengths are met, and a bag of words cannot tell support from filler better than the recipe allows.",
                limits_outcome,
            ),
        ),
        description="How good the finished set is, as a record and a page: ablation over all tasks, lengths by what a memory "
        "receives, how alike support and filler are, rules, and what was replaced. A release needs it to pass.",
        sources=(report_builder,),
    ),
)
