"""The launchpad shows every field of the recipe as the records describe it, and refuses what cannot be."""

import json
from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
import yaml
from jsonschema import Draft202012Validator

from assets.amemgym.pipeline import AMEMGYM
from assets.code_qa.pipeline import CODE_QA
from assets.engine.benchmark import Benchmark
from assets.engine.ports import VALUES
from assets.engine.recipe_asset import check_again, recipe_asset
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.config_schema import NOT_FOR_PEOPLE, RecipeField, editor_schema, launchpad_config, recipe_fields
from assets.recipe.loading import RECIPES, dotted_fields, load_recipe, variants
from assets.recipe.recipe import Recipe, RecipeError
from tests.support.small import small_recipe

FIELDS = recipe_fields(AMemGymRecipe)
# Numbers that count nothing.
WITHOUT_UNIT = {"seed", "sample"}


def paths(value: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, inner in value.items():
        if isinstance(inner, dict) and inner:
            yield from paths(inner, f"{prefix}{name}.")  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield prefix + name


def accepted(config: dict[str, Any], benchmark: Benchmark = AMEMGYM) -> dict[str, Any]:
    """The recipe's config as Dagster passes it on. Raises DagsterInvalidConfigError."""
    resources = {"run_context": dg.ResourceDefinition.none_resource(), VALUES: dg.mem_io_manager}
    name = benchmark.op("recipe")
    chosen = dg.AssetSelection.assets(benchmark.asset_key("recipe"))
    only = dg.define_asset_job("only_recipe", selection=chosen)  # pyright: ignore[reportUnknownMemberType]
    job = dg.Definitions([recipe_asset(benchmark)], jobs=[only], resources=resources).resolve_job_def("only_recipe")
    return dg.validate_run_config(job, {"ops": {name: {"config": config}}})["ops"][name]["config"]


def test_all_that_a_recipe_may_set_is_shown() -> None:
    written = [path for path in paths(small_recipe().model_dump(mode="json")) if path not in NOT_FOR_PEOPLE]
    # A recipe without fields of its own for requests has the bytes from before there were any.
    shown = [field.path for field in FIELDS if not field.path.endswith(".extra_body")]
    assert shown == ["benchmark", *written]
    assert len(FIELDS) == len(shown) + 3


def marked(fields: object, recipe_type: type[Recipe]) -> list[str]:
    """What an editor says of a recipe file with these fields."""
    as_json = json.loads(json.dumps(fields, default=str))  # a date is a text there
    validator: Any = Draft202012Validator(editor_schema(recipe_type))
    return [error.message for error in validator.iter_errors(as_json)]


@pytest.mark.parametrize("variant", variants())
def test_an_editor_accepts_every_recipe_that_is_shipped(variant: str) -> None:
    fields = yaml.safe_load((RECIPES / f"{variant}.yaml").read_text(encoding="utf-8"))
    assert marked(fields, type(load_recipe(variant))) == []


def test_an_editor_marks_what_cannot_be_and_does_not_offer_what_resolving_fills_in() -> None:
    for fields in ({"num_user": 3}, {"num_users": "three"}, {"num_users": 0}, {"variant": "demo"}, {"pool": {"content": "1"}}):
        assert len(marked(fields, AMemGymRecipe)) == 1, fields


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.path)
def test_every_field_tells_its_meaning_and_what_its_numbers_count(field: RecipeField) -> None:
    assert field.meaning != field.path.rpartition(".")[2].replace("_", " ")
    assert field.default
    if field.kind.startswith("whole number") and field.path not in WITHOUT_UNIT:
        assert field.unit
    if "number" in field.kind:
        assert field.range


def test_a_field_is_one_sentence_of_meaning_and_one_of_limits() -> None:
    (months,) = (field for field in FIELDS if field.path == "num_months_per_period")
    assert months.sentence == (
        "Months from one state to the next. Whole number, 1 to 24, in months. Left out: as the YAML says, else 3."
    )


def test_what_is_given_reaches_the_recipe_and_nothing_else_does() -> None:
    writer: dict[str, Any] = {"temperature": None, "extra_body": {"top_k": 20, "stop": ["a"], "thinking": {"on": False}}}
    config = {"num_users": 3, "models": {"writer": writer}, "again": {"u": {"answers": 1}}}
    assert accepted(config) == config
    assert dotted_fields({"num_users": 3, "models": {"writer": {"extra_body": {"thinking": {"on": False}}}}}) == {
        "num_users": 3,
        "models.writer.extra_body.thinking.on": False,
    }


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"num_users": "many"}, "num_users"),
        ({"num_user": 3}, "num_user"),
        ({"language": "tlh"}, "language"),
        ({"gates": {"policy": "lax"}}, "policy"),
        ({"models": {"writer": {"temprature": 0.1}}}, "temprature"),
        ({"again": {"u": {"answer": 1}}}, "answer"),
        ({"exclude_ids": "u"}, "exclude_ids"),
    ],
    ids=str,
)
def test_the_launchpad_refuses_wrong_names_kinds_and_words(config: dict[str, Any], told: str) -> None:
    with pytest.raises(dg.DagsterInvalidConfigError, match=told):
        accepted(config)


def test_a_list_of_groups_is_given_group_by_group() -> None:
    config = {"packages": [{"name": "idna", "version": "3.20", "modules": ["idna.core"]}]}
    assert accepted(config, CODE_QA) == config
    with pytest.raises(dg.DagsterInvalidConfigError, match="versoin"):
        accepted({"packages": [{"name": "idna", "versoin": "3.20"}]}, CODE_QA)


def test_who_is_asked_again_has_to_be_in_the_sample() -> None:
    check_again(small_recipe(again={"all": {"answers": 1}}), AMEMGYM)
    with pytest.raises(RecipeError, match=r"again names the user 'nobody', which is not in the sample of 'small'"):
        check_again(small_recipe(again={"nobody": {"answers": 1}}), AMEMGYM)


def test_a_stage_that_is_asked_again_has_to_be_one_that_asks() -> None:
    with pytest.raises(RecipeError, match=r"again\.all names 'event', which is no stage that asks a model; there are events, "):
        check_again(small_recipe(again={"all": {"event": 1}}), AMEMGYM)


def test_a_stage_is_asked_again_a_whole_number_of_times() -> None:
    for times in (0, -1, 0.5):
        with pytest.raises(ValueError, match="again"):
            AMemGymRecipe.model_validate({"variant": "v", "again": {"u": {"answers": times}}})


def test_packages_that_a_command_sets_are_given_to_the_launchpad_without_what_resolving_fills_in() -> None:
    package = {"name": "tiny", "version": "1.0", "path": "/somewhere/tiny"}
    (given,) = launchpad_config(load_recipe("code-demo", {"packages": [package]}))["packages"]
    assert given["path"] == package["path"]
    assert "content" not in given
