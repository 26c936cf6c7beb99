"""A rule names one truth and yields its violations; the asset checks and the report's lines are derived from it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import ValidationError

from assets.recipe.policies import GatePolicy
from assets.recipe.recipe import Recipe
from assets.records.base import GateRecord, ItemRecord, Record

# By stage and user.
RecordsByStage = Mapping[str, Mapping[str, ItemRecord]]
MAX_VIOLATIONS = 100


@dataclass(frozen=True)
class Violation:
    item_id: str
    message: str


@dataclass(frozen=True)
class Rule:
    """`truth` is the sentence that has to hold; `find` yields what contradicts it in one user's record.

    `find` is called with the record, the same user's records of the stages that it `reads` beside it, and the recipe. A
    record so broken that it lacks what `find` looks up is a violation as well. A blocking rule stops everything
    downstream, because whatever is made of a wrong row is wrong too. `of_votes`: it looks at votes of the gates, which users
    from elsewhere do not have.
    """

    name: str
    truth: str
    find: Callable[..., Any]
    blocking: bool = True
    reads: tuple[str, ...] = ()
    of_votes: bool = False

    def violations(self, records: Sequence[ItemRecord], *, recipe: Recipe, others: RecordsByStage) -> Iterator[Violation]:
        """What contradicts the rule; a user of whom a stage that it reads has no record is a violation too."""
        for record in records:
            read = [others[stage].get(record.item_id) for stage in self.reads]
            missing = [stage for stage, other in zip(self.reads, read, strict=True) if other is None]
            messages = [f"has no record of {missing[0]}"] if missing else self._messages(record, read, recipe)
            yield from (Violation(record.item_id, message) for message in messages)

    def _messages(self, record: ItemRecord, read: Sequence[ItemRecord | None], recipe: Recipe) -> list[str]:
        try:
            return list(self.find(record, *read, recipe))
        except LookupError as error:
            return [f"cannot be judged, since it lacks {error}"]


class Accumulator(Protocol):
    """Sees every record of a set once and then says what is wrong. It should remember few bytes of each."""

    def add(self, record: Any, /) -> None: ...

    def violations(self) -> Iterator[Violation]: ...


@dataclass(frozen=True)
class SetRule(Rule):
    """A truth about all items together; `find` makes the accumulator that looks for violations."""

    find: Callable[[], Accumulator]


@dataclass
class RuleOutcome:
    """A rule's result over a set of items; passing rules have one too.

    `count` is the number of violations, `broken` of the items that have one; `violations` holds only the first of them.
    """

    rule: Rule
    items: int = 0
    count: int = 0
    broken: int = 0
    violations: list[Violation] = field(default_factory=list[Violation])

    @property
    def passed(self) -> bool:
        return not self.count

    def add(self, violations: Iterable[Violation]) -> None:
        """Count more violations; those of a user come together."""
        last = ""
        for violation in violations:
            self.count += 1
            self.broken += violation.item_id != last
            last = violation.item_id
            if len(self.violations) < MAX_VIOLATIONS:
                self.violations.append(violation)


class RuleRun:
    """Applies rules to a set, portion by portion, so that the whole never has to be in memory.

    `validated`: the records come from a store, which checked the invariants of each while reading, so that they are not
    checked again.
    """

    def __init__(self, rules: Sequence[Rule], *, recipe: Recipe, validated: bool = False) -> None:
        self._recipe, self._validated = recipe, validated
        self._outcomes = [RuleOutcome(rule) for rule in rules]
        self._accumulators = [rule.find() if isinstance(rule, SetRule) else None for rule in rules]

    def add(self, records: Sequence[ItemRecord], *, others: RecordsByStage) -> None:
        """Apply every rule to these items. `others`: their records of the stages that the rules read."""
        for outcome, accumulator in zip(self._outcomes, self._accumulators, strict=True):
            outcome.items += len(records)
            if self._validated and outcome.rule.find is invariants:
                continue
            if accumulator is None:
                outcome.add(outcome.rule.violations(records, recipe=self._recipe, others=others))
            else:
                for record in records:
                    accumulator.add(record)

    def outcomes(self) -> list[RuleOutcome]:
        """Each rule's outcome, once all items were added."""
        for outcome, accumulator in zip(self._outcomes, self._accumulators, strict=True):
            if accumulator is not None:
                outcome.add(accumulator.violations())
        self._accumulators = [None] * len(self._accumulators)
        return self._outcomes


def apply_rules(
    rules: Sequence[Rule], records: Iterable[ItemRecord], *, recipe: Recipe, others: RecordsByStage | None = None
) -> list[RuleOutcome]:
    """Apply every rule to all of a few records. `others`: the records of the stages that the rules read."""
    run = RuleRun(rules, recipe=recipe)
    run.add(list(records), others=others or {})
    return run.outcomes()


def expect(holds: bool, message: str) -> tuple[str, ...]:
    """The message, unless it holds. Rules that ask about every value use a plain `if`, which formats no message in vain."""
    return () if holds else (message,)


def invariants(record: Record, *_: object) -> Iterator[str]:
    """What the record's own invariants, which are stated in its class alone, say against it.

    They were checked when the record was made; a record that was built without validation, or changed in a file, may break
    them.
    """
    try:
        type(record).model_validate(record.model_dump(warnings=False))
    except ValidationError as error:
        for problem in error.errors():
            location = ".".join(str(part) for part in problem["loc"])
            message = problem["msg"].removeprefix("Value error, ")
            yield f"{location}: {message}" if location else message


class OneRowPerItem:
    """Accumulator of a rule that no item has two rows."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._repeated: Counter[str] = Counter()

    def add(self, record: ItemRecord) -> None:
        if record.item_id in self._seen:
            self._repeated[record.item_id] += 1
        self._seen.add(record.item_id)

    def violations(self) -> Iterator[Violation]:
        """One for each item that has more than one row."""
        yield from (Violation(item_id, f"has {more + 1} rows") for item_id, more in self._repeated.items())


class AcceptingVotes:
    """How many votes accepted a text as telling exactly these values, by gate."""

    def __init__(self, records: Iterable[GateRecord]) -> None:
        self._counts = Counter[tuple[str, str, frozenset[tuple[str, str]]]]()
        self._places: dict[tuple[str, str, frozenset[tuple[str, str]]], tuple[int, int]] = {}
        for vote in records:
            key = (vote.gate, vote.text, frozenset(vote.target.items()))
            self._counts[key] += vote.accepted
            self._places.setdefault(key, (vote.draft, vote.refinement))

    def too_few(self, gate: str, text: str, target: Mapping[str, str], *, policy: GatePolicy) -> int | None:
        """The number of accepting votes where the policy wants more; None where there are enough."""
        key = (gate, text, frozenset(target.items()))
        _, needed = policy.votes_for(gate, text=policy.text_number(*self._places.get(key, (0, 0))))
        return self._counts[key] if self._counts[key] < needed else None
