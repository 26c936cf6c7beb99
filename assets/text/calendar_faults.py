"""Find what a text tells of as happened although it lies after the text's own day.

The rule reads months, seasons, holidays and days of the month in clauses that tell what happened, and weekdays beside a day.
Whoever names a month means its nearest occurrence, mostly the last one: a month that lies a little ahead, and so was eleven
months ago, is a fault. Seasons are those of the northern half of the world. Words that look ahead, tell of a habit or mean an
earlier year excuse a clause: the rule would rather miss a fault than invent one.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import chain

from dateutil.easter import easter

from assets.text.calendar_words import CALENDAR_WORDS, MONTHS, CalendarWords

MONTHS_AHEAD = 3  # further ahead, a month was so lately that a text may well speak of its last occurrence
DAYS_AHEAD = 100  # of a holiday, likewise
SEASON_AHEAD = 1
WEEKDAY_NEAR = 14  # characters between a weekday and the day of the month that it is of
THIS_SEASON_AHEAD = 8  # months to a season that a text calls this one
SHORT_CLAUSE = 4  # words: such a clause is read with the next one, as in "In March, we moved"
SEASON_STARTS = (3, 6, 9, 12)
CLAUSE_END = re.compile(r"(?<=[.!?;:,。！？；，、…؟،])\s*|\s+[–—-]\s+|\s+(?=(?:and|but|so|because|which|where)\b)")


def _same_day(month: int, day: int) -> Callable[[int], date]:
    return lambda year: date(year, month, day)


def _weekday(month: int, *, weekday: int, number: int) -> Callable[[int], date]:
    """Return the rule for the `number`th such weekday of a month; -1 is the last one. Monday is 0."""

    def day(year: int) -> date:
        if number < 0:
            last = date(year, month + 1, 1) - timedelta(days=1)
            return last - timedelta(days=(last.weekday() - weekday) % 7)
        first = date(year, month, 1)
        return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (number - 1))

    return day


HOLIDAYS: dict[str, Callable[[int], date]] = {
    "new_year": _same_day(1, 1),
    "valentine": _same_day(2, 14),
    "easter": easter,
    "memorial": _weekday(5, weekday=0, number=-1),
    "july_4": _same_day(7, 4),
    "labor": _weekday(9, weekday=0, number=1),
    "halloween": _same_day(10, 31),
    "thanksgiving": _weekday(11, weekday=3, number=4),
    "christmas": _same_day(12, 25),
}


@dataclass(frozen=True)
class CalendarPatterns:
    """The compiled patterns of one language."""

    month: re.Pattern[str]  # any: most texts name no month, nor today or a holiday, and are not read for each
    months: tuple[re.Pattern[str], ...]
    days: tuple[re.Pattern[str], ...]  # of each month, with the groups `before` and `after`, and a year
    weekdays: tuple[re.Pattern[str], ...]
    today: re.Pattern[str]
    todays: tuple[re.Pattern[str], ...]  # today, named by each weekday
    seasons: tuple[re.Pattern[str], ...]
    these: tuple[re.Pattern[str], ...]
    holiday: re.Pattern[str]
    holidays: dict[str, re.Pattern[str]]
    open: re.Pattern[str]
    past: re.Pattern[str] | None


@cache
def _patterns(language: str) -> CalendarPatterns | None:
    words = CALENDAR_WORDS.get(language)
    return None if words is None else _compile(words)


def _compile(words: CalendarWords) -> CalendarPatterns:
    edge = r"\b" if words.spaced else ""
    # English "may" and "march" are other words too where they are small.
    flags = re.NOFLAG if "May" in words.months.split() else re.IGNORECASE
    at = rf"\b(?i:{words.at})(?:\s+the|\s+early|\s+late|\s+mid)?[\s-]*" if words.at else ""
    months = words.months.split()
    day = r"(?P<before>\d{1,2})(?:st|nd|rd|th|\.|º|er)?\s*(?:de\s+|of\s+)?"
    year = r"(?:[,\s]+(?:de\s+)?(?P<year>[12][0-9]{3}))?"
    after = r"\s*(?P<after>\d{1,2})(?!\d)(?:st|nd|rd|th|日|일)?"
    return CalendarPatterns(
        month=re.compile("|".join(months), flags),
        months=tuple(re.compile(rf"{at}{edge}(?:{month}){edge}(?:\s+(?P<year>[12][0-9]{{3}}))?", flags) for month in months),
        days=tuple(re.compile(rf"(?:{day}(?:{month})|(?:{month}){after}){edge}{year}", flags) for month in months),
        weekdays=tuple(re.compile(rf"{edge}(?:{name}){edge}", re.IGNORECASE) for name in words.weekdays.split()),
        today=re.compile(words.today, re.IGNORECASE),
        todays=tuple(
            re.compile(rf"{edge}(?:{words.today})\s*(?:{name}){edge}", re.IGNORECASE) for name in words.weekdays.split()
        ),
        seasons=tuple(re.compile(rf"{at}{edge}(?:{name}){edge}", re.IGNORECASE) for name in words.seasons.split()),
        these=tuple(re.compile(rf"(?:{words.this})\s*(?:{name}){edge}", re.IGNORECASE) for name in words.seasons.split()),
        holiday=re.compile("|".join(words.holidays.values()), re.IGNORECASE),
        holidays={name: re.compile(rf"{at}{edge}(?:{own}){edge}", re.IGNORECASE) for name, own in words.holidays.items()},
        open=re.compile(rf"{edge}(?:{words.open}){edge}", re.IGNORECASE),
        past=re.compile(rf"{edge}(?:{words.past}){edge}", re.IGNORECASE) if words.past else None,
    )


def calendar_fault(text: str, *, day: date, language: str, own_month: bool) -> str:
    """Return what the text tells of as happened that lies after its day, or a weekday that a day is not; "" for nothing.

    `own_month`: whether the text may call the month of its day by name, as a record of that day does, and nobody who speaks.
    """
    words = _patterns(language)
    if words is None:
        return ""
    for found, fault in chain(_weekday_faults(text, words, day), _faults_told(text, words, day, own_month=own_month)):
        of = f"is of {day:%d} {MONTHS[day.month - 1]} {day.year}"
        return f"{of}, and {fault} {found.strip()!r}; speak of time as one does on that day."
    return ""


AHEAD = "tells what lies ahead as if it had happened, by"
OWN_MONTH = "calls its own month by name, at"
Faults = Iterator[tuple[str, str]]  # words of the text, and what is wrong with them


def _weekday_faults(text: str, words: CalendarPatterns, day: date) -> Faults:
    for weekday, pattern in enumerate(words.todays if words.today.search(text) else ()):
        match = pattern.search(text)
        if match and weekday != day.weekday():
            yield match[0], "has the wrong weekday at"
    for month, pattern in enumerate(words.days if words.month.search(text) else (), start=1):
        for match in pattern.finditer(text):
            meant = _day_meant(match, month=month, day=day)
            around = text[max(0, match.start() - WEEKDAY_NEAR) : match.end() + WEEKDAY_NEAR]
            named = [weekday for weekday, name in enumerate(words.weekdays) if name.search(around)]
            if meant is not None and len(named) == 1 and named[0] != meant.weekday():
                yield around, "has the wrong weekday at"


def _faults_told(text: str, words: CalendarPatterns, day: date, *, own_month: bool) -> Faults:
    """Yield the faults of the clauses that tell what happened."""
    for clause in _clauses(text):
        is_open = clause.endswith(("?", "？", "؟")) or words.open.search(clause)
        if not is_open and (words.past is None or words.past.search(clause)):
            yield from _faults_in(clause, words, day=day, own_month=own_month)


def _clauses(text: str) -> Iterator[str]:
    """Yield the clauses; one of a few words is joined to the next."""
    short = ""
    for part in filter(None, map(str.strip, CLAUSE_END.split(text))):
        clause = f"{short} {part}".strip()
        short = ""
        if len(clause.split()) <= SHORT_CLAUSE and not clause.endswith((".", "!", "?", "。", "！", "？")):
            short = clause
        else:
            yield clause
    if short:
        yield short


def _faults_in(clause: str, words: CalendarPatterns, *, day: date, own_month: bool) -> Faults:
    for month in range(1, 13) if words.month.search(clause) else ():
        yield from _faults_of_month(clause, words, month=month, day=day, own_month=own_month)
    for start, season, this in zip(SEASON_STARTS, words.seasons, words.these, strict=True):
        ahead = (start - day.month) % 12
        # The last month of a season before it begins anew is not ahead of it.
        if 1 <= ahead <= SEASON_AHEAD:
            yield from ((match[0], AHEAD) for match in season.finditer(clause))
        if 1 <= ahead <= THIS_SEASON_AHEAD:
            yield from ((match[0], AHEAD) for match in this.finditer(clause))
    for name, pattern in words.holidays.items() if words.holiday.search(clause) else ():
        match = pattern.search(clause)
        following = [HOLIDAYS[name](year) for year in (day.year, day.year + 1)]
        if match and any(0 < (holiday - day).days <= DAYS_AHEAD for holiday in following):
            yield match[0], AHEAD


def _faults_of_month(clause: str, words: CalendarPatterns, *, month: int, day: date, own_month: bool) -> Faults:
    dated = False
    for match in words.days[month - 1].finditer(clause):
        meant = _day_meant(match, month=month, day=day)
        if meant is None:
            continue
        dated = True
        if meant > day:
            yield match[0], AHEAD
    match = words.months[month - 1].search(clause)
    if dated or match is None:
        return
    year = match["year"]
    if year:
        if date(int(year), month, 1) > day:
            yield match[0], AHEAD
        return
    if 1 <= (month - day.month) % 12 <= MONTHS_AHEAD:
        yield match[0], AHEAD
    if month == day.month and not own_month and not re.search(r"\bthis\b|\bearly\b|\bbeginning\b", clause):
        yield match[0], OWN_MONTH


def _day_meant(match: re.Match[str], *, month: int, day: date) -> date | None:
    """Return the day that a text names; without a year, its occurrence that is nearest to the text's day."""
    number = int(match["before"] or match["after"])
    years = [int(match["year"])] if match["year"] else [day.year - 1, day.year, day.year + 1]
    days: list[date] = []
    for year in years:
        try:
            days.append(date(year, month, number))
        except ValueError:
            continue  # no such day in that year, or no day at all
    return min(days, key=lambda other: abs((other - day).days), default=None)
