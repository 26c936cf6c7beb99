"""Recipes of several benchmarks: which record reads them, and what AMemGym's keep of the time when there was one."""

import json
from typing import Literal

import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.records.user import UserRecord
from assets.engine.benchmark import Benchmark
from assets.engine.stage import Stage
from assets.recipe.amemgym import FIELDS, AMemGymRecipe
from assets.recipe.loading import build_recipe, expect_recipe, load_recipe
from assets.recipe.recipe import Recipe, RecipeError
from assets.recipe.registry import RECIPE_TYPES
from tests.support.small import small_recipe


class RiddleRecipe(Recipe):
    """A recipe with a count of its own."""

    benchmark: Literal["riddles"] = "riddles"  # pyright: ignore[reportIncompatibleVariableOverride]
    num_hints: int = 2


@pytest.fixture(autouse=True)
def riddles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPE_TYPES, "riddles", RiddleRecipe)


def test_a_recipe_is_read_as_its_benchmark_says_and_as_amemgyms_where_it_says_nothing() -> None:
    assert isinstance(build_recipe({"variant": "mine"}), AMemGymRecipe)
    assert build_recipe({"variant": "mine", "benchmark": "amemgym"}) == build_recipe({"variant": "mine"})
    riddles = build_recipe({"variant": "mine", "benchmark": "riddles", "num_hints": 3})
    assert riddles == RiddleRecipe(variant="mine", num_hints=3)
    assert build_recipe(json.loads(riddles.model_dump_json())) == riddles
    assert build_recipe(json.loads(small_recipe().model_dump_json())) == small_recipe()


def test_a_field_of_another_benchmark_is_refused() -> None:
    with pytest.raises(RecipeError, match="no field 'num_hints'"):
        build_recipe({"variant": "mine", "num_hints": 3})
    with pytest.raises(RecipeError, match="no field 'num_periods'"):
        build_recipe({"variant": "mine", "benchmark": "riddles", "num_periods": 3})


@pytest.mark.parametrize("name", ["memgym", None, ["amemgym"]])
def test_an_unknown_benchmark_is_refused_with_those_there_are(name: object) -> None:
    with pytest.raises(RecipeError, match=r"^Recipe 'demo': there is no benchmark .*; there are amemgym, .*riddles.*\.$"):
        load_recipe("demo", {"benchmark": name})


def test_a_command_of_one_benchmark_refuses_anothers_recipe() -> None:
    riddles = RiddleRecipe(variant="mine")
    assert expect_recipe(riddles, RiddleRecipe) is riddles
    with pytest.raises(RecipeError, match="'mine' is a variant of 'riddles'; this works for amemgym"):
        expect_recipe(riddles, AMemGymRecipe)


def test_a_benchmark_enters_its_recipe_and_cannot_take_anothers_name() -> None:
    assert RECIPE_TYPES[AMEMGYM.name] is AMEMGYM.recipe
    drawn = Stage("drawn", UserRecord, draw=lambda recipe, unit: ())
    with pytest.raises(ValueError, match="Recipes of 'amemgym' are read as AMemGymRecipe already"):
        Benchmark(name="amemgym", noun="riddle", recipe=RiddleRecipe, stages=(drawn,))


def test_amemgyms_fields_keep_the_order_in_which_they_were_released_and_fingerprinted() -> None:
    assert set(FIELDS) == set(AMemGymRecipe.model_fields) - {"benchmark"}
    assert tuple(json.loads(small_recipe().model_dump_json())) == tuple(small_recipe().model_dump()) == FIELDS
    assert tuple(AMemGymRecipe.model_json_schema()["properties"]) == ("benchmark", *FIELDS)


@pytest.mark.parametrize(
    ("variant", "fingerprint", "item_fingerprint"),
    [("demo", "8e5e934c5ab331e8", "478ba4348e7fee47"), ("base", "94da711dd928b69b", "614be6cf23007fc4")],
)
def test_fingerprints_of_the_shipped_recipes_change_with_their_fields_alone(
    variant: str, fingerprint: str, item_fingerprint: str
) -> None:
    recipe = load_recipe(variant)
    assert (recipe.fingerprint, recipe.item_fingerprint) == (fingerprint, item_fingerprint)
