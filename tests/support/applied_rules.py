"""Rules applied to a few records at once."""

from collections.abc import Iterable, Sequence

from assets.recipe.recipe import Recipe
from assets.records.base import ItemRecord
from validation.finished_items import records_of_item
from validation.rules import RecordsByStage, Rule, RuleOutcome, RuleRun


def apply_rules(
    rules: Sequence[Rule], records: Iterable[ItemRecord], *, recipe: Recipe, others: RecordsByStage | None = None
) -> list[RuleOutcome]:
    """Return the outcome of every rule over all of a few records. `others`: the records of the stages that the rules read."""
    run = RuleRun(rules, recipe=recipe)
    for record in records:
        run.add(record, others=records_of_item(record.item_id, others or {}))
    return run.outcomes()
