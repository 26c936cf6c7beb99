"""Stage 7: from states and events, the first utterance of every session, with its exposure gate (section 3.1; App. C.3)."""

import asyncio
from calendar import SATURDAY
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import chain, groupby, islice, repeat
from math import ceil
from operator import itemgetter

from assets.amemgym.events import EVENTS
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import (
    TELLS,
    EventSet,
    PeriodEvents,
    PeriodSessions,
    Session,
    SessionSet,
    StateSchema,
    StateTrajectory,
    TrajectoryPeriod,
    without,
)
from assets.amemgym.session_queries.drafts import (
    NoiseKey,
    QueryDraft,
    UserContext,
    draft_initial,
    draft_updates,
    initial_queries,
    session_ids,
)
from assets.amemgym.session_queries.exposure_gate import (
    QUERIES_OF_ONE_PERIOD,
    Choices,
    Redraft,
    exposure_gate,
    queries_per_call,
    read_exposure,
)
from assets.amemgym.session_queries.noise import draft_noise, draw_noise
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.days import first_day_of_sessions, message_days
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import PromptCalls, Stage
from assets.llm.async_calls import gather_all
from assets.llm.gate import Gate, GateAttempt, pass_gates
from assets.llm.ports import LanguageModel
from assets.recipe.amemgym import AMemGymRecipe, calls_for_changes, values_apart
from assets.records.base import GateRecord
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription
from assets.text.text_checks import blocking_faults

REWRITTEN_QUERIES = 0.1  # of all: 6.2 of a base user's 60, as measured in planning's defaults
NOISE_PER_CALL = 8  # messages of several periods, which a writer varies better side by side
FIRST_HOUR = 18  # Writers know a message's day alone, and tell what the day has brought.
LAST_HOUR = 23
MINUTES_PER_DAY = (LAST_HOUR - FIRST_HOUR) * 60
SLOTS_PER_DAY = MINUTES_PER_DAY // 10  # of which sessions have one each, so that no two begin at the same time


@dataclass(frozen=True)
class PeriodQueries:
    """The drafted queries of one period, each with its way through the gate; noise stands last."""

    period: TrajectoryPeriod
    queries: list[tuple[QueryDraft, GateAttempt]]


async def write_sessions(
    profile: UserProfile,
    schema: StateSchema,
    trajectory: StateTrajectory,
    events: EventSet,
    *,
    recipe: AMemGymRecipe,
    model: LanguageModel,
) -> SessionSet:
    """Draft the queries of all periods, let all pass the exposure gate, and give the sessions their times.

    At the gate queries of different periods share calls.
    """
    user = UserContext(profile, schema, recipe, model)
    drafted = await _draft_periods(user, trajectory, events)
    await _pass_exposure_gates(user, drafted)
    periods: list[PeriodSessions] = []
    records: list[GateRecord] = []
    for draft in drafted:
        periods.append(_sessions(user, draft))
        for _, attempt in draft.queries:
            records.extend(attempt.records)
    return SessionSet(user_id=profile.user_id, periods=tuple(periods), gate_records=tuple(records))


async def draft_initial_sessions(
    profile: UserProfile,
    schema: StateSchema,
    trajectory: StateTrajectory,
    *_: object,
    recipe: AMemGymRecipe,
    model: LanguageModel,
) -> None:
    """Draft the initial queries as soon as there is an initial state, for no judge."""
    if len(trajectory.periods) == 1:
        await _draft_period(UserContext(profile, schema, recipe, model), trajectory.periods[0], None)


async def draft_sessions(
    profile: UserProfile,
    schema: StateSchema,
    trajectory: StateTrajectory,
    events: EventSet,
    _: object,
    *,
    recipe: AMemGymRecipe,
    model: LanguageModel,
) -> None:
    """Draft the queries of the last period that has events, and all noise when all periods have them; for no judge."""
    user = UserContext(profile, schema, recipe, model)
    last = events.periods[-1]
    drafting = gather_all(_draft_period(user, trajectory.periods[last.index], last))
    if last.index < recipe.num_periods:
        await drafting
    else:
        initial = _draft_period(user, trajectory.periods[0], None)
        await gather_all(drafting, _draft_all_noise(user, trajectory, events, initial))


