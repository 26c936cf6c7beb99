"""Sessions take place one after another, by day, and the initial ones in the weeks before the start."""

from datetime import date, time, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from assets.amemgym.session_queries.stage import initial_days, times_on
from tests.support.small import small_recipe


@settings(max_examples=50)
@given(start=st.dates(date(1990, 1, 1), date(2090, 1, 1)), count=st.integers(1, 60), user_id=st.text(max_size=5))
def test_initial_sessions_are_on_evenings_of_workdays_in_the_weeks_before_the_start_and_strictly_increase(
    start: date, count: int, user_id: str
) -> None:
    recipe = small_recipe(start_date=start)
    days = initial_days(recipe, count=count, user_id=user_id)
    times = times_on(days, recipe=recipe, user_id=user_id)
    assert [moment.date() for moment in times] == days == sorted(days)
    assert times == sorted(set(times))
    assert start - timedelta(weeks=3) < days[0] <= days[-1] < start
    assert all(time(18) <= moment.time() < time(23) and moment.weekday() < 5 for moment in times)
    assert times == times_on(days, recipe=recipe, user_id=user_id)


def test_a_day_with_more_sessions_than_an_evening_has_slots_still_has_a_time_for_each() -> None:
    times = times_on([date(2020, 1, 1)] * 80, recipe=small_recipe(), user_id="u")
    assert times == sorted(set(times))
    assert all(time(18) <= moment.time() < time(23) for moment in times)


def test_users_days_and_seeds_have_times_of_their_own() -> None:
    def drawn(day: int = 1, user_id: str = "u", seed: int = 1) -> time:
        (moment,) = times_on([date(2020, 1, day)], recipe=small_recipe(seed=seed), user_id=user_id)
        return moment.time()

    assert len({drawn(), drawn(day=2), drawn(user_id="v"), drawn(seed=2)}) == 4
