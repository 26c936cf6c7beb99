"""User facts: their rules, their quality report, and the check that there are matters for all that a recipe asks for."""

import dagster as dg

from assets.recipe.user_facts import UserFactsRecipe
from assets.user_facts.matters import all_matters
from assets.user_facts.pipeline import USER_FACTS
from validation.report.validation import Validation, rules_by_stage
from validation.user_facts.report import USER_FACTS_REPORT


@dg.asset_check(
    asset=USER_FACTS.key("recipe"),
    name="matters_are_enough",
    blocking=True,
    partitions_def=USER_FACTS.partitions.by_variant,
    description="There are as many matters as a user tells, and enough that can follow, merge and become more exact.",
)
def matters_are_enough(facts_recipe: UserFactsRecipe) -> dg.AssetCheckResult:
    """Count the matters of each kind, and those that the recipe takes."""
    matters = all_matters().values()
    counts = facts_recipe.dynamics.counts(facts_recipe.num_facts)
    taken = {
        "matters": facts_recipe.num_facts + facts_recipe.num_unsaid,
        "matters that follow from others": counts["dependent"],
        "matters that can be the same as another": counts["merged"],
        "matters whose values can be more exact": counts["narrowed"],
    }
    there = {
        "matters": len(matters),
        "matters that follow from others": sum(bool(matter.follows) for matter in matters),
        "matters that can be the same as another": sum(bool(matter.like) for matter in matters),
        "matters whose values can be more exact": sum(bool(matter.coarse) for matter in matters),
    }
    missing = [f"{count} {kind} of {there[kind]}" for kind, count in taken.items() if count > there[kind]]
    sentence = f"The recipe takes {', '.join(missing)}." if missing else f"There are {len(matters)} matters, which is enough."
    return dg.AssetCheckResult(passed=not missing, description=sentence, metadata={"matters": len(matters)})


USER_FACTS_VALIDATION = Validation(
    USER_FACTS,
    rules_by_stage(USER_FACTS, "validation.user_facts"),
    report=USER_FACTS_REPORT,
    source_check=matters_are_enough,
)
