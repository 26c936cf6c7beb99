"""Sessions: the first utterances with which the user lets the assistant know (u_{t,k} in the paper)."""

from datetime import datetime
from itertools import pairwise
from typing import Self

from pydantic import Field, model_validator

from assets.records.base import Record, Text, UserRecord, duplicates
from assets.records.gate import GateRecord


class ChatMessage(Record):
    """One turn of a recorded dialogue; generation leaves sessions without any."""

    role: str = Field(description="user or assistant")
    content: str = Field(description="what was said")


class Session(Record):
    """One session's first utterance, its time, and the state values it exposes. Initial sessions have no event."""

    session_time: datetime = Field(description="when the session begins; within its period, increasing")
    event: str | None = Field(description="what the user tells of; none of the initial period")
    exposed_states: dict[str, str] = Field(min_length=1, description="the values that the query lets an assistant know")
    query: Text = Field(description="the first utterance of the session")
    messages: tuple[ChatMessage, ...] = Field(default=(), description="a recorded dialogue; generation leaves it empty")


class PeriodSessions(Record):
    """The sessions of one period, in order of time."""

    index: int = Field(description="0 is the initial period")
    sessions: tuple[Session, ...] = Field(description="in order of time")

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

    periods: tuple[PeriodSessions, ...] = Field(description="all periods in order, with their sessions")
    gate_records: tuple[GateRecord, ...] = Field(description="every vote of the exposure gate")
