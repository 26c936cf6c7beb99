"""A rule names one truth and yields its violations; everything else (checks, report) is derived from it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.records.base import UserRecord
from assets.records.recipe import Recipe


@dataclass(frozen=True)
class Violation:
    """One place where a rule does not hold."""

    user_id: str
    message: str


@dataclass(frozen=True)
class Rule:
    """`truth` is the sentence that has to hold; `find` yields what contradicts it in one user's record.

    A blocking rule stops everything downstream, because a wrong row would poison it.
    """

    name: str
    truth: str
    find: Callable[[Any, Recipe], Iterable[str]]
    blocking: bool = True


@dataclass(frozen=True)
class Outcome:
    """A rule's result over a set of users; passing rules have one too."""

    rule: Rule
    users: int
    violations: tuple[Violation, ...]

    @property
    def passed(self) -> bool:
        """True when nothing contradicts the rule."""
        return not self.violations


def apply_rules(rules: Sequence[Rule], records: Iterable[UserRecord], *, recipe: Recipe) -> list[Outcome]:
    """Apply every rule to every record, in one pass over the records."""
    found: Mapping[str, list[Violation]] = {rule.name: [] for rule in rules}
    users = 0
    for record in records:
        users += 1
        for rule in rules:
            found[rule.name].extend(Violation(record.user_id, message) for message in rule.find(record, recipe))
    return [Outcome(rule, users, tuple(found[rule.name])) for rule in rules]


def expect(holds: bool, message: str) -> Iterator[str]:
    """Yield the message unless it holds."""
    if not holds:
        yield message
