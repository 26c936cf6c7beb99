"""What must hold of code questions: their rules, and their quality report."""

from assets.code_qa.pipeline import CODE_QA
from assets.code_qa.recipe import CodeQaRecipe
from assets.engine.benchmark import Benchmark
from assets.recipe.loading import expect_recipe
from assets.recipe.recipe import Recipe
from validation.benchmark import ReportCheck, ReportSpec, Validation
from validation.code_qa import behaviours, decisions, questions, sources
from validation.memory_items import ablation
from validation.memory_items.documents import DOCUMENT_RULES
from validation.memory_items.facts import fact_rules
from validation.memory_items.lengths import length_rules
from validation.memory_items.questions import question_rules
from validation.memory_items.report import MemoryItemsReportBuilder, TaskFeatures, limits_outcome, render_page, report_metadata
from validation.memory_items.turns import turn_rules
from validation.report.builder import ReportBuilder
from validation.rules import Rule

RULES: dict[str, tuple[Rule, ...]] = {
    "code_sources": sources.RULES,
    "code_behaviours": behaviours.RULES,
    "code_decisions": decisions.RULES,
    "code_documents": (*DOCUMENT_RULES, *fact_rules(sources="code_documents"), *decisions.NOTE_RULES),
    "code_questions": (*question_rules(facts="code_documents"), *questions.RULES),
    "code_lengths": (*turn_rules(questions="code_questions"), *length_rules(questions="code_questions")),
    "code_ablation": ablation.ablation_rules(lengths="code_lengths", questions="code_questions"),
    "code_instances": (*ablation.INSTANCE_RULES, *questions.INSTANCE_RULES),
}


def report_builder(recipe: Recipe, *, items: int, benchmark: Benchmark) -> ReportBuilder:
    own = expect_recipe(recipe, CodeQaRecipe)
    return MemoryItemsReportBuilder(own, own, TaskFeatures(), items=items, benchmark=benchmark)


CODE_QA_VALIDATION = Validation(
    benchmark=CODE_QA,
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
        description="How good the finished set is, as a record and a page: facts found in their notes, ablation over all "
        "questions, lengths by what a memory receives, how alike support and filler are, rules, and what was "
        "replaced. A release needs it to pass.",
        sources=(report_builder,),
    ),
)
