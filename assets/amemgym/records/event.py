"""Life events that caused the updates of a period (e_t in the paper)."""

from pydantic import Field

from assets.records.base import Name, Record, Text, UserRecord


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
