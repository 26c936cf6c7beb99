"""Sessions: the first utterances with which the user lets the assistant know (u_{t,k} in the paper)."""

from datetime import datetime
from itertools import pairwise
from typing import Self

from pydantic import Field, model_validator

from assets.records.base import Record, Text, UserRecord, duplicates
from assets.records.gate import GateRecord


class ChatMessage(Record):
    """One turn of a recorded dialogue; generation leaves sessions without any."""

    role: str
    content: str


class Session(Record):
    """One session's first utterance, its time, and the state values it exposes. Initial sessions have no event."""

    session_time: datetime
    event: str | None
    exposed_states: dict[str, str] = Field(min_length=1)
    query: Text
    messages: tuple[ChatMessage, ...] = ()


class PeriodSessions(Record):
    """The sessions of one period, in order of time."""

    index: int
    sessions: tuple[Session, ...]

    @model_validator(mode="after")
    def times_increase(self) -> Self:
        times = [session.session_time for session in self.sessions]
        if any(later <= earlier for earlier, later in pairwise(times)):
            raise ValueError(f"The sessions of period {self.index} are not in strictly increasing order of time.")
        exposed = [name for session in self.sessions for name in session.exposed_states]
        if duplicates(exposed):
            raise ValueError(f"Period {self.index} exposes {duplicates(exposed)} in more than one session.")
        return self


class SessionSet(UserRecord):
    """Sessions of periods 0 to N_p, and what the exposure gate saw on the way."""

    periods: tuple[PeriodSessions, ...]
    gate_records: tuple[GateRecord, ...]
