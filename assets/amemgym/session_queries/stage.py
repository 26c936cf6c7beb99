"""Stage 7: from states and events, the first utterance of every session, with its exposure gate (section 3.1; App. C.3)."""

from datetime import datetime, time, timedelta

from assets.amemgym import stage_summaries
from assets.amemgym.events import EVENTS
from assets.amemgym.recipe import AMemGymRecipe
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
)
from assets.amemgym.session_queries.drafts import QueryDraft, UserContext, draft_initial, draft_updates, initial_queries
from assets.amemgym.session_queries.exposure_gate import Redraft, exposure_gate
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.async_calls import gather_all
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.gate import GateAttempt, pass_gate
from assets.llm.ports import LanguageModel
from assets.records.base import GateRecord
from assets.reporting.asset_description import AssetDescription, Row

WEEKS_BEFORE_START = 3
FIRST_HOUR, LAST_HOUR = 7, 22
SLOT_MINUTES = 10
SLOTS_PER_DAY = (LAST_HOUR - FIRST_HOUR) * 60 // SLOT_MINUTES


async def write_sessions(
    profile: UserProfile,
    schema: StateSchema,
    trajectory: StateTrajectory,
    events: EventSet,
    *,
    recipe: AMemGymRecipe,
    model: LanguageModel,
) -> SessionSet:
    """Draft the queries of all periods at once, let each pass the exposure gate, and give the sessions their times."""
    user = UserContext(profile, schema, recipe, model)
    first = _initial_sessions(user, trajectory.periods[0])
    later = [_update_sessions(user, period, own) for period, own in zip(trajectory.periods[1:], events.periods, strict=True)]
    drafted = await gather_all(first, *later)
    return SessionSet(
        user_id=profile.user_id,
        periods=tuple(period for period, _ in drafted),
        gate_records=tuple(record for _, records in drafted for record in records),
    )


async def _initial_sessions(user: UserContext, period: TrajectoryPeriod) -> tuple[PeriodSessions, list[GateRecord]]:
    queries = await initial_queries(user, period.state)
    drafts = [QueryDraft(f"s00-{index + 1:02d}", query.query, query.exposed_states) for index, query in enumerate(queries)]

    async def redraft(draft: QueryDraft, number: int) -> str:
        queries = await draft_initial(user, draft.exposed, sample=number, whole=True)
        return queries[0].query

    return await _gated_sessions(user, period, drafts, redraft)


async def _update_sessions(
    user: UserContext, period: TrajectoryPeriod, events: PeriodEvents
) -> tuple[PeriodSessions, list[GateRecord]]:
    queries = await draft_updates(user, period, events.events, sample=0)
    drafts = [
        QueryDraft(f"s{period.index:02d}-{index + 1:02d}", query, {name: period.state[name] for name in event.states}, event)
        for index, (event, query) in enumerate(zip(events.events, queries, strict=True))
    ]

    async def redraft(draft: QueryDraft, number: int) -> str:
        assert draft.event is not None
        return (await draft_updates(user, period, (draft.event,), sample=number))[0]

    return await _gated_sessions(user, period, drafts, redraft)


async def _gated_sessions(
    user: UserContext, period: TrajectoryPeriod, drafts: list[QueryDraft], redraft: Redraft
) -> tuple[PeriodSessions, list[GateRecord]]:
    attempts = [GateAttempt(draft.item_id, draft.query) for draft in drafts]
    gates = [exposure_gate(user, draft, redraft) for draft in drafts]
    await gather_all(*(pass_gate(gate, own, recipe=user.recipe) for gate, own in zip(gates, attempts, strict=True)))
    times = session_times(user.recipe, period, count=len(drafts), user_id=user.profile.user_id)
    sessions = tuple(
        Session(
            session_time=time,
            event=None if draft.event is None else draft.event.text,
            exposed_states=draft.exposed,
            query=own.text,
        )
        for time, draft, own in zip(times, drafts, attempts, strict=True)
    )
    return PeriodSessions(index=period.index, sessions=sessions), [record for own in attempts for record in own.records]


def session_times(recipe: AMemGymRecipe, period: TrajectoryPeriod, *, count: int, user_id: str) -> list[datetime]:
    """`count` strictly increasing times: within the period, or in the weeks up to the start date for period 0.

    A session falls on any day after the period's start and before its end, between 7:00 and 22:00.
    """
    rng = SeededRandom(recipe.seed, user_id, "session_times", period.index)
    first = (period.start or recipe.start_date - timedelta(weeks=WEEKS_BEFORE_START)) + timedelta(days=1)
    slots = (period.end - first).days * SLOTS_PER_DAY
    chosen = sorted(rng.sample(range(slots), count))
    return [
        datetime.combine(first, time(FIRST_HOUR))
        + timedelta(days=slot // SLOTS_PER_DAY, minutes=slot % SLOTS_PER_DAY * SLOT_MINUTES + rng.integer_below(SLOT_MINUTES))
        + timedelta(seconds=rng.integer_below(60))
        for slot in chosen
    ]


def _rows(record: SessionSet) -> list[Row]:
    return [
        {"period": period.index, "time": session.session_time, "query": session.query, "exposes": session.exposed_states}
        for period in record.periods
        for session in period.sessions
    ]


SESSION_QUERIES = Stage(
    name="session_queries",
    record=SessionSet,
    make=write_sessions,
    needs=(USER_PROFILES, STATE_SCHEMA, STATE_TRAJECTORY, EVENTS),
    prompts=(
        "session_queries/initial",
        "session_queries/update",
        "session_queries/check_exposure",
        "session_queries/refine",
    ),
    version=3,
    description=AssetDescription(
        group="sessions",
        description="The first utterance of every session, from which the assistant can learn the state (paper section 3.1, "
        "App. C.3). Each passed a gate in which a judge read the values back out of it.",
        rows=_rows,
        summary=stage_summaries.summarize_sessions,
    ),
)
