"""From the reference's item to an episode: ids by position, golden options by their unique match."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import cast

from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerChoice
from assets.amemgym.records.state import ChatMessage, SchemaQuestion, Session, StateSchema, StateUpdate, StateVariable
from dataset_card.reference.schema import ItemSchema, PeriodSchema, QuestionSchema, SchemaError, SessionSchema, errors_at


def episode_of(item: ItemSchema, *, numbers: Sequence[int] | None = None) -> Episode:
    """The episode of an item. Raises SchemaError for the first value that no episode can have.

    `numbers`: the positions of the questions in their file, from 0, where some were left out.
    """
    ids = [question_id(index) for index in (range(len(item.qas)) if numbers is None else numbers)]
    with errors_at("user_profile"):
        profile = UserProfile(user_id=item.id, **item.user_profile.model_dump(exclude={"uuid"}))
    with errors_at("state_schema"):
        schema = _schema_in(item, ids)
    periods = tuple(_period_in(period, index=index, item=item) for index, period in enumerate(item.periods))
    if not periods:
        raise SchemaError("periods", "there is no initial period")
    questions = tuple(
        question_of(qa, question_id=name, path=f"qas[{index}]", item=item)
        for index, (name, qa) in enumerate(zip(ids, item.qas, strict=True))
    )
    with errors_at("periods"):
        return Episode(
            user_id=item.id,
            start_date=date.fromisoformat(item.start_time),
            user_profile=profile,
            state_schema=schema,
            periods=periods,
            questions=questions,
        )


def _schema_in(item: ItemSchema, ids: Sequence[str]) -> StateSchema:
    return StateSchema(
        user_id=item.id,
        variables=tuple(
            StateVariable(name=name, choices=tuple(choices), merged_from=(name,)) for name, choices in item.state_schema.items()
        ),
        questions=tuple(
            SchemaQuestion(question_id=name, text=qa.query, required_info=tuple(qa.required_info))
            for name, qa in zip(ids, item.qas, strict=True)
        ),
    )


def _period_in(period: PeriodSchema, *, index: int, item: ItemSchema) -> EpisodePeriod:
    path = f"periods[{index}]"
    before = item.periods[index - 1].state if index else {}
    updated = before | {name: update.new for name, update in period.updates.items()}
    olds = {name: before.get(name) for name in period.updates}
    if updated != period.state or olds != {name: update.old for name, update in period.updates.items()}:
        raise SchemaError(f"{path}.updates", "the state before and these updates do not give the state of the period")
    with errors_at(path):
        return EpisodePeriod(
            period_start=date.fromisoformat(period.period_start) if period.period_start else None,
            period_end=date.fromisoformat(period.period_end),
            period_summary=period.period_summary,
            sessions=tuple(_session_in(session) for session in period.sessions),
            state=_in_order(period.state, item.state_schema),
            updates=tuple(
                StateUpdate(variable=name, old=cast(str, update.old), new=update.new)
                for name, update in period.updates.items()
                if index
            ),
            update_counts=period.update_cnts,
        )


def _in_order(state: dict[str, str], schema: dict[str, list[str]]) -> dict[str, str]:
    """JSON objects have no order, episodes do: the schema's."""
    return {name: state[name] for name in schema if name in state} | state


def _session_in(session: SessionSchema) -> Session:
    return Session(
        session_time=datetime.fromisoformat(session.session_time),
        event=session.event,
        exposed_states=session.exposed_states,
        query=session.query,
        messages=tuple(ChatMessage(role=message.role, content=message.content) for message in session.messages),
    )


def question_of(qa: QuestionSchema, *, question_id: str, path: str, item: ItemSchema) -> EpisodeQuestion:
    """One question of the item. Raises SchemaError, whose message begins with `path`."""
    ids = [f"{question_id}-c{number}" for number in range(1, len(qa.answer_choices) + 1)]
    with errors_at(f"{path}.answer_choices"):
        choices = tuple(
            AnswerChoice(choice_id=choice_id, state=tuple(choice.state), answer=choice.answer, type=choice.type)
            for choice_id, choice in zip(ids, qa.answer_choices, strict=True)
        )
    with errors_at(path):
        return EpisodeQuestion(
            question_id=question_id,
            query=qa.query,
            required_info=tuple(qa.required_info),
            answer_choices=choices,
            golden=tuple(_golden(qa, choices, state=period.state, path=path) for period in item.periods),
        )


def _golden(qa: QuestionSchema, choices: tuple[AnswerChoice, ...], *, state: dict[str, str], path: str) -> str:
    variant = tuple(state.get(name) for name in qa.required_info)
    matching = [choice.choice_id for choice in choices if choice.state == variant]
    if len(matching) != 1:
        raise SchemaError(f"{path}.answer_choices", f"{len(matching)} options match the state {list(variant)}, not exactly one")
    return matching[0]


def question_id(index: int) -> str:
    return f"q{index + 1:02d}"
