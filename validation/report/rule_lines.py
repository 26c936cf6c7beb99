"""The rules of all stages over the finished set, as lines of the report."""

from collections.abc import Iterator

from assets.recipe.recipe import Recipe
from assets.records.report import RuleLine
from validation.amemgym.rules import RULES
from validation.rules import RecordsByStage, RuleRun

EXAMPLES = 5


class RuleCounter:
    """Counts the violations of all stages' rules."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._runs: dict[str, RuleRun] = {}

    def add(self, stage: str, records: RecordsByStage) -> None:
        """Apply the rules of one stage to some users; `records` are by stage and user, with those that the rules look at."""
        run = self._runs.setdefault(stage, RuleRun(RULES[stage], recipe=self._recipe, validated=True))
        run.add(list(records[stage].values()), others=records)

    def lines(self) -> Iterator[RuleLine]:
        """One line per rule, in the order of the stages."""
        for stage, run in self._runs.items():
            for outcome in run.outcomes():
                yield RuleLine(
                    stage=stage,
                    rule=outcome.rule.name,
                    truth=outcome.rule.truth,
                    blocking=outcome.rule.blocking,
                    users=outcome.users,
                    violations=outcome.count,
                    examples=tuple(f"{one.user_id}: {one.message}" for one in outcome.violations[:EXAMPLES]),
                )
