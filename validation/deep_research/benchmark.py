"""What must hold of deep research: its rules, and its quality report."""

from collections.abc import Iterable, Sequence

from assets.deep_research.pipeline import DEEP_RESEARCH
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.tasks import ResearchTask
from assets.engine.benchmark import Benchmark
from assets.memory_items.documents import SizedItem
from assets.recipe.loading import expect_recipe
from assets.recipe.recipe import Recipe
from validation.benchmark import ReportCheck, ReportSpec, Validation
from validation.deep_research import ablation, facts, lengths, questions, sources, turns, worlds
from validation.memory_items.report import MemoryItemsReportBuilder, limits_outcome, render_page, report_metadata
from validation.report.builder import ReportBuilder
from validation.rules import Rule

RULES: dict[str, tuple[Rule, ...]] = {
    "dr_worlds": worlds.RULES,
    "dr_sources": sources.RULES,
    "dr_facts": facts.RULES,
    "dr_questions": questions.RULES,
    "dr_turns": turns.RULES,
    "dr_lengths": lengths.RULES,
    "dr_ablation": ablation.RULES,
    "dr_instances": ablation.INSTANCE_RULES,
}


class ResearchFeatures:
    """What the report reads of a research task."""

    def lengths(self, item: ResearchTask) -> Sequence[SizedItem]:
        return item.lengths

    def answer_kinds(self, item: ResearchTask) -> Iterable[str]:
        return (item.answer.kind,)

    def hops(self, item: ResearchTask) -> Iterable[int]:
        return (len(item.hops),)


def report_builder(recipe: Recipe, *, items: int, benchmark: Benchmark) -> ReportBuilder:
    own = expect_recipe(recipe, DeepResearchRecipe)
    return MemoryItemsReportBuilder(own, own, ResearchFeatures(), items=items, benchmark=benchmark)


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
