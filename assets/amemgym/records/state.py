"""A user's state: its variables, how their values evolve, the events behind that, and the sessions that expose them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from itertools import pairwise
from typing import Literal, Self, TypeVar

from pydantic import Field, model_validator

from assets.amemgym.records.user import UserRecord
from assets.records.base import GateRecord, Name, Record, Text, duplicates

T = TypeVar("T")
# What a session tells of the user's state: a value that is new, nothing, a value that holds already, a value of somebody
# else, or one that the user plans, wishes for or once had. All but the first are noise.
SessionKind = Literal["tells", "unrelated", "restates", "of_another", "not_now"]
TELLS: SessionKind = "tells"
UNRELATED: SessionKind = "unrelated"
NOISE_KINDS: tuple[SessionKind, ...] = (UNRELATED, "restates", "of_another", "not_now")


class StateVariable(Record):
    """A variable, its mutually exclusive choices, and the drafted info types that it replaces."""

    name: Name = Field(description="unique within the user")
    choices: tuple[Name, ...] = Field(description="values that exclude each other")
    merged_from: tuple[Name, ...] = Field(description="the drafted information types that it replaces")

    @model_validator(mode="after")
    def choices_differ(self) -> Self:
        if duplicates(self.choices) or len(self.choices) < 2:
            raise ValueError(f"Variable {self.name!r} needs two or more different choices, not {list(self.choices)}.")
        return self


class SchemaQuestion(Record):
    """A question in terms of state variables; their order is the order of every variant of it.

    Generation names each variable once. In data from elsewhere a question may name one twice, where two of its information
    types were merged.
    """

    question_id: Name = Field(description="as drafted")
    text: Text = Field(description="the question in the user's words")
    required_info: tuple[Name, ...] = Field(description="state variables, in the order of every variant's values")


class StateSchema(UserRecord):
    """Variables differ, and every question's variables exist. In data from elsewhere a variable may serve no question."""

    variables: tuple[StateVariable, ...] = Field(description="the canonical state variables")
    questions: tuple[SchemaQuestion, ...] = Field(description="the questions in terms of these variables")

    @model_validator(mode="after")
    def variables_and_questions_agree(self) -> Self:
        names = [variable.name for variable in self.variables]
        if duplicates(names):
            raise ValueError(f"The schema names {duplicates(names)} twice.")
        unknown = sorted(self.used - set(names))
        if unknown:
            raise ValueError(f"The questions use unknown variables {unknown}.")
        return self

    @property
    def never_together(self) -> tuple[dict[str, str], ...]:
        """Values of two variables that exclude each other; none are known of a schema that nobody judged."""
        return ()

    @property
    def known_at_first(self) -> Mapping[str, str]:
        """Values that the profile says hold on the start date; none are known of a schema that nobody judged."""
        return {}

    def excluded(self, state: Mapping[str, str]) -> list[dict[str, str]]:
        """Return the pairs of values that exclude each other of which the state, which may lack variables, holds both."""
        return [pair for pair in self.never_together if pair.items() <= state.items()]

    def without_judgements(self) -> "StateSchema":
        """Return the schema without its judges' findings."""
        return StateSchema(user_id=self.user_id, variables=self.variables, questions=self.questions)

    @cached_property
    def used(self) -> set[str]:
        """The variables that some question needs."""
        used: set[str] = set()
        for question in self.questions:
            used.update(question.required_info)
        return used

    @cached_property
    def choices(self) -> dict[str, list[str]]:
        """Variable name to its choices, in schema order: the reference's `state_schema`."""
        return {variable.name: list(variable.choices) for variable in self.variables}


