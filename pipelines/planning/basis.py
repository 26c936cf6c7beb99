"""Choose what a forecast rests on: runs like it in the ledger, else the shipped defaults."""

from assets.recipe.recipe import Recipe
from pipelines.planning.defaults import Defaults, load_defaults
from pipelines.planning.forecast import NO_MARGIN, Basis
from pipelines.planning.observed import Runs, model_names, observed_runs, observed_seconds
from pipelines.planning.shape import Shape
from pipelines.resources.ledger.ledger import Ledger

FEW_USERS = 5


async def basis_for(recipe: Recipe, ledger: Ledger | None) -> Basis:
    """Earlier runs of the same prompts and counts with the same models; with other models; else the defaults.

    The first is taken as it is when it has at least five users; all else is widened by the defaults' margin.
    """
    defaults, shape, models = load_defaults(), Shape.of(recipe), model_names(recipe.models)
    alike: list[Runs] = []
    seconds: dict[str, float] = {}
    if ledger is not None:
        alike = [runs for runs in await observed_runs(ledger) if runs.shape == shape]
        seconds = await observed_seconds(ledger, model=models[0])
    same = [runs for runs in alike if runs.models == models]
    if same or alike:
        runs = max(same or alike, key=lambda each: len(each.users))
        return _of_runs(runs, defaults, seconds=seconds, same_models=bool(same))
    name, measured = defaults.nearest(shape)
    source = f"the shipped defaults, measured on {measured.users} users of {name} with the embedded model"
    return Basis(source, [defaults.user(shape)], measured.tried, defaults.margin, defaults.pace, seconds)


def _of_runs(runs: Runs, defaults: Defaults, *, seconds: dict[str, float], same_models: bool) -> Basis:
    count = len(runs.users)
    source = f"{count} users of earlier runs with the same prompts and counts"
    if not same_models:
        source += f", but by {' and '.join(dict.fromkeys(runs.models))}"
    trusted = same_models and count >= FEW_USERS
    margin = NO_MARGIN if trusted else defaults.margin
    return Basis(source, runs.users, runs.tried, margin, defaults.pace, seconds)
