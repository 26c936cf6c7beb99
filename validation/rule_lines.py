"""The rules of all stages over the finished set, as lines of the report."""

from collections import Counter
from dataclasses import dataclass, field

from assets.records.base import StageName
from assets.records.recipe import Recipe
from assets.records.report import RuleLine
from validation.rules import Beside, Rule, apply_rules
from validation.stage_rules import RULES

EXAMPLES = 5


@dataclass
class RuleTally:
    """Counts violations while the units pass by; a rule about the set sees one unit at a time."""

    recipe: Recipe
    rules: dict[tuple[StageName, str], Rule] = field(default_factory=dict[tuple[StageName, str], Rule])
    users: Counter[tuple[StageName, str]] = field(default_factory=Counter[tuple[StageName, str]])
    violations: Counter[tuple[StageName, str]] = field(default_factory=Counter[tuple[StageName, str]])
    examples: dict[tuple[StageName, str], list[str]] = field(default_factory=dict[tuple[StageName, str], list[str]])

    def add(self, stage: StageName, records: Beside) -> None:
        """Apply the rules of one unit's stage; `records` are by stage and user, with those that the rules look at."""
        for outcome in apply_rules(RULES[stage], records[stage].values(), recipe=self.recipe, beside=records):
            key = (stage, outcome.rule.name)
            self.rules[key] = outcome.rule
            self.users[key] += outcome.users
            self.violations[key] += len(outcome.violations)
            told = self.examples.setdefault(key, [])
            told += [f"{one.user_id}: {one.message}" for one in outcome.violations[: EXAMPLES - len(told)]]

    def lines(self) -> tuple[RuleLine, ...]:
        """One line per rule, in the order of the stages."""
        return tuple(
            RuleLine(
                stage=key[0],
                rule=key[1],
                truth=rule.truth,
                blocking=rule.blocking,
                users=self.users[key],
                violations=self.violations[key],
                examples=tuple(self.examples[key]),
            )
            for key, rule in self.rules.items()
        )
