"""The launchpad comes filled in with what a variant is made with now, and a new variant begins as another one."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import dagster as dg
import pytest
import yaml
from pydantic import JsonValue

from assets.engine.provenance import ResolvedRecipe
from assets.engine.recipe_asset import lay_overrides
from assets.recipe import loading
from assets.recipe.loading import load_recipe, variants
from assets.recipe.recipe import RecipeError
from assets.records.base import Record
from pipelines.definitions import defs
from pipelines.ui.launchpad import EDITOR_WIDTH, begin_variant, launchpad_address


@dataclass(frozen=True)
class Values:
    """The values of assets: those of the recipe that a variant was last made with, or none."""

    recipe: ResolvedRecipe | None = None

    def find(self, asset: str, partition: str) -> Record | None:
        return self.recipe


MOST_LINES = 24  # of config, which one looks over before a click


def filled(variant: str, values: Values) -> tuple[str, str, str]:
    """The job's path, its config, and the partition among the tags."""
    address = urlsplit(launchpad_address(variant, values))
    query = parse_qs(address.query)
    assert query["tags[0][key]"] == ["dagster/partition"]
    return address.path, query["config"][0], query["tags[0][value]"][0]


@pytest.mark.parametrize("variant", variants())
def test_what_the_launchpad_is_filled_with_is_config_that_it_takes_and_the_variant_has_anyway(variant: str) -> None:
    path, text, partition = filled(variant, Values())
    ops = yaml.safe_load(text)["ops"]
    ((op, given),) = ops.items()
    job, recipe = path.split("/")[4], load_recipe(variant)
    assert dg.validate_run_config(defs.resolve_job_def(job), {"ops": ops})
    laid = lay_overrides(Values(), op.partition("__")[2], variant, given=given["config"])
    assert partition == variant
    assert job.endswith("generate_and_release")
    assert given["config"]["num_reserve"] == recipe.num_reserve
    assert len(text.splitlines()) <= MOST_LINES
    assert max(len(line) for line in text.splitlines() if "#" in line) <= EDITOR_WIDTH
    assert laid.fields == {}


def test_an_override_of_the_last_run_is_a_present_value_and_stays_one() -> None:
    overrides: dict[str, JsonValue] = {"num_users": 2, "gates.votes": 5}
    values = Values(ResolvedRecipe(recipe=load_recipe("demo", overrides), overrides=overrides))
    _, text, _ = filled("demo", values)
    given = yaml.safe_load(text)["ops"]["amemgym__recipe"]["config"]
    assert (given["num_users"], given["gates"]["votes"]) == (2, 5)
    assert "models" not in given
    assert lay_overrides(values, "recipe", "demo", given=given).fields == overrides
    assert lay_overrides(values, "recipe", "demo", given={**given, "num_questions": 5}).given == {"num_questions": 5}


def test_a_new_variant_says_what_the_one_says_that_it_began_as(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "RECIPES", tmp_path)
    (tmp_path / "demo.yaml").write_text("num_users: 3  # few\n", encoding="utf-8")
    begin_variant("retired", like="demo")
    assert load_recipe("retired").num_items == 3
    assert "# few" in (tmp_path / "retired.yaml").read_text(encoding="utf-8")
    with pytest.raises(RecipeError, match="There is a variant 'retired' already"):
        begin_variant("retired", like="demo")
    for name in ("", "Retired", "../retired", "a b", "x" * 41):
        with pytest.raises(RecipeError, match="cannot name a variant"):
            begin_variant(name, like="demo")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.yaml", "retired.yaml"]


def test_a_new_variant_has_nothing_that_is_the_other_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "RECIPES", tmp_path)
    own = "again:\n  all: {events: 1}\nderived_from: base\n"
    (tmp_path / "demo.yaml").write_text(
        f"# A taste.\nsalt: demo  # for all\nnum_users: 3\n{own}seed: 7  # my own\n", encoding="utf-8"
    )
    begin_variant("retired", like="demo")
    assert (tmp_path / "retired.yaml").read_text(encoding="utf-8") == "# Began as demo.\nnum_users: 3\nseed: 7  # my own\n"
    (tmp_path / "demo.yaml").write_text("num_users: [\n", encoding="utf-8")
    with pytest.raises(RecipeError, match=r"Recipe demo\.yaml cannot be read"):
        begin_variant("again", like="demo")