class JudgedSchema(StateSchema):
    """A schema as its judges left it. Their findings are no part of an episode."""

    exclusive: tuple[dict[str, str], ...] = Field(
        default=(), description="values of two variables that nobody has at the same time, as far as judges know"
    )
    stated: dict[str, str] = Field(
        default_factory=dict[str, str], description="values that the profile says hold on the start date, by variable"
    )
    gate_records: tuple[GateRecord, ...] = Field(default=(), description="every vote on choices, questions and profile")

    @model_validator(mode="after")
    def findings_are_choices(self) -> Self:
        for name, value in self.stated.items():
            if value not in self.choices.get(name, ()):
                raise ValueError(f"{value!r} is no choice of {name!r}, and so no profile states it.")
        for pair in self.exclusive:
            known = [value in self.choices.get(name, ()) for name, value in pair.items()]
            if known != [True, True]:
                raise ValueError(f"{pair} are no choices of two variables, and so exclude nothing.")
        return self

    @property
    def never_together(self) -> tuple[dict[str, str], ...]:
        return self.exclusive

    @property
    def known_at_first(self) -> Mapping[str, str]:
        return self.stated


def select_values(values: Mapping[str, T], names: Iterable[str]) -> dict[str, T]:
    """Return the values of these names, in the names' order."""
    return {name: values[name] for name in names}


def without(values: Mapping[str, T], names: Iterable[str]) -> dict[str, T]:
    """Return the values of all names but these."""
    left_out = set(names)
    return {name: value for name, value in values.items() if name not in left_out}


class StateUpdate(Record):
    """One variable's change within a period."""

    variable: Name = Field(description="the variable that changes")
    old: Name = Field(description="its value before")
    new: Name = Field(description="its value from this period on")
    day: date | None = Field(default=None, description="the day on which it changes; none in data from elsewhere")

    @model_validator(mode="after")
    def really_changes(self) -> Self:
        if self.old == self.new:
            raise ValueError(f"{self.variable!r} is updated from {self.old!r} to the same value.")
        return self


def shared_day(days: Mapping[str, date | None], variables: Iterable[str]) -> date | None:
    """Return the day of these changes, which share an event and so its day; None where it is not known."""
    return next(map(days.get, variables), None)


def variables_of(updates: Iterable[StateUpdate]) -> list[str]:
    """Return the variables that change, in order."""
    return [update.variable for update in updates]


class TrajectoryPeriod(Record):
    """Months between two states. Period 0 is the initial one: no start, no updates, it ends on the start date."""

    index: int = Field(description="0 is the initial period")
    start: date | None = Field(description="first day; none of the initial period")
    end: date = Field(description="the day on which the state is as given")
    summary: str | None = Field(description="what happened, in a few words; none of the initial period")
    updates: tuple[StateUpdate, ...] = Field(description="what changed since the period before")
    state: dict[str, str] = Field(description="every variable's value at the end")

    @property
    def changed(self) -> list[str]:
        """The variables that the period changes."""
        return variables_of(self.updates)

    @property
    def days(self) -> dict[str, date | None]:
        """The day of each change, by variable."""
        return {update.variable: update.day for update in self.updates}

    def values_of(self, names: Iterable[str]) -> dict[str, str]:
        """Return the values that these variables have at the end of the period."""
        return select_values(self.state, names)


class StateTrajectory(UserRecord):
    """Periods in order; each state is the one before with the updates applied, and dates chain."""

    periods: tuple[TrajectoryPeriod, ...] = Field(description="the initial period, then all others in order")
    gate_records: tuple[GateRecord, ...] = Field(default=(), description="every vote on the summaries")

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
    for variable, day in period.days.items():
        if day is not None and not before.end < day < period.end:
            raise ValueError(f"{variable!r} changes on {day}, which lies outside period {period.index}.")
    repeated = duplicates(period.changed)
    if repeated:
        raise ValueError(f"Period {period.index} updates {repeated} twice.")
    state = dict(before.state)
    for update in period.updates:
        if state.get(update.variable) != update.old:
            raise ValueError(f"Period {period.index} changes {update.variable!r} from {update.old!r}, which it was not.")
        state[update.variable] = update.new
    if state != period.state:
        raise ValueError(f"The state of period {period.index} does not follow from its updates.")


