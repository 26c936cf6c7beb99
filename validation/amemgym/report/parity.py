"""The finished set's figures beside those of the paper's Table 4 and App. C.1."""

from collections.abc import Iterator

from assets.amemgym.records.episode import Episode
from assets.records.report import ParityLine
from validation.amemgym.report.contents import Facts, length_rows, parity_rows


class Span:
    """The least and the greatest of some numbers."""

    def __init__(self) -> None:
        self._ends: tuple[int, int] | None = None

    def add(self, number: int) -> None:
        """Take one."""
        least, most = self._ends or (number, number)
        self._ends = min(least, number), max(most, number)

    def __str__(self) -> str:
        if self._ends is None:
            return "none"
        least, most = self._ends
        return f"{least} to {most}" if least != most else str(least)


class People:
    """Who the users are and how much their questions need, counted while they pass by."""

    def __init__(self) -> None:
        self._needed, self._ages = Span(), Span()
        self._education: set[str] = set()
        self._occupations: set[str] = set()

    def add(self, episode: Episode) -> None:
        """Take one user."""
        profile = episode.user_profile
        for question in episode.questions:
            self._needed.add(len(question.required_info))
        self._ages.add(profile.age)
        self._education.add(profile.education_level)
        self._occupations.add(profile.occupation)

    def lines(self) -> Iterator[ParityLine]:
        """The paper has one figure for both variants."""
        yield _both("variables that a question needs", str(self._needed), "2 to 3")
        yield _both("ages", str(self._ages), "18 to 85")
        yield _both("levels of education", str(len(self._education)), "9")
        yield _both("occupations", str(len(self._occupations)), "16")


def parity_lines(facts: Facts, people: People) -> Iterator[ParityLine]:
    """Counts, then lengths, then who the users are. Where the paper has one figure for both variants, both columns have it."""
    for what, here, base, extra in parity_rows(facts):
        yield ParityLine(what=what, here=here, base=base, extra=extra)
    sessions = facts.counts.get("sessions", 0) / max(1, facts.counts.get("periods", 0))
    yield ParityLine(what="sessions per period", here=f"{sessions:.2f}", base="4.29", extra="3.89")
    for what, here, both in length_rows(facts):
        yield _both(what, here, both)
    yield from people.lines()


def _both(what: str, here: str, paper: str) -> ParityLine:
    return ParityLine(what=what, here=here, base=paper, extra=paper)
