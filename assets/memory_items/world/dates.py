"""Dates of the fictional world, and how its documents spell them."""

from datetime import date, timedelta

from assets.engine.seeded_random import SeededRandom

FIRST_YEAR, DOCUMENT_YEARS = 2031, 6  # in which documents are dated


def random_date(rng: SeededRandom, *, first_year: int = FIRST_YEAR, years: int = DOCUMENT_YEARS) -> date:
    """A day in so many years of 365 days, from the first day of `first_year` on."""
    return date(first_year, 1, 1) + timedelta(days=rng.integer_below(365 * years))


def spoken(day: date) -> str:
    """As documents spell it, such as 4 May 2031; the same in every locale."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
