"""What a trial works on: finished users of a variant, as far as the stage on trial needs them."""

from collections.abc import Sequence

from assets.amemgym.pipeline import STAGES
from assets.engine.ports import SnapshotRef, rows_of
from assets.engine.stage import Stage
from assets.recipe.partitions import UNITS
from assets.recipe.recipe import Recipe
from assets.records.base import UserRecord
from pipelines.home import Home
from pipelines.resources.storage.io_manager import RecordIOManager
from pipelines.resources.storage.open_stores import snapshot_files, value_files
from pipelines.resources.storage.snapshots import ParquetSnapshots
from prompts.template import Role


def stage_of_prompt(prompt: str) -> Stage[UserRecord] | None:
    """The stage that asks with this prompt."""
    return next((stage for stage in STAGES if prompt in stage.prompts), None)


def resolved_recipe(place: Home, variant: str) -> Recipe | None:
    """The recipe that the variant was last made with."""
    found = RecordIOManager(value_files(place)).find("recipe", variant)
    return found if isinstance(found, Recipe) else None


def finished_inputs(place: Home, variant: str, *, stage: Stage[UserRecord], users: int) -> list[Sequence[UserRecord]]:
    """What the stage needs of the variant's first users, in order; fewer where fewer are finished."""
    values, snapshots = RecordIOManager(value_files(place)), ParquetSnapshots(snapshot_files(place))
    found: list[Sequence[UserRecord]] = []
    for unit in UNITS.get(variant, ()):
        refs = [ref for need in stage.needs if isinstance(ref := values.find(need.name, unit), SnapshotRef)]
        records = [rows_of(need.name, record=need.record, refs=refs, snapshots=snapshots) for need in stage.needs]
        for position in sorted(position for position in records[0] if all(position in one for one in records)):
            found.append([one[position] for one in records])
    return found[:users]


def with_model(recipe: Recipe, role: Role, model: str) -> Recipe:
    """The recipe with another model in this role."""
    spec = recipe.models.for_role(role).model_copy(update={"model": model})
    return recipe.model_copy(update={"models": recipe.models.model_copy(update={role: spec})})
