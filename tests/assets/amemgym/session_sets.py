"""The example's sessions, as a scripted model makes them."""

from typing import Any, cast

from assets.amemgym.records.state import Event, EventSet, PeriodEvents, SessionSet
from assets.amemgym.session_queries.stage import write_sessions
from assets.llm.ports import ModelRequest
from assets.recipe.amemgym import MAX_STATES_PER_QUERY
from assets.recipe.policies import GatePolicy
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import Answer, coded, honest, material, reading
from tests.support.scenario import DIET, EVENINGS, GOAL
from tests.support.scripted_model import Reply, Script, ScriptedModel
from tests.support.small import PLAIN_GATES

INITIAL, UPDATE = "session_queries/initial", "session_queries/update"
CHECK, PROBE, REFINE = "session_queries/check_exposure", "session_queries/probe", "session_queries/refine"
FIRST = scenario.STATES[0]
EVENTS = EventSet(
    user_id=scenario.USER_ID,
    periods=(
        PeriodEvents(index=1, events=(Event(states=(GOAL, DIET), text=scenario.HEART_SCARE),)),
        PeriodEvents(index=2, events=(Event(states=(EVENINGS,), text="Tuesdays off."),)),
    ),
)


def written(
    script: Script | None = None,
    *,
    events: EventSet = EVENTS,
    states_per_query: int = MAX_STATES_PER_QUERY,
    **gates: int | bool,
) -> tuple[SessionSet, ScriptedModel]:
    policy = GatePolicy.model_validate({**PLAIN_GATES, **gates})
    recipe = scenario.recipe(gates=policy, max_states_per_query=states_per_query)
    model = ScriptedModel({INITIAL: [queries(FIRST)], **(script or {})})
    made = write_sessions(scenario.profile(), scenario.schema(), scenario.trajectory(), events, recipe=recipe, model=model)
    return run(made), model


def queries(*exposed: dict[str, str]) -> dict[str, Any]:
    return {"queries": [{"exposed_states": one, "query": coded(one)} for one in exposed]}


def part(*names: str) -> dict[str, str]:
    return {name: FIRST[name] for name in names}


def of_period(index: int, replies: list[Reply]) -> Answer:
    """Replies in turn about queries for the variables of this period, honest ones about others."""
    names, left = {0: {DIET, GOAL, EVENINGS}, 1: {DIET, GOAL}, 2: {EVENINGS}}[index], iter(replies)

    def answer(request: ModelRequest) -> object:
        if set(material(request, "state_choices")) != names:
            return honest(request)
        reply = next(left)
        return reading(cast(dict[str, str], reply)) if isinstance(reply, dict) else reply

    return answer
