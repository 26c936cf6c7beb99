"""Everything about one user: one row of the dataset. A wrong episode cannot be built."""

from collections.abc import Mapping
from datetime import date
from itertools import count
from typing import Self

from pydantic import Field, model_validator

from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerChoice, QuestionAnswers
from assets.amemgym.records.state import Session, StateSchema, StateTrajectory, StateUpdate, TrajectoryPeriod, check_periods
from assets.amemgym.records.user import UserRecord
from assets.records.base import Record, Text


class EpisodePeriod(Record):
    """A period with its sessions; `update_counts` is how often each variable has changed up to its end."""

    period_start: date | None = Field(description="first day; none of the initial period")
    period_end: date = Field(description="the day on which the state is as given")
    period_summary: str | None = Field(description="what happened, in a few words; none of the initial period")
    sessions: tuple[Session, ...] = Field(description="in order of time")
    state: dict[str, str] = Field(description="every variable's value at the end")
    updates: tuple[StateUpdate, ...] = Field(description="what changed since the period before")
    update_counts: dict[str, int] = Field(description="how often each variable has changed so far")

    @property
    def days(self) -> dict[str, date | None]:
        """The day of each change, by variable."""
        return {update.variable: update.day for update in self.updates}


class EpisodeQuestion(Record):
    """A question with its options; `golden[t]` is the choice id that is right at the end of period t."""

    question_id: str = Field(description="q01, q02, ...")
    query: Text = Field(description="the question in the user's words")
    required_info: tuple[str, ...] = Field(description="state variables, in the order of every variant's values")
    answer_choices: tuple[AnswerChoice, ...] = Field(description="the options in the order shown")
    golden: tuple[str, ...] = Field(description="by period, the choice_id that is right at its end")


class Episode(UserRecord):
    """Invariants: references resolve, states follow from updates, exactly one option of each question matches each
    period's state, and it is the golden one; every update is exposed by a session of its period, and nothing else is; noise
    restates what holds, or mentions what does not.
    """

    start_date: date = Field(description="day of the initial state")
    user_profile: UserProfile = Field(description="who the user is")
    state_schema: StateSchema = Field(description="the variables, and the questions in terms of them")
    periods: tuple[EpisodePeriod, ...] = Field(description="the initial period, then all others in order")
    questions: tuple[EpisodeQuestion, ...] = Field(description="the questions with their options")

    @property
    def display_name(self) -> str:
        return self.user_profile.name

    @property
    def own_texts(self) -> tuple[str, ...]:
        return tuple(question.query for question in self.questions)

    @model_validator(mode="after")
    def is_consistent(self) -> Self:
        _check_references(self)
        for index, period in enumerate(self.periods):
            _check_values(self.state_schema, period, index)
        check_periods(list(map(_without_sessions, count(), self.periods)))
        for index, period in enumerate(self.periods):
            _check_exposure(period, index)
            for question in self.questions:
                _check_golden(question, period, index)
        return self


def _check_references(episode: Episode) -> None:
    for part in (episode.user_profile, episode.state_schema):
        if part.user_id != episode.user_id:
            raise ValueError(f"A part of user {episode.user_id!r} belongs to user {part.user_id!r}.")
    for question in episode.questions:
        unknown = sorted(set(question.required_info) - set(episode.state_schema.choices))
        if unknown:
            raise ValueError(f"Question {question.question_id} requires unknown variables: {unknown}.")
        if len(question.golden) != len(episode.periods):
            raise ValueError(
                f"Question {question.question_id} has {len(question.golden)} golden choices for {len(episode.periods)} periods."
            )


def _without_sessions(index: int, period: EpisodePeriod) -> TrajectoryPeriod:
    return TrajectoryPeriod(
        index=index,
        start=period.period_start,
        end=period.period_end,
        summary=period.period_summary,
        updates=period.updates,
        state=period.state,
    )


