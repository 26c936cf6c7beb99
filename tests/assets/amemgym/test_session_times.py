"""Sessions take place inside their period, one after another."""

from datetime import date, time, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from assets.amemgym.records.state import TrajectoryPeriod
from assets.amemgym.session_queries.stage import session_times
from assets.amemgym.state_trajectory.days import period_dates
from tests.support.small import small_recipe


@settings(max_examples=50)
@given(
    start=st.dates(date(1990, 1, 1), date(2090, 1, 1)),
    months=st.integers(1, 24),
    index=st.integers(0, 20),
    count=st.integers(1, 60),
    user_id=st.text(max_size=5),
)
def test_times_lie_inside_the_period_by_day_and_strictly_increase(
    start: date, months: int, index: int, count: int, user_id: str
) -> None:
    recipe = small_recipe(start_date=start, num_months_per_period=months)
    first, end = (None, start) if index == 0 else period_dates(recipe, index)
    period = TrajectoryPeriod(index=index, start=first, end=end, summary=None, updates=(), state={})
    times = session_times(recipe, period, count=count, user_id=user_id)
    assert len(times) == count
    assert times == sorted(set(times))
    earliest = first or start - timedelta(weeks=3)
    assert earliest < times[0].date()
    assert times[-1].date() < end
    assert all(time(7) <= moment.time() < time(22) for moment in times)
    assert times == session_times(recipe, period, count=count, user_id=user_id)


def test_users_periods_and_seeds_have_times_of_their_own() -> None:
    def drawn(index: int = 1, user_id: str = "u", seed: int = 1) -> object:
        recipe = small_recipe(seed=seed)
        start, end = period_dates(recipe, index)
        period = TrajectoryPeriod(index=index, start=start, end=end, summary=None, updates=(), state={})
        return session_times(recipe, period, count=3, user_id=user_id)[0]

    assert len({drawn(), drawn(index=2), drawn(user_id="v"), drawn(seed=2)}) == 4