async def _draft_periods(user: UserContext, trajectory: StateTrajectory, events: EventSet) -> list[PeriodQueries]:
    """Draft the queries of all periods at once, and their noise as soon as it is known how many initial ones there are."""
    initial = asyncio.ensure_future(_draft_period(user, trajectory.periods[0], None))
    calls: list[Awaitable[PeriodQueries]] = [initial]
    for period, own_events in zip(trajectory.periods[1:], events.periods, strict=True):
        calls.append(_draft_period(user, period, own_events))
    drafted, noise = await gather_all(gather_all(*calls), _draft_all_noise(user, trajectory, events, initial))
    for period, own_noise in zip(drafted, noise, strict=True):
        period.queries.extend(own_noise.queries)
    return drafted


async def _draft_all_noise(
    user: UserContext, trajectory: StateTrajectory, events: EventSet, initial: Awaitable[PeriodQueries]
) -> list[PeriodQueries]:
    telling = [len((await initial).queries), *(len(period.events) for period in events.periods)]
    keys = draw_noise(user, trajectory, telling)
    drawn = [(period, key) for period, own in zip(trajectory.periods, keys, strict=True) for key in own]
    groups = [drawn[start : start + NOISE_PER_CALL] for start in range(0, len(drawn), NOISE_PER_CALL)]
    written = chain.from_iterable(await gather_all(*(draft_noise(user, group, sample=0) for group in groups)))
    of_periods = [list(islice(written, len(own))) for own in keys]
    return await gather_all(*map(partial(_noise_of_period, user), trajectory.periods, of_periods))


async def _draft_period(user: UserContext, period: TrajectoryPeriod, events: PeriodEvents | None) -> PeriodQueries:
    """Draft the queries of a period; the initial one has no events."""
    drafts = await _initial_drafts(user, period) if events is None else await _update_drafts(user, period, events)
    attempts = await gather_all(*map(partial(_in_style, user, redraft=_redraft(user, period)), drafts))
    return PeriodQueries(period, list(zip(drafts, attempts, strict=True)))


async def _initial_drafts(user: UserContext, period: TrajectoryPeriod) -> list[QueryDraft]:
    # Their number, and so their times, are not known before they are written: nothing in them lies after the first day.
    day = first_day_of_sessions(user.recipe, 0)
    drafts: list[QueryDraft] = []
    queries = await initial_queries(user, period.state, day=day)
    for item_id, query in zip(session_ids(0, repeat(TELLS, len(queries))), queries, strict=True):
        exposed = query.exposed_states
        drafts.append(QueryDraft(item_id, query.query, exposed, without(period.state, exposed), day))
    return drafts


async def _update_drafts(user: UserContext, period: TrajectoryPeriod, events: PeriodEvents) -> list[QueryDraft]:
    rng = SeededRandom(user.recipe.world_seed, user.profile.user_id, "message_days", period.index)
    days = message_days([event.day or period.end for event in events.events], end=period.end, rng=rng)
    told = list(zip(events.events, days, strict=True))
    # Together in one call, or each by itself where a query is to be as easy as can be.
    groups = [[event] for event in told] if values_apart(user.recipe) else [told]
    drafted = await gather_all(*(draft_updates(user, period, group, sample=0) for group in groups))
    queries = chain.from_iterable(drafted)
    drafts: list[QueryDraft] = []
    item_ids = session_ids(period.index, repeat(TELLS, len(told)))
    for item_id, (event, day), query in zip(item_ids, told, queries, strict=True):
        exposed = period.values_of(event.states)
        others = without(period.state, exposed)
        drafts.append(QueryDraft(item_id, query, exposed, others, day, event))
    return drafts


