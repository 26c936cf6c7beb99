"""Stage 7: from states and events, the first utterance of every session, with its exposure gate (section 3.1; App. C.3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import partial
from itertools import chain

from assets.amemgym.events import EVENTS
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import (
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
    QueryDraft,
    UserContext,
    draft_initial,
    draft_updates,
    initial_queries,
    session_id,
)
from assets.amemgym.session_queries.exposure_gate import (
    QUERIES_OF_ONE_PERIOD,
    Choices,
    Redraft,
    exposure_gate,
    queries_per_call,
    read_exposure,
)
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import PromptCalls, Stage
from assets.llm.async_calls import gather_all
from assets.llm.gate import Gate, GateAttempt, pass_gates
from assets.llm.ports import LanguageModel
from assets.recipe.amemgym import AMemGymRecipe, calls_for_changes, values_apart
from assets.records.base import GateRecord
from assets.reporting.asset_description import AssetDescription, Metadata, Row
from assets.reporting.histogram import histogram, rounded_mean
from assets.text.text_checks import blocking_faults
from assets.text.words import count_tokens

WEEKS_BEFORE_START = 3  # in which the initial sessions lie, for that period has no start
REWRITTEN_QUERIES = 0.1  # of all: 6.2 of a base user's 60, as measured in planning's defaults
FIRST_HOUR = 7
LAST_HOUR = 22
SLOT_MINUTES = 10  # of which sessions have one each, so that no two begin at the same time
SLOTS_PER_DAY = (LAST_HOUR - FIRST_HOUR) * 60 // SLOT_MINUTES


@dataclass(frozen=True)
class PeriodQueries:
    """The drafted queries of one period, each with its way through the gate."""

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
    """Draft the queries of all periods at once, let them pass the exposure gate, and give the sessions their times.

    At the gate queries of different periods share calls.
    """
    user = UserContext(profile, schema, recipe, model)
    calls = [_draft_period(user, trajectory.periods[0], None)]
    for period, own_events in zip(trajectory.periods[1:], events.periods, strict=True):
        calls.append(_draft_period(user, period, own_events))
    drafted = await gather_all(*calls)
    await _pass_exposure_gates(user, drafted)
    periods: list[PeriodSessions] = []
    records: list[GateRecord] = []
    for one in drafted:
        periods.append(_sessions(user, one))
        for _, attempt in one.queries:
            records.extend(attempt.records)
    return SessionSet(user_id=profile.user_id, periods=tuple(periods), gate_records=tuple(records))


async def _draft_period(user: UserContext, period: TrajectoryPeriod, events: PeriodEvents | None) -> PeriodQueries:
    """Draft the queries of a period; the initial one has no events."""
    drafts = await _initial_drafts(user, period) if events is None else await _update_drafts(user, period, events)
    attempts = await gather_all(*map(partial(_in_style, user, redraft=_redraft(user, period)), drafts))
    return PeriodQueries(period, list(zip(drafts, attempts, strict=True)))


async def _initial_drafts(user: UserContext, period: TrajectoryPeriod) -> list[QueryDraft]:
    drafts: list[QueryDraft] = []
    for number, query in enumerate(await initial_queries(user, period.state), start=1):
        exposed = query.exposed_states
        drafts.append(QueryDraft(session_id(0, number), query.query, exposed, without(period.state, exposed)))
    return drafts


async def _update_drafts(user: UserContext, period: TrajectoryPeriod, events: PeriodEvents) -> list[QueryDraft]:
    # Together in one call, or each by itself where a query is to be as easy as can be.
    groups = [(event,) for event in events.events] if values_apart(user.recipe) else [events.events]
    drafted = await gather_all(*(draft_updates(user, period, group, sample=0) for group in groups))
    queries = chain.from_iterable(drafted)
    drafts: list[QueryDraft] = []
    for number, (event, query) in enumerate(zip(events.events, queries, strict=True), start=1):
        exposed = period.values_of(event.states)
        others = without(period.state, exposed)
        drafts.append(QueryDraft(session_id(period.index, number), query, exposed, others, event))
    return drafts


async def _pass_exposure_gates(user: UserContext, drafted: Sequence[PeriodQueries]) -> None:
    gated: list[list[tuple[Gate[Choices], GateAttempt]]] = []
    for one in drafted:
        redraft = _redraft(user, one.period)
        gates: list[tuple[Gate[Choices], GateAttempt]] = []
        for draft, attempt in one.queries:
            gates.append((exposure_gate(user, draft, redraft), attempt))
        gated.append(gates)
    size = queries_per_call(user.recipe.gates)
    await pass_gates(gated, partial(read_exposure, user), size=size, of_one=QUERIES_OF_ONE_PERIOD, recipe=user.recipe)


def _redraft(user: UserContext, period: TrajectoryPeriod) -> Redraft:
    """Return the function that writes a query of this period anew, by the draft's number."""

    async def redraft(draft: QueryDraft, number: int) -> str:
        if draft.event is not None:
            (query,) = await draft_updates(user, period, (draft.event,), sample=number)
            return query
        drafted = await draft_initial(user, draft.exposed, others=draft.other_states, sample=number, whole=True)
        return drafted[0].query

    return redraft


