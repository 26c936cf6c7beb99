"""A rule names one truth and yields its violations; everything else (checks, report) is derived from it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from assets.records.base import Record, StageName, UserRecord
from assets.records.recipe import Recipe

Beside = Mapping[StageName, Mapping[str, UserRecord]]


@dataclass(frozen=True)
class Violation:
    """One place where a rule does not hold."""

    user_id: str
    message: str


@dataclass(frozen=True)
class Rule:
    """`truth` is the sentence that has to hold; `find` yields what contradicts it in one user's record.

    `find` is called with the record, the same user's records of the stages `beside` it, and the recipe. A record so
    broken that it lacks what `find` looks up is a violation as well. A blocking rule stops everything downstream, because
    a wrong row would poison it.
    """

    name: str
    truth: str
    find: Callable[..., Iterable[Any]]
    blocking: bool = True
    beside: tuple[StageName, ...] = ()

    def violations(self, records: Sequence[UserRecord], *, recipe: Recipe, beside: Beside) -> Iterator[Violation]:
        """What contradicts the rule; a user whom a stage beside it does not know is a violation too."""
        for record in records:
            others = [beside[stage].get(record.user_id) for stage in self.beside]
            missing = [stage for stage, other in zip(self.beside, others, strict=True) if other is None]
            found = [f"has no record of {missing[0]}"] if missing else self._found(record, others, recipe)
            yield from (Violation(record.user_id, message) for message in found)

    def _found(self, record: UserRecord, others: Sequence[UserRecord | None], recipe: Recipe) -> list[str]:
        try:
            return list(self.find(record, *others, recipe))
        except LookupError as error:
            return [f"cannot be judged, since it lacks {error}"]


@dataclass(frozen=True)
class SetRule(Rule):
    """A truth about all users together: `find` is called once, with all records and the recipe, and yields Violations."""

    def violations(self, records: Sequence[UserRecord], *, recipe: Recipe, beside: Beside) -> Iterator[Violation]:
        """What contradicts the rule in the set."""
        yield from self.find(records, recipe)


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


def apply_rules(
    rules: Sequence[Rule], records: Iterable[UserRecord], *, recipe: Recipe, beside: Beside | None = None
) -> list[Outcome]:
    """Apply every rule to all records. `beside`: the records of other stages, by stage and user, that the rules look at."""
    whole = list(records)
    return [Outcome(rule, len(whole), tuple(rule.violations(whole, recipe=recipe, beside=beside or {}))) for rule in rules]


def expect(holds: bool, message: str) -> Iterator[str]:
    """Yield the message unless it holds."""
    if not holds:
        yield message


def invariants(record: Record, *_: object) -> Iterator[str]:
    """What the record's own invariants say against it. A record keeps them from its making; one that was built past
    them, or changed in a file, does not. The record stays the only place that states them.
    """
    try:
        type(record).model_validate(record.model_dump(warnings=False))
    except ValidationError as error:
        for problem in error.errors():
            place = ".".join(str(part) for part in problem["loc"])
            message = problem["msg"].removeprefix("Value error, ")
            yield f"{place}: {message}" if place else message
