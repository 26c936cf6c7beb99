"""A salt: no two variants share a task, and whoever lacks it cannot make a variant's tasks again."""

from assets.deep_research.worlds import draw_worlds
from assets.engine.recipe_asset import recipe_metadata
from assets.recipe.deep_research import DeepResearchRecipe
from assets.recipe.loading import load_recipe
from assets.recipe.recipe import units
from tests.support import small
from tests.support.research_tasks import small_recipe


def tasks(recipe: DeepResearchRecipe) -> tuple[set[str], set[str]]:
    """Return the ids of a recipe's tasks, and the names from which their questions start."""
    drawn = [world for _, world in draw_worlds(recipe, units(recipe)[0])]
    return {world.task_id for world in drawn}, {world.chain[0].subject for world in drawn}


def test_variants_that_differ_in_name_or_salt_share_no_task() -> None:
    recipe = small_recipe(num_tasks=12, salt="a")
    ids, starts = tasks(recipe)
    assert tasks(recipe) == (ids, starts)
    for changed in ({"salt": "b"}, {"variant": "other"}, {"seed": 7}, {"salt": ""}):
        other_ids, other_starts = tasks(recipe.model_copy(update=changed))
        assert ids.isdisjoint(other_ids)
        assert starts.isdisjoint(other_starts)


def test_without_a_salt_the_seed_decides_as_it_did() -> None:
    for salt in (None, ""):
        recipe = small.small_recipe(seed=7, salt=salt)
        assert recipe.world_seed == recipe.asking.seed == 7
        assert recipe.fingerprint == small.small_recipe(seed=7).fingerprint


def test_a_salt_decides_rows_and_what_models_are_sent() -> None:
    plain, salted = small.small_recipe(), small.small_recipe(salt="a")
    assert salted.asking.seed != plain.asking.seed
    assert 0 <= salted.asking.seed < 2**31
    assert salted.fingerprint != plain.fingerprint
    renamed = salted.model_copy(update={"variant": "other"})
    assert len({plain.item_fingerprint, salted.item_fingerprint, renamed.item_fingerprint}) == 3


def test_the_demos_are_the_same_for_everybody_and_share_nothing() -> None:
    seeds = {load_recipe(variant).world_seed for variant in ("demo", "dr-demo", "code-demo")}
    assert len(seeds) == 3
    assert load_recipe("dr-base").salt is None
    assert load_recipe("dr-base").takes_salt(embedded=False)
    assert load_recipe("base").takes_salt(embedded=True)
    assert not load_recipe("base").takes_salt(embedded=False)


def test_a_drawn_salt_is_shown_as_a_field_and_not_as_an_override() -> None:
    metadata = recipe_metadata(small_recipe(salt="a"), {"num_tasks": 2, "salt": "a"})
    assert metadata["overrides"] == "num_tasks = 2"
    assert "salt" in str(metadata["fields"])
