"""Life events that caused the updates of a period (e_t in the paper)."""

from assets.records.base import Name, Record, Text, UserRecord


class Event(Record):
    """What happened, and the variables whose updates it caused."""

    states: tuple[Name, ...]
    text: Text


class PeriodEvents(Record):
    """The events of one period; together they cause each of its updates once."""

    index: int
    events: tuple[Event, ...]


class EventSet(UserRecord):
    """Events of periods 1 to N_p."""

    periods: tuple[PeriodEvents, ...]
