"""When sessions take place: seeded, by day, inside their period."""

from datetime import datetime, time, timedelta

from assets.amemgym.records.trajectory import TrajectoryPeriod
from assets.engine.seeded_random import SeededRandom
from assets.recipe.recipe import Recipe

WEEKS_BEFORE_START = 3
FIRST_HOUR, LAST_HOUR = 7, 22
SLOT_MINUTES = 10
SLOTS_PER_DAY = (LAST_HOUR - FIRST_HOUR) * 60 // SLOT_MINUTES


def session_times(recipe: Recipe, period: TrajectoryPeriod, *, count: int, user_id: str) -> list[datetime]:
    """`count` strictly increasing times: within the period, or in the weeks up to the start date for period 0.

    A session falls on any day after the period's start and before its end, between 7:00 and 22:00.
    """
    rng = SeededRandom(recipe.seed, user_id, "session_times", period.index)
    first = (period.start or recipe.start_date - timedelta(weeks=WEEKS_BEFORE_START)) + timedelta(days=1)
    slots = (period.end - first).days * SLOTS_PER_DAY
    chosen = sorted(rng.sample(range(slots), count))
    return [
        datetime.combine(first, time(FIRST_HOUR))
        + timedelta(days=slot // SLOTS_PER_DAY, minutes=slot % SLOTS_PER_DAY * SLOT_MINUTES + rng.integer_below(SLOT_MINUTES))
        + timedelta(seconds=rng.integer_below(60))
        for slot in chosen
    ]
