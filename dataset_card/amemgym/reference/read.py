"""From the reference's item to an episode: ids by position, golden options by their unique match."""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from functools import partial
from typing import cast

from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerChoice
from assets.amemgym.records.state import (
    ChatMessage,
    SchemaQuestion,
    Session,
    SessionKind,
    StateSchema,
    StateUpdate,
    StateVariable,
)
from dataset_card.amemgym.reference.schema import (
    ItemSchema,
    PeriodSchema,
    QuestionSchema,
    SchemaError,
    SessionSchema,
    errors_at,
)


def episode_of(item: ItemSchema, *, numbers: Sequence[int] | None = None) -> Episode:
    """Return the episode of an item. Raises SchemaError for the first value that no episode can have.

    `numbers`: the positions of the questions in their file, from 0, where some were left out.
    """
    if numbers is None:
        numbers = range(len(item.qas))
    ids = list(map(question_id, numbers))
    with errors_at("user_profile"):
        profile = UserProfile(user_id=item.id, **item.user_profile.model_dump(exclude={"uuid"}))
    with errors_at("state_schema"):
        schema = _schema_in(item, ids)
    periods = [_period_in(period, index=index, item=item) for index, period in enumerate(item.periods)]
    if not periods:
        raise SchemaError("periods", "there is no initial period")
    questions: list[EpisodeQuestion] = []
    for index, qa in enumerate(item.qas):
        questions.append(question_of(qa, question_id=ids[index], path=f"qas[{index}]", item=item))
    with errors_at("periods"):
        return Episode(
            user_id=item.id,
            start_date=date.fromisoformat(item.start_time),
            user_profile=profile,
            state_schema=schema,
            periods=tuple(periods),
            questions=tuple(questions),
        )


def _schema_in(item: ItemSchema, ids: Sequence[str]) -> StateSchema:
    variables: list[StateVariable] = []
    for name, choices in item.state_schema.items():
        variables.append(StateVariable(name=name, choices=tuple(choices), merged_from=(name,)))
    questions: list[SchemaQuestion] = []
    for index, qa in enumerate(item.qas):
        questions.append(SchemaQuestion(question_id=ids[index], text=qa.query, required_info=tuple(qa.required_info)))
    return StateSchema(user_id=item.id, variables=tuple(variables), questions=tuple(questions))


def _period_in(period: PeriodSchema, *, index: int, item: ItemSchema) -> EpisodePeriod:
    path = f"periods[{index}]"
    before = item.periods[index - 1].state if index else {}
    state = dict(before)
    olds_fit = True
    for name, update in period.updates.items():
        state[name] = update.new
        olds_fit = olds_fit and update.old == before.get(name)
    if state != period.state or not olds_fit:
        raise SchemaError(f"{path}.updates", "the state before and these updates do not give the state of the period")
    updates: list[StateUpdate] = []
    with errors_at(path):
        for name, update in period.updates.items():
            # The initial period of a file lists its values as updates, and an episode's has none.
            if index > 0:
                updates.append(StateUpdate(variable=name, old=cast(str, update.old), new=update.new))
        changed = period.updates if index else period.state
        return EpisodePeriod(
            period_start=date.fromisoformat(period.period_start) if period.period_start else None,
            period_end=date.fromisoformat(period.period_end),
            period_summary=period.period_summary,
            sessions=tuple(map(partial(_session_in, changed=changed), period.sessions)),
            state=_in_order(period.state, item.state_schema),
            updates=tuple(updates),
            update_counts=period.update_cnts,
        )


def _in_order(state: dict[str, str], schema: dict[str, list[str]]) -> dict[str, str]:
    """Return the state in the schema's order: JSON objects have none, and episodes do."""
    return {name: state[name] for name in schema if name in state} | state


def _session_in(session: SessionSchema, *, changed: Collection[str]) -> Session:
    """Return the session; `changed`: the variables that its period changes, of the initial one all.

    The file has no kinds of noise. What exposes nothing counts as `unrelated`, whatever it mentions.
    """
    exposed = session.exposed_states
    kind: SessionKind = "tells"
    if not exposed:
        kind = "unrelated"
    elif exposed.keys().isdisjoint(changed):
        kind = "restates"
    return Session(
        kind=kind,
        session_time=datetime.fromisoformat(session.session_time),
        event=session.event,
        exposed_states=session.exposed_states,
        query=session.query,
        messages=tuple(ChatMessage(role=message.role, content=message.content) for message in session.messages),
    )


def question_of(qa: QuestionSchema, *, question_id: str, path: str, item: ItemSchema) -> EpisodeQuestion:
    """Return one question of the item. Raises SchemaError, whose message begins with `path`."""
    choices: list[AnswerChoice] = []
    with errors_at(f"{path}.answer_choices"):
        for number, choice in enumerate(qa.answer_choices, start=1):
            choice_id = f"{question_id}-c{number}"
            state = tuple(choice.state)
            choices.append(AnswerChoice(choice_id=choice_id, state=state, answer=choice.answer, type=choice.type))
    golden = [_golden(qa, choices, state=period.state, path=path) for period in item.periods]
    with errors_at(path):
        return EpisodeQuestion(
            question_id=question_id,
            query=qa.query,
            required_info=tuple(qa.required_info),
            answer_choices=tuple(choices),
            golden=tuple(golden),
        )


def _golden(qa: QuestionSchema, choices: Sequence[AnswerChoice], *, state: dict[str, str], path: str) -> str:
    variant = tuple(state.get(name) for name in qa.required_info)
    matching = [choice.choice_id for choice in choices if choice.state == variant]
    if len(matching) != 1:
        raise SchemaError(f"{path}.answer_choices", f"{len(matching)} options match the state {list(variant)}, not exactly one")
    return matching[0]


def question_id(index: int) -> str:
    return f"q{index + 1:02d}"