class Event(Record):
    """An event in the user's life, and the variables whose updates it caused."""

    states: tuple[Name, ...] = Field(description="the variables whose updates it caused")
    text: Text = Field(description="what happened")
    day: date | None = Field(default=None, description="the day of its updates; none in data from elsewhere")


class PeriodEvents(Record):
    """The events of one period; together they cause each of its updates once."""

    index: int = Field(description="the period, from 1")
    events: tuple[Event, ...] = Field(description="in order of their days; together they cause each update of the period once")


class EventSet(UserRecord):
    """Events of periods 1 to N_p."""

    periods: tuple[PeriodEvents, ...] = Field(description="periods after the initial one, in order")
    gate_records: tuple[GateRecord, ...] = Field(default=(), description="every vote on the events")

    @property
    def events(self) -> list[Event]:
        """The events of all periods in order."""
        events: list[Event] = []
        for period in self.periods:
            events.extend(period.events)
        return events


class ChatMessage(Record):
    """One turn of a recorded dialogue; generation leaves sessions without any."""

    role: str = Field(description="user or assistant")
    content: str = Field(description="what was said")


class Session(Record):
    """One session's first utterance, its time, and the state values it exposes. Initial sessions and noise have no event."""

    session_time: datetime = Field(description="when the session begins; within its period, increasing")
    event: str | None = Field(description="what the user tells of; none of the initial period, and none of noise")
    exposed_states: dict[str, str] = Field(description="the values that the query lets an assistant know of the user")
    kind: SessionKind = Field(default=TELLS, description="what it tells of the user's state: something new, or noise")
    mentions: dict[str, str] = Field(
        default_factory=dict[str, str], description="values that are spoken of and do not hold of the user"
    )
    mentioned_as: str = Field(default="", description="whose those values are, or: plan_or_wish, past")
    query: Text = Field(description="the first utterance of the session")
    messages: tuple[ChatMessage, ...] = Field(default=(), description="a recorded dialogue; generation leaves it empty")

    @property
    def is_noise(self) -> bool:
        return self.kind != TELLS

    @model_validator(mode="after")
    def kind_fits_the_values(self) -> Self:
        if bool(self.exposed_states) != (self.kind in ("tells", "restates")):
            raise ValueError(f"A session of the kind {self.kind!r} does not expose {list(self.exposed_states)}.")
        if bool(self.mentions) != (self.kind in ("of_another", "not_now")):
            raise ValueError(f"A session of the kind {self.kind!r} does not mention {list(self.mentions)}.")
        return self


class PeriodSessions(Record):
    """The sessions of one period, in order of time."""

    index: int = Field(description="0 is the initial period")
    sessions: tuple[Session, ...] = Field(description="in order of time")

    @model_validator(mode="after")
    def times_increase(self) -> Self:
        for earlier, later in pairwise(self.sessions):
            if later.session_time <= earlier.session_time:
                raise ValueError(f"The sessions of period {self.index} are not in strictly increasing order of time.")
        exposed: list[str] = []
        for session in self.sessions:
            if not session.is_noise:
                exposed.extend(session.exposed_states)
        if duplicates(exposed):
            raise ValueError(f"Period {self.index} exposes {duplicates(exposed)} in more than one session.")
        return self


class SessionSet(UserRecord):
    """Sessions of periods 0 to N_p, and every vote of the exposure gate."""

    periods: tuple[PeriodSessions, ...] = Field(description="all periods in order, with their sessions")
    gate_records: tuple[GateRecord, ...] = Field(description="every vote of the exposure gate")

    @property
    def sessions(self) -> list[Session]:
        """The sessions of all periods in order of time."""
        sessions: list[Session] = []
        for period in self.periods:
            sessions.extend(period.sessions)
        return sessions
