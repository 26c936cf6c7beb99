"""User facts: their rules, their quality report, and the check that a user's facts have the shares that the recipe gives."""

import dagster as dg

from assets.recipe.user_facts import FATES, UserFactsRecipe
from assets.user_facts.pipeline import USER_FACTS
from validation.report.validation import Validation, rules_by_stage
from validation.user_facts.report import USER_FACTS_REPORT

MOST_OFF = 1.5  # times its share that a fate may get, because a user has at least one fact of each


@dg.asset_check(
    asset=USER_FACTS.asset_key("recipe"),
    name="shares_are_kept",
    partitions_def=USER_FACTS.partitions.by_variant,
    description="No fate of facts gets more than one and a half times its share: with few facts, one is already too many.",
)
def shares_of_facts_are_kept(facts_recipe: UserFactsRecipe) -> dg.AssetCheckResult:
    """Compare how many facts have each fate with the shares of the recipe."""
    counts = facts_recipe.dynamics.counts(facts_recipe.num_facts)
    exceeded: list[str] = []
    for fate in FATES[1:]:
        wanted: float = getattr(facts_recipe.dynamics, fate) * facts_recipe.num_facts
        if counts[fate] > wanted * MOST_OFF:
            exceeded.append(f"{fate} gets {counts[fate]}, and its share is {wanted:.1f}")
    facts = f"A user tells {facts_recipe.num_facts} facts"
    sentence = f"{facts}: {'; '.join(exceeded)}. Raise num_facts." if exceeded else f"{facts}, in the shares of the recipe."
    metadata: dict[str, int | float] = {**counts, "right_by_guessing": facts_recipe.right_by_guessing}
    return dg.AssetCheckResult(
        passed=not exceeded,
        severity=dg.AssetCheckSeverity.WARN,
        description=sentence,
        metadata=metadata,
    )


USER_FACTS_VALIDATION = Validation(
    USER_FACTS,
    rules_by_stage(USER_FACTS, "validation.user_facts"),
    report=USER_FACTS_REPORT,
    source_check=shares_of_facts_are_kept,
)
