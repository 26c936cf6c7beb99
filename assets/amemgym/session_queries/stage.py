"""Stage 7: from states and events, the first utterance of every session, with its exposure gate (section 3.1; App. C.3)."""

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from functools import partial

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
from assets.amemgym.session_queries.drafts import (
    QueryDraft,
    UserContext,
    draft_initial,
    draft_updates,
    initial_queries,
    states_beside,
)
from assets.amemgym.session_queries.exposure_gate import (
    QUERIES_OF_ONE_PERIOD,
    Redraft,
    exposure_gate,
    queries_per_call,
    read_exposure,
)
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.text_checks import blocking_faults
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.async_calls import gather_all
from assets.llm.gate import GateAttempt, pass_gates
from assets.llm.ports import LanguageModel
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
    """Draft the queries of all periods at once, let them pass the exposure gate, and give the sessions their times.

    At the gate queries of different periods share calls.
    """
    user = UserContext(profile, schema, recipe, model)
    first = _initial_drafts(user, trajectory.periods[0])
    later = [_update_drafts(user, period, own) for period, own in zip(trajectory.periods[1:], events.periods, strict=True)]
    drafted = await gather_all(first, *later)
    attempts = await gather_all(
        *(
            gather_all(*(_in_style(user, draft, _redraft(user, period)) for draft in drafts))
            for period, drafts in zip(trajectory.periods, drafted, strict=True)
        )
    )
    gated = [
        [(exposure_gate(user, draft, _redraft(user, period)), attempt) for draft, attempt in zip(*own, strict=True)]
        for period, *own in zip(trajectory.periods, drafted, attempts, strict=True)
    ]
    size = queries_per_call(recipe.gates)
    await pass_gates(gated, partial(read_exposure, user), size=size, of_one=QUERIES_OF_ONE_PERIOD, recipe=recipe)
    return SessionSet(
        user_id=profile.user_id,
        periods=tuple(
            _sessions(user, period, drafts=drafts, texts=[attempt.text for attempt in own])
            for period, drafts, own in zip(trajectory.periods, drafted, attempts, strict=True)
        ),
        gate_records=tuple(record for own in attempts for attempt in own for record in attempt.records),
    )


async def _initial_drafts(user: UserContext, period: TrajectoryPeriod) -> list[QueryDraft]:
    queries = await initial_queries(user, period.state)
    return [
        QueryDraft(f"s00-{number:02d}", query.query, query.exposed_states, states_beside(query.exposed_states, period.state))
        for number, query in enumerate(queries, start=1)
    ]


async def _update_drafts(user: UserContext, period: TrajectoryPeriod, events: PeriodEvents) -> list[QueryDraft]:
    queries = await draft_updates(user, period, events.events, sample=0)
    return [
        QueryDraft(
            f"s{period.index:02d}-{number:02d}",
            query,
            {name: period.state[name] for name in event.states},
            states_beside(event.states, period.state),
            event,
        )
        for number, (event, query) in enumerate(zip(events.events, queries, strict=True), start=1)
    ]


def _redraft(user: UserContext, period: TrajectoryPeriod) -> Redraft:
    """Writes a query of this period anew, by number."""

    async def redraft(draft: QueryDraft, number: int) -> str:
        if draft.event is not None:
            return (await draft_updates(user, period, (draft.event,), sample=number))[0]
        drafted = await draft_initial(user, draft.exposed, others=draft.other_states, sample=number, whole=True)
        return drafted[0].query

    return redraft


def _sessions(
    user: UserContext, period: TrajectoryPeriod, *, drafts: Sequence[QueryDraft], texts: Sequence[str]
) -> PeriodSessions:
    times = session_times(user.recipe, period, count=len(drafts), user_id=user.profile.user_id)
    return PeriodSessions(
        index=period.index,
        sessions=tuple(
            Session(
                session_time=time,
                event=None if draft.event is None else draft.event.text,
                exposed_states=draft.exposed,
                query=text,
            )
            for time, draft, text in zip(times, drafts, texts, strict=True)
        ),
    )


async def _in_style(user: UserContext, draft: QueryDraft, redraft: Redraft) -> GateAttempt:
    """The draft, or one written by itself where it came out of a call of several with a fault that a rule would block."""
    if not blocking_faults(user.in_context(draft.query, draft.exposed)):
        return GateAttempt(draft.item_id, draft.query)
    return GateAttempt(draft.item_id, await redraft(draft, 1), draft=1)


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
    version=4,
    description=AssetDescription(
        group="sessions",
        description="The first utterance of every session, from which the assistant can learn the state (paper section 3.1, "
        "App. C.3). Each passed a gate in which a judge read the values back out of it.",
        rows=_rows,
        summary=stage_summaries.summarize_sessions,
    ),
)
