"""How a state evolves: the initial state, updates per period (sigma_t in the paper), and the events behind them (e_t)."""

from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Self

from pydantic import Field, model_validator

from assets.records.base import Name, Record, Text, UserRecord, duplicates


class StateUpdate(Record):
    """One variable's change within a period."""

    variable: Name = Field(description="the variable that changes")
    old: Name = Field(description="its value before")
    new: Name = Field(description="its value from this period on")

    @model_validator(mode="after")
    def really_changes(self) -> Self:
        if self.old == self.new:
            raise ValueError(f"{self.variable!r} is updated from {self.old!r} to the same value.")
        return self


class TrajectoryPeriod(Record):
    """Months between two states. Period 0 is the initial one: no start, no updates, it ends on the start date."""

    index: int = Field(description="0 is the initial period")
    start: date | None = Field(description="first day; none of the initial period")
    end: date = Field(description="the day on which the state is as given")
    summary: str | None = Field(description="what happened, in a few words; none of the initial period")
    updates: tuple[StateUpdate, ...] = Field(description="what changed since the period before")
    state: dict[str, str] = Field(description="every variable's value at the end")


class StateTrajectory(UserRecord):
    """Periods in order; each state is the one before with the updates applied, and dates chain."""

    periods: tuple[TrajectoryPeriod, ...] = Field(description="the initial period, then all others in order")

    @model_validator(mode="after")
    def states_follow_from_updates(self) -> Self:
        check_periods(self.periods)
        return self


def check_periods(periods: Sequence[TrajectoryPeriod]) -> None:
    """Raise ValueError unless the periods chain and each state follows from the one before."""
    if not periods:
        raise ValueError("The trajectory has no period.")
    first = periods[0]
    if first.index != 0 or first.start is not None or first.updates:
        raise ValueError("Period 0 has neither a start nor updates.")
    for before, period in pairwise(periods):
        _check_link(before, period)


def _check_link(before: TrajectoryPeriod, period: TrajectoryPeriod) -> None:
    if period.index != before.index + 1 or period.start != before.end or period.end <= before.end:
        raise ValueError(f"Period {period.index} does not begin where period {before.index} ends.")
    variables = [update.variable for update in period.updates]
    if duplicates(variables):
        raise ValueError(f"Period {period.index} updates {duplicates(variables)} twice.")
    state = dict(before.state)
    for update in period.updates:
        if state.get(update.variable) != update.old:
            raise ValueError(f"Period {period.index} changes {update.variable!r} from {update.old!r}, which it was not.")
        state[update.variable] = update.new
    if state != period.state:
        raise ValueError(f"The state of period {period.index} does not follow from its updates.")


class Event(Record):
    """What happened, and the variables whose updates it caused."""

    states: tuple[Name, ...] = Field(description="the variables whose updates it caused")
    text: Text = Field(description="what happened")


class PeriodEvents(Record):
    """The events of one period; together they cause each of its updates once."""

    index: int = Field(description="the period, from 1")
    events: tuple[Event, ...] = Field(description="together they cause each update of the period once")


class EventSet(UserRecord):
    """Events of periods 1 to N_p."""

    periods: tuple[PeriodEvents, ...] = Field(description="periods after the initial one, in order")
