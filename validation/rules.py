"""A rule names one truth and yields its violations; everything else (checks, report) is derived from it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import ValidationError

from assets.recipe.recipe import Recipe
from assets.records.base import Record, UserRecord

Beside = Mapping[str, Mapping[str, UserRecord]]
MOST_KEPT = 100


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
    find: Callable[..., Any]
    blocking: bool = True
    beside: tuple[str, ...] = ()

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


class Tally(Protocol):
    """What a rule about the set remembers of the users who passed by; the fewer bytes for each, the better."""

    def add(self, record: Any, /) -> None: ...

    def violations(self) -> Iterator[Violation]: ...


@dataclass(frozen=True)
class SetRule(Rule):
    """A truth about all users together: `find` makes a tally, which sees every record once and then yields Violations."""

    find: Callable[[], Tally]


@dataclass
class Outcome:
    """A rule's result over a set of users; passing rules have one too.

    `count` violations were found, by `broken` users; of the `violations` themselves only the first are kept.
    """

    rule: Rule
    users: int = 0
    count: int = 0
    broken: int = 0
    violations: list[Violation] = field(default_factory=list[Violation])

    @property
    def passed(self) -> bool:
        """True when nothing contradicts the rule."""
        return not self.count

    def add(self, found: Iterable[Violation]) -> None:
        """Take more violations; those of a user come together."""
        last = ""
        for violation in found:
            self.count += 1
            self.broken += violation.user_id != last
            last = violation.user_id
            if len(self.violations) < MOST_KEPT:
                self.violations.append(violation)


class RuleRun:
    """Rules applied to users who pass by some at a time, so that no more than those are in memory.

    `read`: the records come from a store, which has validated each of them while reading. Their invariants hold, and are
    not looked at again.
    """

    def __init__(self, rules: Sequence[Rule], *, recipe: Recipe, read: bool = False) -> None:
        self._recipe, self._read = recipe, read
        self._outcomes = [Outcome(rule) for rule in rules]
        self._tallies = [rule.find() if isinstance(rule, SetRule) else None for rule in rules]

    def add(self, records: Sequence[UserRecord], *, beside: Beside) -> None:
        """Apply every rule to these users. `beside`: their records of other stages, by stage and user."""
        for outcome, tally in zip(self._outcomes, self._tallies, strict=True):
            outcome.users += len(records)
            if self._read and outcome.rule.find is invariants:
                continue
            if tally is None:
                outcome.add(outcome.rule.violations(records, recipe=self._recipe, beside=beside))
            else:
                for record in records:
                    tally.add(record)

    def outcomes(self) -> list[Outcome]:
        """What became of each rule, once all users have passed."""
        for outcome, tally in zip(self._outcomes, self._tallies, strict=True):
            if tally is not None:
                outcome.add(tally.violations())
        self._tallies = [None] * len(self._tallies)
        return self._outcomes


def apply_rules(
    rules: Sequence[Rule], records: Iterable[UserRecord], *, recipe: Recipe, beside: Beside | None = None
) -> list[Outcome]:
    """Apply every rule to all of a few records. `beside`: the records of other stages, by stage and user."""
    run = RuleRun(rules, recipe=recipe)
    run.add(list(records), beside=beside or {})
    return run.outcomes()


def expect(holds: bool, message: str) -> tuple[str, ...]:
    """The message, unless it holds. Rules that ask about every value use a plain `if`, which makes no message in vain."""
    return () if holds else (message,)


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