async def _noise_of_period(
    user: UserContext, period: TrajectoryPeriod, written: Sequence[tuple[NoiseKey, str]]
) -> PeriodQueries:
    item_ids = session_ids(period.index, [key.kind for key, _ in written])
    drafts: list[QueryDraft] = []
    for item_id, (key, query) in zip(item_ids, written, strict=True):
        drafts.append(QueryDraft(item_id, query, key.exposed, without(period.state, key.exposed), key.day, key=key))
    attempts = await gather_all(*map(partial(_in_style, user, redraft=_redraft(user, period)), drafts))
    return PeriodQueries(period, list(zip(drafts, attempts, strict=True)))


async def _pass_exposure_gates(user: UserContext, drafted: Sequence[PeriodQueries]) -> None:
    gated: list[list[tuple[Gate[Choices], GateAttempt]]] = []
    for period_draft in drafted:
        redraft = _redraft(user, period_draft.period)
        gates: list[tuple[Gate[Choices], GateAttempt]] = []
        for draft, attempt in period_draft.queries:
            gate = exposure_gate(user, draft, redraft)
            if draft.key is not None:
                gate = replace(gate, refine=_refine_noise(user, period_draft.period, draft.key))
            gates.append((gate, attempt))
        gated.append(gates)
    size = queries_per_call(user.recipe.gates)
    await pass_gates(gated, partial(read_exposure, user), size=size, of_one=QUERIES_OF_ONE_PERIOD, recipe=user.recipe)


def _redraft(user: UserContext, period: TrajectoryPeriod) -> Redraft:
    """Return the function that writes a query of this period anew, by the draft's number."""

    async def redraft(draft: QueryDraft, number: int) -> str:
        if draft.key is not None:
            ((_, query),) = await draft_noise(user, [(period, draft.key)], sample=number)
            return query
        if draft.event is not None:
            (query,) = await draft_updates(user, period, [(draft.event, draft.day)], sample=number)
            return query
        drafted = await draft_initial(user, draft.exposed, others=draft.other_states, day=draft.day, sample=number, whole=True)
        return drafted[0].query

    return redraft


def _refine_noise(
    user: UserContext, period: TrajectoryPeriod, key: NoiseKey
) -> Callable[[str, dict[str, str], int], Awaitable[str]]:
    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        refused = {"message": text, "read": reading}
        ((_, query),) = await draft_noise(user, [(period, key)], sample=sample, refused=refused)
        return query

    return refine


def _sessions(user: UserContext, drafted: PeriodQueries) -> PeriodSessions:
    """Return the period's sessions in order of time; noise lies among the others."""
    period = drafted.period
    user_id = user.profile.user_id
    days = [draft.day for draft, _ in drafted.queries]
    if period.index == 0:
        telling = len([draft for draft, _ in drafted.queries if draft.key is None])
        days[:telling] = initial_days(user.recipe, count=telling, user_id=user_id)
    in_order = sorted(zip(days, drafted.queries, strict=True), key=itemgetter(0))
    times = times_on(sorted(days), recipe=user.recipe, user_id=user_id)
    sessions: list[Session] = []
    for when, (_, (draft, attempt)) in zip(times, in_order, strict=True):
        key = draft.key
        session = Session(
            session_time=when,
            event=draft.event.text if draft.event else None,
            exposed_states=draft.exposed,
            kind=key.kind if key else TELLS,
            mentions=key.mentions if key else {},
            mentioned_as=key.mentioned_as if key else "",
            query=attempt.text,
        )
        sessions.append(session)
    return PeriodSessions(index=period.index, sessions=tuple(sessions))


async def _in_style(user: UserContext, draft: QueryDraft, *, redraft: Redraft) -> GateAttempt:
    """Return the draft, or one written by itself where a call of several left a fault in it that a rule would block."""
    mentions = draft.key.mentions if draft.key else {}
    if not blocking_faults(user.in_context(draft.query, draft.exposed | mentions, day=draft.day)):
        return GateAttempt(draft.item_id, draft.query)
    return GateAttempt(draft.item_id, await redraft(draft, 1), draft=1)


