"""Code repairs: their rules, their quality report, and the check that their packages are those of the recipe."""

import dagster as dg

from assets.code_repair.pipeline import CODE_REPAIR
from assets.recipe.code_repair import CodeRepairRecipe
from validation.code_qa import sources
from validation.memory_items import ablation
from validation.memory_items.documents import DOCUMENT_RULES
from validation.memory_items.facts import fact_rules
from validation.memory_items.lengths import length_rules
from validation.memory_items.questions import question_rules
from validation.memory_items.report import document_report
from validation.memory_items.turns import turn_rules
from validation.report.validation import Validation, rules_by_stage
from validation.rules import Rule

SHARED: dict[str, tuple[Rule, ...]] = {
    "cr_sources": sources.RULES,
    "cr_sessions": (*DOCUMENT_RULES, *fact_rules(sources="cr_sessions")),
    "cr_tasks": question_rules(facts="cr_sessions"),
    "cr_lengths": (*turn_rules(questions="cr_tasks"), *length_rules(questions="cr_tasks")),
    "cr_certificates": ablation.ablation_rules(lengths="cr_lengths", questions="cr_tasks"),
    "cr_instances": ablation.INSTANCE_RULES,
}


@dg.asset_check(
    asset=CODE_REPAIR.key("recipe"),
    name="packages_are_unchanged",
    blocking=True,
    partitions_def=CODE_REPAIR.partitions.by_variant,
    description="Every package has the version, the license and the files that the recipe was resolved with.",
)
def packages_of_repairs_are_unchanged(cr_recipe: CodeRepairRecipe) -> dg.AssetCheckResult:
    """Read the packages again."""
    return sources.read_again(cr_recipe)


CODE_REPAIR_VALIDATION = Validation(
    CODE_REPAIR,
    rules_by_stage(CODE_REPAIR, "validation.code_repair", shared=SHARED),
    report=document_report("rules found in their sessions"),
    source_check=packages_of_repairs_are_unchanged,
)