def _sessions(user: UserContext, drafted: PeriodQueries) -> PeriodSessions:
    period = drafted.period
    times = session_times(user.recipe, period, count=len(drafted.queries), user_id=user.profile.user_id)
    sessions: list[Session] = []
    for when, (draft, attempt) in zip(times, drafted.queries, strict=True):
        event = draft.event.text if draft.event else None
        sessions.append(Session(session_time=when, event=event, exposed_states=draft.exposed, query=attempt.text))
    return PeriodSessions(index=period.index, sessions=tuple(sessions))


async def _in_style(user: UserContext, draft: QueryDraft, *, redraft: Redraft) -> GateAttempt:
    """Return the draft, or one written by itself where a call of several left a fault in it that a rule would block."""
    if not blocking_faults(user.in_context(draft.query, draft.exposed)):
        return GateAttempt(draft.item_id, draft.query)
    return GateAttempt(draft.item_id, await redraft(draft, 1), draft=1)


def session_times(recipe: AMemGymRecipe, period: TrajectoryPeriod, *, count: int, user_id: str) -> list[datetime]:
    """Return `count` strictly increasing times: within the period, or in the weeks up to the start date for period 0.

    A session falls on any day after the period's start and before its end, between 7:00 and 22:00.
    """
    rng = SeededRandom(recipe.world_seed, user_id, "session_times", period.index)
    start = period.start or recipe.start_date - timedelta(weeks=WEEKS_BEFORE_START)
    first = start + timedelta(days=1)
    # Slots are drawn without repetition, so times differ whatever minute is drawn within them.
    slots = (period.end - first).days * SLOTS_PER_DAY
    times: list[datetime] = []
    for slot in sorted(rng.sample(range(slots), count)):
        day, slot_of_day = divmod(slot, SLOTS_PER_DAY)
        minutes = slot_of_day * SLOT_MINUTES + rng.integer_below(SLOT_MINUTES)
        morning = datetime.combine(first + timedelta(days=day), time(FIRST_HOUR))
        times.append(morning + timedelta(minutes=minutes, seconds=rng.integer_below(60)))
    return times


def summarize_sessions(sets: Sequence[SessionSet]) -> Metadata:
    """Return how many sessions, how long their queries are (13 to 32 tokens in the paper), and how many values one exposes."""
    tokens: list[int] = []
    values: list[int] = []
    for one in sets:
        for session in one.sessions:
            tokens.append(count_tokens(session.query))
            values.append(len(session.exposed_states))
    return {
        "sessions": len(tokens),
        "lengths": histogram(tokens, unit="tokens"),
        "mean_tokens": rounded_mean(tokens),
        "values_per_session": rounded_mean(values),
    }


def _rows(record: SessionSet) -> Iterator[Row]:
    for period in record.periods:
        for session in period.sessions:
            exposed = session.exposed_states
            yield {"period": period.index, "time": session.session_time, "query": session.query, "exposes": exposed}


def _initial_calls(recipe: AMemGymRecipe) -> float:
    """Once for all initial states, or for each group where the recipe wants fewer in a query."""
    if not values_apart(recipe):
        return 1.0
    return recipe.num_questions * recipe.num_states_per_question / recipe.max_states_per_query


def _session_count(recipe: AMemGymRecipe) -> float:
    """Return the number of events of all periods, and of initial sessions that cover all states."""
    return float(recipe.num_periods * recipe.num_changes_per_period + recipe.num_questions * recipe.num_states_per_question)


def _votes(recipe: AMemGymRecipe) -> float:
    """Return the votes on all queries, which share calls, and on those written anew, which come too late to share many."""
    shared = max(1.0, _session_count(recipe) / queries_per_call(recipe.gates))
    return recipe.gates.votes_for("exposure")[1] * (shared + REWRITTEN_QUERIES * _session_count(recipe))


def _probes(recipe: AMemGymRecipe) -> float:
    return _votes(recipe) * recipe.gates.unexposed


def _own_readings(recipe: AMemGymRecipe) -> float:
    return _votes(recipe) * (not recipe.gates.unexposed)


SESSION_QUERIES = Stage(
    name="session_queries",
    record=SessionSet,
    make=write_sessions,
    needs=(USER_PROFILES, STATE_SCHEMA, STATE_TRAJECTORY, EVENTS),
    prompts=(
        "session_queries/initial",
        "session_queries/update",
        "session_queries/probe",
        "session_queries/check_exposure",
        "session_queries/refine",
    ),
    calls={
        "session_queries/initial": PromptCalls(_initial_calls),
        "session_queries/update": PromptCalls(calls_for_changes),
        "session_queries/probe": PromptCalls(_probes, always=False),
        "session_queries/check_exposure": PromptCalls(_own_readings, reading=290, writing=30, always=False),
        "session_queries/refine": PromptCalls(_session_count, always=False),
    },
    version=5,
    description=AssetDescription(
        group="sessions",
        description="The first utterance of every session, from which the assistant can learn the state (paper section 3.1, "
        "App. C.3). Each passed a gate in which a judge read the values back out of it.",
        rows=_rows,
        summary=summarize_sessions,
    ),
)
