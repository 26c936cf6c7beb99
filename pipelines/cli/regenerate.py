"""Make one user again, and leave every other user's bytes as they are."""

from typing import get_args

import dagster as dg
from rich.console import Console

from assets.amemgym.records.episode import Episode
from assets.recipe.recipe import Recipe
from assets.recipe.regeneration import EVERYONE, AskingStage
from pipelines.cli.generate import Manner, dagster_instance, generate_variant
from pipelines.cli.problems import Problem
from pipelines.cli.show import choose, finished_episodes
from pipelines.home import home
from pipelines.resources.storage.io_manager import RecordIOManager
from pipelines.resources.storage.open_stores import value_files

# Dagster's tag with the number of the event by which the recipe was made that a materialization was given.
RECIPE_EVENT = "dagster/input_event_pointer/recipe"
STAGES: tuple[AskingStage, ...] = get_args(AskingStage)


def regenerate_user(user: str, *, stage: str, variant: str, manner: Manner) -> None:
    """Ask this stage of one user anew, or of `all`; the stages below follow where their inputs changed.

    Everything else is as the variant was last made. Raises Problem with one sentence.
    """
    before = finished_episodes(variant)
    user_id = EVERYONE if user == EVERYONE else choose(user, before).user_id
    last = _last_recipe(variant)
    recipe = asked_again(last, user_id=user_id, stage=_stage(stage), finished=_finished(variant))
    generate_variant(recipe, manner)
    Console(stderr=True).print(_told(before, finished_episodes(variant)), highlight=False)
    print(f"A plain `amemgym generate {variant}` goes back, unless {variant}.yaml has\n  again: {_written(recipe)}")


def asked_again(recipe: Recipe, *, user_id: str, stage: AskingStage, finished: bool) -> Recipe:
    """The recipe with one more try at this user's stage; if that try was interrupted (not `finished`), the same recipe.

    Raises Problem when something else was interrupted, because then nobody knows which users there should be.
    """
    own = recipe.again.get(user_id, {})
    if not finished and stage in own:
        return recipe
    if not finished:
        raise Problem(f"The last run of {recipe.variant!r} did not finish; finish it first, with the command that started it.")
    again = {**recipe.again, user_id: {**own, stage: own.get(stage, 0) + 1}}
    return Recipe.model_validate({**recipe.model_dump(), "again": again})


def _stage(name: str) -> AskingStage:
    for stage in STAGES:
        if stage == name:
            return stage
    raise Problem(f"--from {name!r} is no stage that asks a model; there are {', '.join(STAGES)}.")


def _last_recipe(variant: str) -> Recipe:
    """The recipe that the finished users follow, with all that was overridden then."""
    recipe = RecordIOManager(value_files(home())).find("recipe", variant)
    if not isinstance(recipe, Recipe):
        raise Problem(f"The recipe of {variant!r} has not been materialized yet; make it with: amemgym generate {variant}")
    return recipe


def _finished(variant: str) -> bool:
    """Whether the last quality report was made of the last recipe, so that all users follow it."""
    recipe, report = _last_made("recipe", variant), _last_made("quality_report", variant)
    if recipe is None or report is None or report.asset_materialization is None:
        return False
    return (report.asset_materialization.tags or {}).get(RECIPE_EVENT) == str(recipe.storage_id)


def _last_made(asset: str, variant: str) -> dg.EventLogRecord | None:
    wanted = dg.AssetRecordsFilter(asset_key=dg.AssetKey(asset), asset_partitions=[variant])
    return next(iter(dagster_instance().fetch_materializations(wanted, limit=1).records), None)


def _told(before: list[Episode], after: list[Episode]) -> str:
    known = {episode.user_id: episode.sha256() for episode in before}
    changed = [episode.user_profile.name for episode in after if known.get(episode.user_id) != episode.sha256()]
    if not changed:
        return f"The new replies came to the same: all {len(after)} users are as they were."
    return f"Changed: {', '.join(changed)}. The other {len(after) - len(changed)} of {len(after)} users are as they were."


def _written(recipe: Recipe) -> str:
    users = (f"{user}: {{{', '.join(f'{stage}: {n}' for stage, n in took.items())}}}" for user, took in recipe.again.items())
    return f"{{{', '.join(users)}}}"
