"""Count the contents of a release from the episodes that are written, beside the paper's counts (Table 4, App. C.1)."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import ParityLine, Spread
from assets.records.base import Failure
from assets.text.words import count_tokens

# The paper's Table 4 (base, extra), then App. C.1, which gives one figure for both.
PAPER_COUNTS: dict[str, tuple[float, float]] = {
    "users": (20, 20),
    "periods": (220, 420),
    "sessions": (943, 1632),
    "questions": (200, 200),
    "turns_per_user": (47.15, 81.60),
}
PAPER_LENGTHS = {"query_tokens": "about 21 (13 to 32)", "answer_tokens": "about 60 (39 to 98)", "options": "4 to 7"}
LABELS = {
    "users": "users",
    "periods": "periods, with the initial ones",
    "sessions": "sessions",
    "questions": "questions",
    "turns_per_user": "user turns per user (one per session)",
    "query_tokens": "tokens of a session's query",
    "answer_tokens": "tokens of an answer",
    "options": "options of a question",
}
COUNTED = ("users", "periods", "sessions", "questions", "state_variables", "state_updates", "answer_choices")


@dataclass
class RunningSpread:
    """Count, sum, least and greatest of numbers."""

    unit: str
    count: int = 0
    total: int = 0
    least: int = 0
    most: int = 0

    def add(self, value: int) -> None:
        self.least = min(self.least, value) if self.count else value
        self.most = max(self.most, value)
        self.count += 1
        self.total += value

    def spread(self) -> Spread:
        """The mean has two decimals; without numbers all is zero."""
        return Spread(unit=self.unit, least=self.least, mean=round(self.total / max(1, self.count), 2), most=self.most)

    @property
    def limits(self) -> str:
        """As text, such as 18 to 85."""
        if not self.count:
            return "none"
        return f"{self.least} to {self.most}" if self.least != self.most else str(self.least)


@dataclass(frozen=True)
class Facts:
    """Counts by name, lengths by name, and the replaced users by (stage, reason)."""

    counts: dict[str, int]
    lengths: dict[str, Spread]
    failures: dict[tuple[str, str], int]

    @property
    def turns_per_user(self) -> float:
        """Sessions per user, as the paper counts turns; two decimals."""
        return round(self.counts["sessions"] / max(1, self.counts["users"]), 2)


@dataclass
class FactCounter:
    """Count episode by episode, so that none needs to stay in memory."""

    counts: Counter[str] = field(default_factory=Counter[str])
    queries: RunningSpread = field(default_factory=lambda: RunningSpread("tokens"))
    answers: RunningSpread = field(default_factory=lambda: RunningSpread("tokens"))
    options: RunningSpread = field(default_factory=lambda: RunningSpread("options"))

    def add(self, episode: Episode) -> None:
        variables = len(episode.state_schema.variables)
        self.counts.update(users=1, periods=len(episode.periods), questions=len(episode.questions), state_variables=variables)
        for period in episode.periods:
            self.counts.update(sessions=len(period.sessions), state_updates=len(period.updates))
            for session in period.sessions:
                self.queries.add(count_tokens(session.query))
        for question in episode.questions:
            self.counts.update(answer_choices=len(question.answer_choices))
            self.options.add(len(question.answer_choices))
            for choice in question.answer_choices:
                self.answers.add(count_tokens(choice.answer))

    def facts(self, *, failures: Iterable[Failure]) -> Facts:
        reasons = Counter([(failure.stage, str(failure.reason)) for failure in failures])
        lengths = {
            "query_tokens": self.queries.spread(),
            "answer_tokens": self.answers.spread(),
            "options": self.options.spread(),
        }
        counts = {**dict.fromkeys(COUNTED, 0), **self.counts}
        return Facts(counts=counts, lengths=lengths, failures=dict(sorted(reasons.items())))


def paper_count_rows(facts: Facts) -> list[tuple[str, str, str, str]]:
    """Return rows of label, count here, the paper's for base and for extra."""
    ours = {**facts.counts, "turns_per_user": facts.turns_per_user}
    rows: list[tuple[str, str, str, str]] = []
    for name, (base, extra) in PAPER_COUNTS.items():
        rows.append((LABELS[name], _number(ours.get(name, 0)), _number(base), _number(extra)))
    return rows


def paper_length_rows(facts: Facts) -> list[tuple[str, str, str]]:
    """Return rows of label, mean with limits here, and the paper's."""
    rows: list[tuple[str, str, str]] = []
    for name, spread in facts.lengths.items():
        here = f"{spread.mean:.1f} ({spread.least:g} to {spread.most:g})"
        rows.append((LABELS[name], here, PAPER_LENGTHS[name]))
    return rows


class Population:
    """Count who the users are, and how many variables their questions need."""

    def __init__(self) -> None:
        self._variables = RunningSpread("variables")
        self._ages = RunningSpread("years")
        self._education: set[str] = set()
        self._occupations: set[str] = set()

    def add(self, episode: Episode) -> None:
        profile = episode.user_profile
        for question in episode.questions:
            self._variables.add(len(question.required_info))
        self._ages.add(profile.age)
        self._education.add(profile.education_level)
        self._occupations.add(profile.occupation)

    def lines(self) -> Iterator[ParityLine]:
        """The paper has one figure for both variants."""
        yield _same_for_both("variables that a question needs", self._variables.limits, "2 to 3")
        yield _same_for_both("ages", self._ages.limits, "18 to 85")
        yield _same_for_both("levels of education", str(len(self._education)), "9")
        yield _same_for_both("occupations", str(len(self._occupations)), "16")


def parity_lines(facts: Facts, population: Population) -> Iterator[ParityLine]:
    """Yield counts, then lengths, then who the users are. One figure of the paper for both variants is in both columns."""
    for what, here, base, extra in paper_count_rows(facts):
        yield ParityLine(what=what, here=here, base=base, extra=extra)
    sessions = facts.counts.get("sessions", 0) / max(1, facts.counts.get("periods", 0))
    yield ParityLine(what="sessions per period", here=f"{sessions:.2f}", base="4.29", extra="3.89")
    for what, here, both in paper_length_rows(facts):
        yield _same_for_both(what, here, both)
    yield from population.lines()


def _same_for_both(what: str, here: str, paper: str) -> ParityLine:
    return ParityLine(what=what, here=here, base=paper, extra=paper)


def _number(value: float) -> str:
    return f"{value:,.2f}" if isinstance(value, float) and not value.is_integer() else f"{value:,.0f}"
