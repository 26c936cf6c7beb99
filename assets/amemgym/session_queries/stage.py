"""Stage 7: first utterances that reveal the state, with their exposure gate (section 3.1; App. C.3, query generation)."""

from assets.amemgym import stage_summaries
from assets.amemgym.events import EVENTS
from assets.amemgym.records.event import Event, EventSet, PeriodEvents
from assets.amemgym.records.profile import UserProfile
from assets.amemgym.records.schema import StateSchema
from assets.amemgym.records.session import PeriodSessions, Session, SessionSet
from assets.amemgym.records.trajectory import StateTrajectory, TrajectoryPeriod
from assets.amemgym.session_queries.exposure_gate import Draft, Redraft, Scene, exposure_gate
from assets.amemgym.session_queries.initial import draft_initial, initial_queries
from assets.amemgym.session_queries.times import session_times
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.item_tasks import together
from assets.engine.stage import Stage
from assets.llm.gate import Attempt, pass_gate
from assets.llm.ports import LanguageModel
from assets.llm.reply_schema import TEXT, ReplySchema, list_of, object_of
from assets.llm.structured_output import ask_structured
from assets.recipe.recipe import Recipe
from assets.records.gate import GateRecord
from assets.reporting.asset_description import AssetDescription
from assets.reporting.markdown import Row
from prompts.catalogue import load_prompt


async def write_sessions(
    profile: UserProfile,
    schema: StateSchema,
    trajectory: StateTrajectory,
    events: EventSet,
    *,
    recipe: Recipe,
    model: LanguageModel,
) -> SessionSet:
    """Draft the queries of all periods at once, let each pass the exposure gate, and give the sessions their times."""
    scene = Scene(profile, schema, recipe, model)
    first = _initial_sessions(scene, trajectory.periods[0])
    later = [_update_sessions(scene, period, own) for period, own in zip(trajectory.periods[1:], events.periods, strict=True)]
    made = await together(first, *later)
    return SessionSet(
        user_id=profile.user_id,
        periods=tuple(period for period, _ in made),
        gate_records=tuple(record for _, records in made for record in records),
    )


async def _initial_sessions(scene: Scene, period: TrajectoryPeriod) -> tuple[PeriodSessions, list[GateRecord]]:
    queries = await initial_queries(scene, period.state)
    drafts = [Draft(f"s00-{index + 1:02d}", query.query, query.exposed_states) for index, query in enumerate(queries)]

    async def redraft(draft: Draft, number: int) -> str:
        queries = await draft_initial(scene, draft.exposed, sample=number, whole=True)
        return queries[0].query

    return await _through_gates(scene, period, drafts, redraft)


async def _update_sessions(
    scene: Scene, period: TrajectoryPeriod, events: PeriodEvents
) -> tuple[PeriodSessions, list[GateRecord]]:
    queries = await _draft_updates(scene, period, events.events, sample=0)
    drafts = [
        Draft(f"s{period.index:02d}-{index + 1:02d}", query, {name: period.state[name] for name in event.states}, event)
        for index, (event, query) in enumerate(zip(events.events, queries, strict=True))
    ]

    async def redraft(draft: Draft, number: int) -> str:
        assert draft.event is not None
        return (await _draft_updates(scene, period, (draft.event,), sample=number))[0]

    return await _through_gates(scene, period, drafts, redraft)


async def _draft_updates(scene: Scene, period: TrajectoryPeriod, events: tuple[Event, ...], *, sample: int) -> list[str]:
    changes = {update.variable: {"old": update.old, "new": update.new} for update in period.updates}
    told = {name for event in events for name in event.states}
    prompt = load_prompt("session_queries/update").render(
        **scene.common(),
        state_schema={name: choices for name, choices in scene.schema.choices.items() if name in told},
        other_variables=[name for name in scene.schema.choices if name not in told],
        period={"from": str(period.start), "to": str(period.end)},
        context=[
            {"background": event.text, "state_transition": {name: changes[name] for name in event.states}} for event in events
        ],
    )

    voice = scene.voice()

    def convert(reply: dict[str, list[str]]) -> list[str]:
        voice.check(reply["queries"])
        return reply["queries"]

    reply_schema: ReplySchema[dict[str, list[str]]] = ReplySchema(
        object_of({"queries": list_of(TEXT, min_items=len(events), max_items=len(events))})
    )
    return await ask_structured(
        scene.model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, recipe=scene.recipe
    )


async def _through_gates(
    scene: Scene, period: TrajectoryPeriod, drafts: list[Draft], redraft: Redraft
) -> tuple[PeriodSessions, list[GateRecord]]:
    attempts = [Attempt(draft.item_id, draft.query) for draft in drafts]
    gates = [exposure_gate(scene, draft, redraft) for draft in drafts]
    await together(*(pass_gate(gate, own, recipe=scene.recipe) for gate, own in zip(gates, attempts, strict=True)))
    times = session_times(scene.recipe, period, count=len(drafts), user_id=scene.profile.user_id)
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
        survey=stage_summaries.of_sessions,
    ),
)
