"""Rules: each names one truth and yields its violations. Asset checks and the report's lines are derived from them."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import ValidationError

from assets.recipe.policies import GatePolicy
from assets.recipe.recipe import Recipe
from assets.records.base import GateRecord, ItemRecord, Record

RecordsOfItem = Mapping[str, ItemRecord]  # by stage
# By stage and item.
RecordsByStage = Mapping[str, Mapping[str, ItemRecord]]
# A rule that is broken everywhere would fill the memory with sentences; nobody reads more than the first.
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
    from elsewhere do not have. `check`: the asset check that shows it together with others; by default it has its own.
    """

    name: str
    truth: str
    find: Callable[..., Any]
    blocking: bool = True
    reads: tuple[str, ...] = ()
    of_votes: bool = False
    check: str = ""

    def violations(self, record: ItemRecord, *, recipe: Recipe, others: RecordsOfItem) -> list[Violation]:
        """Return what contradicts the rule. An item without a record of a stage that the rule reads contradicts it too."""
        read: list[ItemRecord] = []
        for stage in self.reads:
            if stage not in others:
                return [Violation(record.item_id, f"has no record of {stage}")]
            read.append(others[stage])
        try:
            return [Violation(record.item_id, message) for message in self.find(record, *read, recipe)]
        except LookupError as error:
            return [Violation(record.item_id, f"cannot be judged, since it lacks {error}")]


class Accumulator(Protocol):
    """See every record of a set once, then say what is wrong. It should remember few bytes of each."""

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
    `accumulator` looks for the violations of a rule about the whole set, until all items were added.
    """

    rule: Rule
    items: int = 0
    count: int = 0
    broken: int = 0
    violations: list[Violation] = field(default_factory=list[Violation])
    accumulator: Accumulator | None = None

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
    """Apply rules to a set, item by item, so that the whole never has to be in memory.

    `validated`: the store checked the invariants of each record while reading, so they are not checked again.
    """

    def __init__(self, rules: Sequence[Rule], *, recipe: Recipe, validated: bool = False) -> None:
        self._recipe = recipe
        self._validated = validated
        self._outcomes: list[RuleOutcome] = []
        for rule in rules:
            accumulator = rule.find() if isinstance(rule, SetRule) else None
            self._outcomes.append(RuleOutcome(rule, accumulator=accumulator))

    def add(self, record: ItemRecord, *, others: RecordsOfItem) -> None:
        """Apply every rule to an item. `others`: among more, its records of the stages that the rules read."""
        for outcome in self._outcomes:
            outcome.items += 1
            if self._validated and outcome.rule.find is invariants:
                continue
            if outcome.accumulator is None:
                outcome.add(outcome.rule.violations(record, recipe=self._recipe, others=others))
            else:
                outcome.accumulator.add(record)

    def outcomes(self) -> list[RuleOutcome]:
        """Return each rule's outcome, once all items were added."""
        for outcome in self._outcomes:
            if outcome.accumulator is not None:
                outcome.add(outcome.accumulator.violations())
                outcome.accumulator = None  # a second call must not count its violations again
        return self._outcomes


def expect(holds: bool, message: str) -> tuple[str, ...]:
    """Return the message unless it holds. A rule about every value uses a plain `if`, which formats no message in vain."""
    return () if holds else (message,)


def invariants(record: Record, *_: object) -> Iterator[str]:
    """Yield what the invariants that the record's class states say against it.

    They were checked when the record was made. A record that was built without validation, or changed in a file, may break
    them.
    """
    try:
        type(record).model_validate(record.model_dump(warnings=False))
    except ValidationError as error:
        for problem in error.errors():
            location = ".".join(map(str, problem["loc"]))
            message = problem["msg"].removeprefix("Value error, ")
            yield f"{location}: {message}" if location else message


class OneRowPerItem:
    """Accumulator of a rule that no item has two rows."""

    def __init__(self) -> None:
        self._rows: Counter[str] = Counter()

    def add(self, record: ItemRecord) -> None:
        self._rows[record.item_id] += 1

    def violations(self) -> Iterator[Violation]:
        for item_id, rows in self._rows.items():
            if rows > 1:
                yield Violation(item_id, f"has {rows} rows")


class NoTwoAlike:
    """Accumulator of a rule that no two items share a key. `sentence` describes a repeat, by its record and the first id."""

    def __init__(self, *, keys: Callable[[Any], Iterable[Hashable]], sentence: Callable[[Any, str], str]) -> None:
        self._keys = keys
        self._sentence = sentence
        self._first: dict[Hashable, str] = {}
        self._repeats: list[Violation] = []

    def add(self, record: ItemRecord) -> None:
        firsts = [self._first.setdefault(key, record.item_id) for key in self._keys(record)]
        others = [first for first in firsts if first != record.item_id]
        if others:
            self._repeats.append(Violation(record.item_id, self._sentence(record, others[0])))

    def violations(self) -> Iterator[Violation]:
        yield from self._repeats


# A gate, a text, and the values that the text should tell.
_JudgedText = tuple[str, str, frozenset[tuple[str, str]]]


class AcceptingVotes:
    """Count the votes of each gate that accepted a text as telling exactly these values."""

    def __init__(self, records: Iterable[GateRecord]) -> None:
        self._accepting = Counter[_JudgedText]()
        for vote in records:
            self._accepting[(vote.gate, vote.text, frozenset(vote.target.items()))] += vote.accepted

    def too_few(self, gate: str, text: str, target: Mapping[str, str], *, policy: GatePolicy) -> int | None:
        """Return the number of accepting votes when the policy wants more, else None."""
        key = (gate, text, frozenset(target.items()))
        _, needed = policy.votes_for(gate)
        return self._accepting[key] if self._accepting[key] < needed else None
