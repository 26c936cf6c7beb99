"""A finished user taken apart again: from an episode of anybody, the records of the stages and the recipe that would fit it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, mode
from typing import Any

from assets.amemgym.recipe import MAX_STATES_PER_QUERY
from assets.amemgym.records.episode import Episode
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
)
from assets.records.base import ItemRecord


def parts_of(episode: Episode) -> dict[str, ItemRecord]:
    """The records of the stages that an episode tells of, by stage. Each is built as it is: rules say what is wrong with it."""
    user = episode.user_id
    periods = [
        TrajectoryPeriod.model_construct(
            index=index,
            start=period.period_start,
            end=period.period_end,
            summary=period.period_summary,
            updates=period.updates,
            state=period.state,
        )
        for index, period in enumerate(episode.periods)
    ]
    events = [
        PeriodEvents.model_construct(
            index=index,
            events=tuple(Event.model_construct(states=tuple(one.exposed_states), text=one.event) for one in own if one.event),
        )
        for index, own in enumerate((period.sessions for period in episode.periods[1:]), start=1)
    ]
    sessions = [PeriodSessions.model_construct(index=index, sessions=one.sessions) for index, one in enumerate(episode.periods)]
    answers = [
        QuestionAnswers.model_construct(question_id=one.question_id, choices=one.answer_choices, golden=one.golden)
        for one in episode.questions
    ]
    return {
        "user_profiles": episode.user_profile,
        "state_schema": episode.state_schema,
        "state_trajectory": StateTrajectory.model_construct(user_id=user, periods=tuple(periods)),
        "events": EventSet.model_construct(user_id=user, periods=tuple(events)),
        "session_queries": SessionSet.model_construct(user_id=user, periods=tuple(sessions), gate_records=()),
        "answers": AnswerSet.model_construct(user_id=user, questions=tuple(answers), gate_records=()),
        "episodes": episode,
    }


def named_once(schema: StateSchema, answers: AnswerSet) -> tuple[StateSchema, AnswerSet]:
    """Both with each variable once in a question, for judges who read variants as variables with their values.

    An option that gives one variable two values cannot be judged, and a question that is left with a single option neither.
    """
    pairs = [_named_once(*pair) for pair in zip(schema.questions, answers.questions, strict=True)]
    kept = [(question, own) for question, own in pairs if len(own.choices) > 1]
    return (
        schema.model_copy(update={"questions": tuple(question for question, _ in kept)}),
        answers.model_copy(update={"questions": tuple(own for _, own in kept)}),
    )


def _named_once(question: SchemaQuestion, answers: QuestionAnswers) -> tuple[SchemaQuestion, QuestionAnswers]:
    names = tuple(dict.fromkeys(question.required_info))
    if names == question.required_info:
        return question, answers
    choices = [once for choice in answers.choices if (once := _choice_named_once(question.required_info, choice))]
    return question.model_copy(update={"required_info": names}), answers.model_copy(update={"choices": tuple(choices)})


def _choice_named_once(names: Sequence[str], choice: AnswerChoice) -> AnswerChoice | None:
    """None for a choice that contradicts itself."""
    values = dict(zip(names, choice.state, strict=True))
    agrees = all(values[name] == value for name, value in zip(names, choice.state, strict=True))
    return choice.model_copy(update={"state": tuple(values.values())}) if agrees else None


def fitting_counts(episodes: Sequence[Episode]) -> Mapping[str, Any]:
    """A recipe's counts and dates as most of these users have them, so that rules find the users who differ."""
    schemas, periods = [one.state_schema for one in episodes], mode(len(one.periods) for one in episodes) - 1
    questions = mode(len(one.questions) for one in episodes)
    states = min(6, max(len(set(one.required_info)) for schema in schemas for one in schema.questions))
    choices = mode(len(variable.choices) for schema in schemas for variable in schema.variables)
    choices = min(10, choices)
    options = min(len(question.answer_choices) for one in episodes for question in one.questions)
    changed = Counter((one.user_id, update.variable) for one in episodes for period in one.periods for update in period.updates)
    most_changes = max(changed.values(), default=1)
    room = questions * states * min(most_changes, max(1, periods)) // max(1, periods)
    return {
        "start_date": mode(one.start_date for one in episodes),
        "num_users": len(episodes),
        "num_questions": min(100, questions),
        "num_states_per_question": states,
        "num_choices_per_state": choices,
        "num_periods": max(1, periods),
        "num_months_per_period": _months(episodes),
        "num_changes_per_period": max(1, min(room, round(_mean(_updates(episodes))))),
        "max_changes_per_state": most_changes,
        "min_variants_per_question": max(2, min(20, options, choices**states)),
        "max_states_per_query": max(1, min(MAX_STATES_PER_QUERY, max(_told_at_once(episodes), default=1))),
    }


def _updates(episodes: Iterable[Episode]) -> list[int]:
    return [len(period.updates) for one in episodes for period in one.periods[1:]]


def _told_at_once(episodes: Iterable[Episode]) -> list[int]:
    return [len(session.exposed_states) for one in episodes for session in one.periods[0].sessions]


def _mean(counts: Sequence[int]) -> float:
    return fmean(counts) if counts else 1.0


def _months(episodes: Iterable[Episode]) -> int:
    """The months of most periods; one where there is no later period."""
    lengths = [
        12 * (period.period_end.year - period.period_start.year) + period.period_end.month - period.period_start.month
        for one in episodes
        for period in one.periods
        if period.period_start
    ]
    return max(1, min(24, mode(lengths))) if lengths else 1
