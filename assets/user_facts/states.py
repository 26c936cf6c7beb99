"""The facts that hold at a time: replayed from statements, for the plan of a life as for what a reader found in texts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from assets.user_facts.records import FactStatement

SETS_VALUE = ("told", "replaced", "narrowed", "merged", "until")
COURSE_SEPARATOR = ", then "


@dataclass(frozen=True)
class Dated:
    """Statements of one day."""

    day: date
    statements: Sequence[FactStatement]


@dataclass
class FactReplay:
    """The facts while statements are read in order of time."""

    values: dict[str, str] = field(default_factory=dict[str, str])
    _earlier: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    _ends: dict[str, date] = field(default_factory=dict[str, date])
    _rules: dict[str, FactStatement] = field(default_factory=dict[str, FactStatement])
    _forgotten: set[str] = field(default_factory=set[str])

    def take(self, statement: FactStatement) -> None:
        """Read one statement."""
        if statement.shape in SETS_VALUE:
            self._set(statement.matter, statement.value)
            self._ends.pop(statement.matter, None)
            if statement.until:
                self._ends[statement.matter] = statement.until
        elif statement.shape == "refed" and statement.matter not in self._forgotten:
            # Whoever was not asked to forget has no reason to doubt the mail.
            self._set(statement.matter, statement.value)
        elif statement.shape == "withdrawn":
            self.values.pop(statement.matter, None)
        elif statement.shape == "as_before":
            self._go_back(statement.matter)
        elif statement.shape == "rule":
            self._rules[statement.matter] = statement
        elif statement.shape == "forget":
            self._forgotten.add(statement.matter)
            self.values.pop(statement.matter, None)
            self._earlier.pop(statement.matter, None)

    def _set(self, matter: str, value: str) -> None:
        if matter in self.values:
            self._earlier.setdefault(matter, []).append(self.values[matter])
        self.values[matter] = value

    def _go_back(self, matter: str) -> None:
        """Give the fact the value before the last change; whoever knows only the last one knows nothing now."""
        self.values.pop(matter, None)
        earlier = self._earlier.get(matter)
        if earlier:
            self.values[matter] = earlier.pop()

    def state(self, day: date) -> dict[str, str]:
        """Return the values of that day: what has ended is left out, and what follows from other facts is there."""
        known: dict[str, str] = {}
        for matter, value in self.values.items():
            if matter not in self._ends or day <= self._ends[matter]:
                known[matter] = value
        # As often as there are rules, because a deciding fact may follow from another one.
        for _ in self._rules:
            for matter, rule in self._rules.items():
                found = _by_rule(rule, known)
                if found:
                    known[matter] = found
        return known


def _by_rule(rule: FactStatement, known: Mapping[str, str]) -> str:
    for case in rule.cases:
        if known.get(rule.other_matter) == case.given:
            return case.then
    return ""


def state_on(sessions: Iterable[Dated], day: date) -> dict[str, str]:
    """Return the facts that hold on a day, by all that was said until then."""
    replay = FactReplay()
    for session in sessions:
        if session.day <= day:
            for statement in session.statements:
                replay.take(statement)
    return replay.state(day)


def course_of(sessions: Sequence[Dated], matter: str) -> list[str]:
    """Return the values that a fact has had, in order of time; a value that comes back is there again."""
    replay = FactReplay()
    course: list[str] = []
    for session in sessions:
        for statement in session.statements:
            replay.take(statement)
        value = replay.state(session.day).get(matter)
        if value and (not course or course[-1] != value):
            course.append(value)
    return course
