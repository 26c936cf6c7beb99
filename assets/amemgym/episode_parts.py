"""The parts of a finished user: from an episode of anybody, the records of the stages and the recipe that would fit it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from statistics import fmean, mode
from typing import Any

from assets.amemgym.records.episode import Episode, EpisodePeriod
from assets.amemgym.records.question import AnswerChoice, AnswerSet, QuestionAnswers
from assets.amemgym.records.state import (
    Event,
    EventSet,
    PeriodEvents,
    PeriodSessions,
    SchemaQuestion,
    SessionSet,
    StateSchema,
    StateTrajectory,
    TrajectoryPeriod,
    shared_day,
)
from assets.recipe.amemgym import MAX_STATES_PER_QUERY
from assets.records.base import ItemRecord


def parts_of(episode: Episode) -> dict[str, ItemRecord]:
    """Return the records of the stages that an episode tells of, by stage.

    Each is built without its checks, so that rules can say what is wrong with it.
    """
    user = episode.user_id
    periods: list[TrajectoryPeriod] = []
    sessions: list[PeriodSessions] = []
    events: list[PeriodEvents] = []
    for index, period in enumerate(episode.periods):
        periods.append(
            TrajectoryPeriod.model_construct(
                index=index,
                start=period.period_start,
                end=period.period_end,
                summary=period.period_summary,
                updates=period.updates,
                state=period.state,
            )
        )
        sessions.append(PeriodSessions.model_construct(index=index, sessions=period.sessions))
        if index > 0:
            events.append(PeriodEvents.model_construct(index=index, events=tuple(_events(period))))
    answers: list[QuestionAnswers] = []
    for question in episode.questions:
        own = QuestionAnswers.model_construct(
            question_id=question.question_id, choices=question.answer_choices, golden=question.golden
        )
        answers.append(own)
    return {
        "user_profiles": episode.user_profile,
        "state_schema": episode.state_schema,
        "state_trajectory": StateTrajectory.model_construct(user_id=user, periods=tuple(periods)),
        "events": EventSet.model_construct(user_id=user, periods=tuple(events)),
        "session_queries": SessionSet.model_construct(user_id=user, periods=tuple(sessions), gate_records=()),
        "answers": AnswerSet.model_construct(user_id=user, questions=tuple(answers), gate_records=()),
        "episodes": episode,
    }


def _events(period: EpisodePeriod) -> Iterator[Event]:
    for session in period.sessions:
        if session.event:
            day = shared_day(period.days, session.exposed_states)
            yield Event.model_construct(states=tuple(session.exposed_states), text=session.event, day=day)


def named_once(schema: StateSchema, answers: AnswerSet) -> tuple[StateSchema, AnswerSet]:
    """Return both with each variable once in a question, for judges who read variants as variables with their values.

    An option that gives one variable two values cannot be judged, and a question that is left with a single option neither.
    """
    questions: list[SchemaQuestion] = []
    judged: list[QuestionAnswers] = []
    for question, own in zip(schema.questions, answers.questions, strict=True):
        names = tuple(dict.fromkeys(question.required_info))
        if names != question.required_info:
            choices = tuple(_choices_named_once(question.required_info, own.choices))
            question = question.model_copy(update={"required_info": names})
            own = own.model_copy(update={"choices": choices})
        if len(own.choices) > 1:
            questions.append(question)
            judged.append(own)
    return (
        schema.model_copy(update={"questions": tuple(questions)}),
        answers.model_copy(update={"questions": tuple(judged)}),
    )


def _choices_named_once(names: Sequence[str], choices: Iterable[AnswerChoice]) -> Iterator[AnswerChoice]:
    """Yield the choices without repeated variables; a choice that contradicts itself is left out."""
    for choice in choices:
        pairs = list(zip(names, choice.state, strict=True))
        values = dict(pairs)
        if values.items() >= set(pairs):
            yield choice.model_copy(update={"state": tuple(values.values())})


@dataclass
class _CountsFound:
    """The counts and dates of some users. A list has an entry for each of what its name says, a user, question or period."""

    start_dates: list[date] = field(default_factory=list[date])
    questions: list[int] = field(default_factory=list[int])
    periods: list[int] = field(default_factory=list[int])
    states: list[int] = field(default_factory=list[int])  # variables of a question
    choices: list[int] = field(default_factory=list[int])  # of a variable
    options: list[int] = field(default_factory=list[int])  # of a question
    exposed: list[int] = field(default_factory=list[int])  # values of an initial session
    updates: list[int] = field(default_factory=list[int])  # of a later period
    months: list[int] = field(default_factory=list[int])  # of a period with a start
    most_changes: int = 1

    def add(self, episode: Episode) -> None:
        """Count what one user has."""
        self.start_dates.append(episode.start_date)
        self.questions.append(len(episode.questions))
        self.periods.append(len(episode.periods))
        for question in episode.state_schema.questions:
            self.states.append(len(set(question.required_info)))
        for variable in episode.state_schema.variables:
            self.choices.append(len(variable.choices))
        for question in episode.questions:
            self.options.append(len(question.answer_choices))
        for session in episode.periods[0].sessions:
            self.exposed.append(len(session.exposed_states))
        changes = Counter[str]()
        for index, period in enumerate(episode.periods):
            if index > 0:
                self.updates.append(len(period.updates))
            for update in period.updates:
                changes[update.variable] += 1
            start = period.period_start
            if start is not None:
                end = period.period_end
                self.months.append(12 * (end.year - start.year) + end.month - start.month)
        self.most_changes = max([self.most_changes, *changes.values()])


def fitting_counts(episodes: Sequence[Episode]) -> Mapping[str, Any]:
    """Return a recipe's counts and dates as most of these users have them, so that rules find the users who differ."""
    found = _CountsFound()
    for episode in episodes:
        found.add(episode)
    periods = max(1, mode(found.periods) - 1)
    questions = mode(found.questions)
    # The limits are those of the recipe's fields: a file beyond them is still given a recipe.
    states = min(6, max(found.states))
    choices = min(10, mode(found.choices))
    # A recipe is refused whose variables cannot change as often as its periods want.
    room = questions * states * min(found.most_changes, periods) // periods
    mean_updates = fmean(found.updates or [1])
    return {
        "start_date": mode(found.start_dates),
        "num_users": len(episodes),
        "num_questions": min(100, questions),
        "num_states_per_question": states,
        "num_choices_per_state": choices,
        "num_periods": periods,
        "num_months_per_period": max(1, min(24, mode(found.months or [1]))),
        "num_changes_per_period": max(1, min(room, round(mean_updates))),
        "max_changes_per_state": found.most_changes,
        "min_variants_per_question": max(2, min(20, choices**states, *found.options)),
        "max_states_per_query": max(1, min(MAX_STATES_PER_QUERY, max(found.exposed, default=1))),
        "cast": any(episode.user_profile.cast.lines for episode in episodes),
    }
