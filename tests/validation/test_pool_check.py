"""A recipe that was resolved is held against the pool as it is now."""

from pathlib import Path
from typing import Any

import dagster as dg

from assets.amemgym.personas.pool_files import pool_digest
from assets.recipe.amemgym import AMemGymRecipe, PoolSpec
from tests.support import scenario
from validation.amemgym.personas import pool_is_unchanged


def resolved(pool: Path) -> AMemGymRecipe:
    pool.write_text('{"uuid": "zoë"}\n', encoding="utf-8")
    return scenario.recipe(pool=PoolSpec(paths=(str(pool),), content=pool_digest([pool])))


def result(recipe: AMemGymRecipe) -> dg.AssetCheckResult:
    found: Any = pool_is_unchanged(recipe)
    return found


def test_a_pool_that_is_as_it_was_passes(tmp_path: Path) -> None:
    assert result(resolved(tmp_path / "pool.jsonl")).passed


def test_a_pool_that_changed_since_blocks_with_what_to_do(tmp_path: Path) -> None:
    recipe = resolved(tmp_path / "pool.jsonl")
    (tmp_path / "pool.jsonl").write_text('{"uuid": "max"}\n', encoding="utf-8")
    check = result(recipe)
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert str(check.description).endswith("materialize the recipe again.")


def test_a_pool_that_is_gone_is_named(tmp_path: Path) -> None:
    recipe = resolved(tmp_path / "pool.jsonl")
    (tmp_path / "pool.jsonl").unlink()
    assert "pool.jsonl" in str(result(recipe).description)