def times_on(days: Sequence[date], *, recipe: AMemGymRecipe, user_id: str) -> list[datetime]:
    """Return a time between 18:00 and 23:00 on each of these days, which are in order; on one day they follow each other."""
    rng = SeededRandom(recipe.world_seed, user_id, "times_on", days[0])
    times: list[datetime] = []
    for day, on_day in groupby(days):
        count = len(list(on_day))
        slots = max(SLOTS_PER_DAY, count)
        slot_minutes = MINUTES_PER_DAY // slots
        # Slots are drawn without repetition, so times differ whatever minute is drawn within them.
        for slot in sorted(rng.sample(range(slots), count)):
            minutes = slot * slot_minutes + rng.integer_below(slot_minutes)
            times.append(datetime.combine(day, time(FIRST_HOUR)) + timedelta(minutes=minutes, seconds=rng.integer_below(60)))
    return times


def initial_days(recipe: AMemGymRecipe, *, count: int, user_id: str) -> list[date]:
    """Return the days of so many initial sessions, in order: Monday to Friday, in the weeks up to the start date.

    Their writer knows no day, and tells of work done today as of an evening at home.
    """
    rng = SeededRandom(recipe.world_seed, user_id, "session_times", 0)
    first = first_day_of_sessions(recipe, 0)
    days = [first + timedelta(days=later) for later in range((recipe.start_date - first).days)]
    workdays = [day for day in days if day.weekday() < SATURDAY]
    slots = rng.sample(range(len(workdays) * SLOTS_PER_DAY), count)
    return [workdays[slot // SLOTS_PER_DAY] for slot in sorted(slots)]


def _initial_calls(recipe: AMemGymRecipe) -> float:
    """Once for all initial states, or for each group where the recipe wants fewer in a query."""
    if not values_apart(recipe):
        return 1.0
    return recipe.num_questions * recipe.num_states_per_question / recipe.max_states_per_query


def _session_count(recipe: AMemGymRecipe) -> float:
    """Return the number of events of all periods, of initial sessions that cover all states, and of noise."""
    telling = recipe.num_periods * recipe.num_changes_per_period + recipe.num_questions * recipe.num_states_per_question
    return telling / (1 - recipe.noise_share)


def _noise_calls(recipe: AMemGymRecipe) -> float:
    return float(ceil(round(_session_count(recipe) * recipe.noise_share / NOISE_PER_CALL, 6)))


def _votes(recipe: AMemGymRecipe) -> float:
    """Return the votes on all queries, which share calls, and on those written anew, which come too late to share many."""
    shared = max(1.0, _session_count(recipe) / queries_per_call(recipe.gates))
    return recipe.gates.votes_for("exposure")[1] * (shared + REWRITTEN_QUERIES * _session_count(recipe))


SESSION_QUERIES = Stage(
    name="session_queries",
    record=SessionSet,
    make=write_sessions,
    begins_with={STATE_TRAJECTORY.name: draft_initial_sessions, EVENTS.name: draft_sessions},
    needs=(USER_PROFILES, STATE_SCHEMA, STATE_TRAJECTORY, EVENTS),
    prompts=(
        "session_queries/initial",
        "session_queries/update",
        "session_queries/noise",
        "session_queries/probe",
        "session_queries/check_exposure",
        "session_queries/refine",
    ),
    calls={
        "session_queries/initial": PromptCalls(_initial_calls),
        "session_queries/update": PromptCalls(calls_for_changes),
        "session_queries/noise": PromptCalls(_noise_calls, always=False),
        "session_queries/probe": PromptCalls(lambda recipe: _votes(recipe) * recipe.gates.unexposed, always=False),
        "session_queries/check_exposure": PromptCalls(
            lambda recipe: _votes(recipe) * (not recipe.gates.unexposed), reading=290, writing=30, always=False
        ),
        "session_queries/refine": PromptCalls(_session_count, always=False),
    },
    version=10,
    description=AssetDescription(
        group="texts",
        description="The first utterance of every session, from which the assistant can learn the state (paper section 3.1, "
        "App. C.3). Each passed a gate in which a judge read the values back out of it.",
        rows=preview_rows("periods.sessions", "period=index time=session_time kind query exposes=exposed_states"),
    ),
)
