"""The calendar of a life: when its periods begin and end, when a change comes about, and when the user writes of it.

All days follow from the recipe's seed, so that every prompt can name them before anything is written.
"""

from calendar import SUNDAY
from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache

from dateutil.relativedelta import relativedelta

from assets.amemgym.records.state import StateSchema
from assets.engine.seeded_random import SeededRandom
from assets.recipe.amemgym import AMemGymRecipe
from assets.text.calendar_words import WEEKDAYS

WEEKS_BEFORE_START = 3  # in which the initial sessions lie, for that period has no start
FEWEST_DAYS_LATER = 2  # from an event to the message about it: what follows from it has to show
MOST_DAYS_LATER = 10


def period_dates(recipe: AMemGymRecipe, index: int) -> tuple[date, date]:
    """Return start and end of period `index` (1 to N_p); each starts where the one before ends.

    Period 0, of the initial sessions, ends at the start date.
    """
    months = recipe.num_months_per_period
    start = _months_after(recipe.start_date, months=months * (index - 1))
    return start, _months_after(recipe.start_date, months=months * index)


@lru_cache(maxsize=256)  # all users have the same periods
def _months_after(day: date, *, months: int) -> date:
    return day + relativedelta(months=months)


def first_day_of_sessions(recipe: AMemGymRecipe, index: int) -> date:
    """Return the first day on which a session of a period may be; period 0 has no start, and the weeks before its end."""
    if index == 0:
        return recipe.start_date - timedelta(weeks=WEEKS_BEFORE_START) + timedelta(days=1)
    return period_dates(recipe, index)[0] + timedelta(days=1)


def change_days(schema: StateSchema, recipe: AMemGymRecipe, index: int) -> dict[str, date]:
    """Return for each variable the day on which it changes if it changes in period `index`.

    Variables of one question have the same day, so that one event may change both. None is a Sunday, on which offices, clinics
    and schools are closed. The last days of a period are left to the messages about what happened before.
    """
    start, end = period_dates(recipe, index)
    first = start + timedelta(days=1)
    days = [first + timedelta(days=later) for later in range((end - first).days - MOST_DAYS_LATER)]
    open_days = [day for day in days if day.weekday() != SUNDAY]
    found: dict[str, date] = {}
    for question in schema.questions:
        rng = SeededRandom(recipe.world_seed, schema.user_id, "change_days", index, question.question_id)
        day = rng.choice(open_days)
        for name in question.required_info:
            found.setdefault(name, day)
    return found


def with_weekday(day: date | None) -> str:
    """Return a day as prompts show it: a writer who does not know that it is a Saturday sends somebody to the office."""
    return f"{day:%Y-%m-%d}, {WEEKDAYS[day.weekday()]}" if day else "unknown"


def message_days(days: Sequence[date], *, end: date, rng: SeededRandom) -> list[date]:
    """Return for each event, given by its day in order of time, the later day on which the user writes of it.

    The messages keep the order of the events, and lie before the end of the period.
    """
    written: list[date] = []
    latest = end - timedelta(days=1)
    for day in reversed(days):
        later = FEWEST_DAYS_LATER + rng.integer_below(MOST_DAYS_LATER - FEWEST_DAYS_LATER + 1)
        latest = min(day + timedelta(days=later), latest)
        written.append(latest)
    return written[::-1]
