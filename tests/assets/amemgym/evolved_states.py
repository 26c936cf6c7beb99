"""States that a scripted model evolves, and the replies that make the example's."""

from typing import Any

from assets.amemgym.records.state import StateSchema, StateTrajectory, TrajectoryPeriod
from assets.amemgym.state_trajectory.days import change_days
from assets.amemgym.state_trajectory.stage import evolve_state
from assets.recipe.amemgym import AMemGymRecipe
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.scenario import DIET, EVENINGS, GOAL
from tests.support.scripted_model import Reply, Script, ScriptedModel

INITIAL, UPDATE, RETELL = "state_trajectory/initial", "state_trajectory/update", "state_trajectory/retell"


def evolved(
    script: Script, *, recipe: AMemGymRecipe | None = None, schema: StateSchema | None = None
) -> tuple[StateTrajectory, ScriptedModel]:
    """The trajectory and the model that wrote it; no judge reads the summaries unless the recipe says so."""
    model = ScriptedModel(script)
    unread = scenario.recipe(gates={"consistency": False})
    made = evolve_state(scenario.profile(), schema or scenario.schema(), recipe=recipe or unread, model=model)
    return run(made), model


def with_days(trajectory: StateTrajectory, recipe: AMemGymRecipe) -> StateTrajectory:
    """The trajectory with the day of each change."""
    periods: list[TrajectoryPeriod] = [trajectory.periods[0]]
    for period in trajectory.periods[1:]:
        days = change_days(scenario.schema(), recipe, period.index)
        updates = tuple(update.model_copy(update={"day": days[update.variable]}) for update in period.updates)
        periods.append(period.model_copy(update={"updates": updates}))
    return trajectory.model_copy(update={"periods": tuple(periods)})


def moved(summary: str = "So it went.", **updated: str) -> dict[str, Any]:
    return {"period_summary": summary, "updated": updated}


FIRST, SECOND, THIRD = scenario.STATES
STORY: list[Reply] = [
    moved("A warning at the clinic.", **{GOAL: SECOND[GOAL], DIET: SECOND[DIET]}),
    moved("Shifts change; “she | the ward” agreed.", **{EVENINGS: THIRD[EVENINGS]}),
]
