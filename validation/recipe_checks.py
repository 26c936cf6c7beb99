"""Checks of a resolved recipe: what it was resolved with is still there, and it can be followed."""

import dagster as dg

from assets.amemgym.personas.sampling import pool_digest, pool_files
from assets.recipe.loading import RecipeError
from assets.recipe.partitions import VARIANT_PARTITIONS
from assets.recipe.recipe import Recipe


@dg.asset_check(
    asset="recipe",
    name="pool_is_unchanged",
    blocking=True,
    partitions_def=VARIANT_PARTITIONS,
    description="The files of the persona pool have the content that the recipe was resolved with.",
)
def pool_is_unchanged(recipe: Recipe) -> dg.AssetCheckResult:
    """Read the pool's files again."""
    try:
        files = pool_files(recipe.pool)
        found = pool_digest(files)
    except RecipeError as error:
        return dg.AssetCheckResult(passed=False, description=str(error))
    same, before = found == recipe.pool.content, recipe.pool.content[:16]
    changed = f"The pool has the digest {found[:16]}, and {before} when the recipe was resolved; materialize the recipe again."
    return dg.AssetCheckResult(
        passed=same,
        description=f"The pool has the digest {found[:16]}, as the recipe says." if same else changed,
        metadata={"files": len(files), "bytes": sum(path.stat().st_size for path in files)},
    )


RECIPE_CHECKS = (pool_is_unchanged,)
