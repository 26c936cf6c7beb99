"""The finished set's figures beside those of the paper's Table 4 and App. C.1."""

from collections.abc import Iterable, Iterator, Sequence

from assets.records.episode import Episode
from assets.records.report import ParityLine
from validation.facts import Facts, length_rows, parity_rows


def parity_lines(facts: Facts, episodes: Sequence[Episode]) -> Iterator[ParityLine]:
    """Counts, then lengths, then who the users are. Where the paper has one figure for both variants, both columns have it."""
    for what, here, base, extra in parity_rows(facts):
        yield ParityLine(what=what, here=here, base=base, extra=extra)
    sessions = facts.counts.get("sessions", 0) / max(1, facts.counts.get("periods", 0))
    yield ParityLine(what="sessions per period", here=f"{sessions:.2f}", base="4.29", extra="3.89")
    for what, here, both in length_rows(facts):
        yield ParityLine(what=what, here=here, base=both, extra=both)
    needed = [len(question.required_info) for episode in episodes for question in episode.questions]
    yield _both("variables that a question needs", _span(needed), "2 to 3")
    profiles = [episode.user_profile for episode in episodes]
    yield _both("ages", _span(profile.age for profile in profiles), "18 to 85")
    yield _both("levels of education", str(len({profile.education_level for profile in profiles})), "9")
    yield _both("occupations", str(len({profile.occupation for profile in profiles})), "16")


def _both(what: str, here: str, paper: str) -> ParityLine:
    return ParityLine(what=what, here=here, base=paper, extra=paper)


def _span(numbers: Iterable[int]) -> str:
    found = sorted(numbers)
    if not found:
        return "none"
    return f"{found[0]} to {found[-1]}" if found[0] != found[-1] else str(found[0])
