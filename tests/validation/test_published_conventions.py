"""Conventions of the published set are no faults: evenings of a period's last day, and updates counted over the whole life."""

from collections import Counter
from datetime import datetime, time, timedelta

from assets.amemgym.episode_parts import parts_of
from assets.amemgym.records.episode import EpisodePeriod
from assets.amemgym.records.state import SessionSet
from tests.support import scenario
from validation.amemgym.episodes import updates_are_counted
from validation.amemgym.session_queries import sessions_lie_inside_their_period


def test_a_session_may_be_in_the_evening_of_its_periods_last_day_and_not_later() -> None:
    recipe = scenario.recipe()
    episode = scenario.episode()
    for days, outside in ((0, 0), (1, 1)):
        record = parts_of(episode)["session_queries"]
        assert isinstance(record, SessionSet)
        last = record.periods[-1]
        evening = datetime.combine(episode.periods[-1].period_end, time(21, 30)) + timedelta(days=days)
        moved = last.sessions[-1].model_copy(update={"session_time": evening})
        period = last.model_copy(update={"sessions": (*last.sessions[:-1], moved)})
        changed = record.model_copy(update={"periods": (*record.periods[:-1], period)})
        assert len(list(sessions_lie_inside_their_period(changed, recipe))) == outside


def test_updates_may_be_counted_over_the_whole_life_in_each_period() -> None:
    episode = scenario.episode()
    counts = Counter(update.variable for period in episode.periods for update in period.updates)
    for more, faults in ((0, False), (1, True)):
        periods: list[EpisodePeriod] = []
        for period in episode.periods:
            whole = {name: counts[name] + more for name in period.state}
            periods.append(period.model_copy(update={"update_counts": whole}))
        counted = episode.model_copy(update={"periods": tuple(periods)})
        assert bool(list(updates_are_counted(counted, scenario.recipe()))) == faults