def _check_values(schema: StateSchema, period: EpisodePeriod, index: int) -> None:
    # In the schema's order, too: states of equal values are equal bytes.
    if list(period.state) != list(schema.choices):
        raise ValueError(f"The state of period {index} does not assign exactly the schema's variables.")
    for name, value in period.state.items():
        if value not in schema.choices[name]:
            raise ValueError(f"Period {index} sets {name!r} to {value!r}, which is none of its choices.")


def _check_exposure(period: EpisodePeriod, index: int) -> None:
    exposed: dict[str, str] = {}
    for session in period.sessions:
        if not session.is_noise:
            exposed.update(session.exposed_states)
        elif not session.exposed_states.items() <= period.state.items():
            raise ValueError(f"A session of period {index} restates {session.exposed_states}, which does not hold.")
        elif session.mentions.items() & period.state.items():
            raise ValueError(f"A session of period {index} mentions {session.mentions} as what does not hold, and it does.")
    # Initial sessions expose the whole state, later ones the updates alone.
    due = period.state
    if index > 0:
        due = {update.variable: update.new for update in period.updates}
    if exposed != due:
        differing = sorted({name for name, _ in exposed.items() ^ due.items()})
        raise ValueError(f"The sessions of period {index} do not expose exactly its updates; see {differing}.")


def _check_golden(question: EpisodeQuestion, period: EpisodePeriod, index: int) -> None:
    variant = tuple(period.state[name] for name in question.required_info)
    matching = [choice.choice_id for choice in question.answer_choices if choice.state == variant]
    if matching != [question.golden[index]]:
        raise ValueError(
            f"In period {index}, question {question.question_id} has the golden choice {question.golden[index]!r} "
            f"while the options that match the state are {matching}."
        )


def join_periods(trajectory: StateTrajectory, sessions: tuple[tuple[Session, ...], ...]) -> tuple[EpisodePeriod, ...]:
    """Put each period's sessions beside its state and count the updates so far."""
    counts = dict.fromkeys(trajectory.periods[0].state, 0)
    periods: list[EpisodePeriod] = []
    for period, own in zip(trajectory.periods, sessions, strict=True):
        for update in period.updates:
            counts[update.variable] += 1
        periods.append(
            EpisodePeriod(
                period_start=period.start,
                period_end=period.end,
                period_summary=period.summary,
                sessions=own,
                state=period.state,
                updates=period.updates,
                update_counts=dict(counts),
            )
        )
    return tuple(periods)


def join_questions(schema: StateSchema, answers: tuple[QuestionAnswers, ...]) -> tuple[EpisodeQuestion, ...]:
    """Put each question's options beside its words."""
    options = {answer.question_id: answer for answer in answers}
    questions: list[EpisodeQuestion] = []
    for question in schema.questions:
        own = options[question.question_id]
        questions.append(
            EpisodeQuestion(
                question_id=question.question_id,
                query=question.text,
                required_info=question.required_info,
                answer_choices=own.choices,
                golden=own.golden,
            )
        )
    return tuple(questions)


def options_left(episode: Episode, question: EpisodeQuestion, *, window: int = 1) -> list[int]:
    """Return by period how many options fit the values that its sessions expose: the right one is always among them.

    `window`: so many periods are read, the last of which is the period itself.
    """
    counts: list[int] = []
    for number in range(1, len(episode.periods) + 1):
        exposed: dict[str, str] = {}
        for period in episode.periods[max(0, number - window) : number]:
            for session in period.sessions:
                exposed.update(session.exposed_states)
        counts.append(len(fitting_options(question, exposed)))
    return counts


def fitting_options(question: EpisodeQuestion, known: Mapping[str, str]) -> list[str]:
    """Return the choice ids of the options that fit the known values; of the others any will do."""
    values = list(map(known.get, question.required_info))
    fitting: list[str] = []
    for choice in question.answer_choices:
        if all(value in (None, own) for value, own in zip(values, choice.state, strict=True)):
            fitting.append(choice.choice_id)
    return fitting
