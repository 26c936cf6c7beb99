"""Stage 1: N personas and a reserve, drawn from the pool by seeded rank (section 3.1, user profile sampling)."""

from collections.abc import Iterator

from assets.amemgym.personas.pool_files import pool_files
from assets.amemgym.personas.sampling import sample_personas
from assets.amemgym.records.persona import Persona
from assets.engine.stage import Stage
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.recipe import Unit
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription


def draw_unit(recipe: AMemGymRecipe, unit: Unit) -> Iterator[tuple[int, Persona]]:
    """Yield the unit's personas at their positions in the variant's sample, users first, then its reserve.

    A few are held at a time. Raises RecipeError when the pool cannot give them.
    """
    count = recipe.num_users + recipe.num_reserve
    if recipe.users_per_shard is not None:
        count = max(unit.positions, default=-1) + 1  # a shard knows of no users beyond its own
    drawn = sample_personas(recipe, pool_files(recipe.pool), count=count, positions=unit.positions)
    yield from zip(unit.positions, drawn, strict=True)


PERSONAS = Stage(
    name="personas",
    record=Persona,
    draw=draw_unit,
    description=AssetDescription(
        group="states",
        description="Personas sampled from the pool by seeded rank: the variant's users and a reserve that replaces users who "
        "cannot be finished (paper section 3.1). The sample is the same whatever the order of the pool's files.",
        rows=preview_rows("", "age sex occupation city hobbies=hobbies_and_interests_list persona"),
        kinds=("duckdb",),
    ),
)
