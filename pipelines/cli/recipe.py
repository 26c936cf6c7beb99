"""`amemgym recipe`: list, print and import recipes; and recipes with overrides, for the other commands."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer
import yaml
from rich.console import Console

from assets.amemgym.recipe import AMemGymRecipe
from assets.engine.overrides import lay_overrides
from assets.llm.languages import LANGUAGES
from assets.recipe.config_schema import RESET, recipe_fields
from assets.recipe.loading import RECIPES, RecipeError, build_recipe, expect_recipe, load_recipe, nearest_first, variants
from assets.recipe.recipe import Recipe
from assets.recipe.registry import DEFAULT_BENCHMARK, RECIPE_TYPES
from assets.records.json_text import JsonError, parse_json
from pipelines.benchmarks import benchmark_of
from pipelines.cli.errors import Problem
from pipelines.cli.groups import command_group
from pipelines.cli.options import RecipeArgument, SetOption, json_option, parse_overrides
from pipelines.cli.terminal import print_json, print_plain, print_table
from pipelines.home import home
from pipelines.resources.storage.io_manager import open_asset_values

app = command_group("Recipes: the parameters of a variant.")

MAIN_NUMBERS = ("variant", "benchmark", "items", "periods", "questions", "states", "messages", "writer")
# Names of the paper's configuration files, and ours.
REFERENCE_NAMES = {
    "num_user_profiles": "num_users",
    "num_users": "num_users",
    "num_questions": "num_questions",
    "num_periods": "num_periods",
    "num_months_per_period": "num_months_per_period",
    "num_states_per_question": "num_states_per_question",
    "num_choices_per_state": "num_choices_per_state",
    "num_changes_per_period": "num_changes_per_period",
    "max_changes_per_state": "max_changes_per_state",
    "min_variants_per_question": "min_variants_per_question",
    "num_rounds_initial": "num_rounds_initial",
    "num_rounds_update": "num_rounds_update",
    "start_date": "start_date",
    "seed": "seed",
    "random_seed": "seed",
    "prompt_lang": "language",
    "language": "language",
    "exclude_ids": "exclude_ids",
}
MODEL_NAMES = {
    "llm_config_high_temp": "creative_temperature",
    "llm_config_low_temp": "temperature",
    "llm_config": "temperature",
}
LANGUAGE_CODES = {name.casefold(): code for code, name in LANGUAGES.items()} | {"chinese": "zh"}


def checked_recipe(
    variant: str, overrides: Sequence[str] | None = None, *, model: str = "", reset: bool = False
) -> AMemGymRecipe:
    """The same for a command that knows AMemGym alone."""
    try:
        return expect_recipe(recipe_to_follow(variant, overrides, model=model, reset=reset), AMemGymRecipe)
    except RecipeError as error:
        raise Problem(str(error)) from error


def recipe_to_follow(variant: str, overrides: Sequence[str] | None = None, *, model: str = "", reset: bool = False) -> Recipe:
    """The recipe that a run would follow: its file, the overrides of the last run unless `reset`, and those given here.

    `model` takes every role. What stays of the last run, and what is replaced, is said on stderr. Raises Problem with the
    recipe's own sentence.
    """
    roles = [f"models.{role}.model={model}" for role in ("writer", "judge", "user_simulator") if model]
    given = {**parse_overrides([*(overrides or []), *roles]), RESET: reset}
    name = benchmark_of(recipe_in_file(variant)).key("recipe")
    laid = lay_overrides(open_asset_values(home()), name, variant, given=given)
    try:
        recipe = load_recipe(variant, laid.fields)
    except RecipeError as error:
        raise Problem(laid.explain(str(error))) from error
    if laid.notice:
        Console(stderr=True).print(laid.notice, highlight=False, soft_wrap=True)
    return recipe


def recipe_in_file(variant: str, overrides: Sequence[str] | None = None) -> Recipe:
    """The recipe of the variant's file, with overrides given here alone. Raises Problem with the recipe's own sentence."""
    try:
        return load_recipe(variant, parse_overrides(overrides or []))
    except RecipeError as error:
        raise Problem(str(error)) from error


def launchpad_config(wanted: Recipe) -> dict[str, Any]:
    """What the launchpad has to say beside the YAML to come to this recipe."""
    return _differences(_fields(load_recipe(wanted.variant)), _fields(wanted))


def _fields(recipe: Recipe) -> dict[str, Any]:
    return recipe.model_dump(mode="json", exclude={"variant": True, "pool": {"content"}})


def _differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    differences: dict[str, Any] = {}
    for name, value in after.items():
        old = before.get(name)
        if value != old:
            differences[name] = _differences(old, value) if isinstance(old, dict) else value  # pyright: ignore[reportUnknownArgumentType]
    return differences


@app.command("list")
def list_recipes(as_json: Annotated[bool, json_option("variant", "benchmark", "items", "writer", "...")] = False) -> None:
    """List the recipes with their main numbers: states per question, messages per session."""
    rows: list[dict[str, object]] = []
    problems: list[str] = []
    for variant in variants():
        try:
            rows.append(_main_numbers(recipe_in_file(variant)))
        except Problem as problem:
            problems.append(str(problem))
    if as_json:
        print_json(rows)
    else:
        print_table(Console(), MAIN_NUMBERS, [[str(row.get(name, "")) for name in MAIN_NUMBERS] for row in rows])
    for problem in problems:
        print_plain(Console(stderr=True), problem)


def _main_numbers(recipe: Recipe) -> dict[str, object]:
    own: dict[str, object] = {}
    if isinstance(recipe, AMemGymRecipe):
        own = {
            "periods": recipe.num_periods,
            "questions": recipe.num_questions,
            "states": recipe.num_states_per_question,
            "messages": 2 * recipe.num_rounds_update,
        }
    numbers = {"variant": recipe.variant, "benchmark": recipe.benchmark, "items": recipe.num_items, **own}
    return {**numbers, "writer": recipe.models.writer.model}


@app.command("show")
def show_recipe(
    variant: RecipeArgument,
    overrides: SetOption = None,
    as_json: Annotated[bool, json_option("variant", "seed", "models", "...: the recipe's fields")] = False,
) -> None:
    """Print a recipe with all its fields, as YAML: its file, and what --set lays over it."""
    recipe = recipe_in_file(variant, overrides)
    laid = lay_overrides(open_asset_values(home()), benchmark_of(recipe).key("recipe"), variant, given={})
    if laid.notice:
        Console(stderr=True).print(f"This is the file alone. {laid.notice}", highlight=False, soft_wrap=True)
    if as_json:
        print_json(recipe)
        return
    print(yaml.safe_dump(recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True), end="")


@app.command("fields")
def list_fields(
    benchmark: Annotated[str, typer.Option(help="Whose recipes: " + ", ".join(RECIPE_TYPES) + ".")] = DEFAULT_BENCHMARK,
    as_json: Annotated[bool, json_option("path", "meaning", "kind", "unit", "range", "default")] = False,
) -> None:
    """List every field that a recipe may set: meaning, kind, unit, range, default."""
    if benchmark not in RECIPE_TYPES:
        raise Problem(f"There is no benchmark {benchmark!r}; there are {nearest_first(benchmark, RECIPE_TYPES)}.")
    fields = recipe_fields(RECIPE_TYPES[benchmark])
    if as_json:
        print_json(fields)
        return
    width = min(Console().width, 120)
    for field in fields:
        kind = ", ".join(part for part in (field.kind, field.range, field.unit and f"in {field.unit}") if part)
        # The name has a line of its own, so that it is never cut.
        print(field.path)
        words = f"{field.meaning} ({kind}; left out: {field.default})"
        print(textwrap.fill(words, width, initial_indent="    ", subsequent_indent="    "))


@app.command("import")
def import_recipe(
    path: Annotated[str, typer.Argument(help="A JSON configuration of the paper's code.")],
    name: Annotated[str, typer.Argument(help="Name of the new variant.")],
) -> None:
    """Turn a configuration file of the paper's code into a recipe."""
    try:
        content: object = parse_json(Path(path).read_bytes())
    except OSError as error:
        raise Problem(f"The configuration {path} cannot be read: {error.strerror}.") from error
    except JsonError as error:
        raise Problem(f"The configuration {path} cannot be read as JSON: {error}.") from error
    if not isinstance(content, dict):
        raise Problem(f"The configuration {path} must hold one JSON object, as the paper's code has it.")
    fields, unknown = translate(cast(dict[str, Any], content))
    target = RECIPES / f"{name}.yaml"
    if target.exists():
        raise Problem(f"The recipe {target} exists already; choose another name.")
    try:
        build_recipe({"variant": name, **fields})
    except RecipeError as error:
        raise Problem(str(error)) from error
    target.write_text(yaml.safe_dump(fields, sort_keys=False), encoding="utf-8")
    print(f"Wrote {target}.")
    if unknown:
        print(f"Fields without a counterpart were left out: {', '.join(unknown)}.")


def translate(content: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Our fields, and the names of those that have no counterpart."""
    fields: dict[str, Any] = {}
    writer: dict[str, Any] = {}
    unknown: list[str] = []
    for key, value in content.items():
        if key in REFERENCE_NAMES:
            plain = LANGUAGE_CODES.get(str(value).casefold(), value) if key in ("prompt_lang", "language") else value
            fields[REFERENCE_NAMES[key]] = plain
        elif key in MODEL_NAMES and isinstance(value, dict):
            spec = cast(dict[str, Any], value)
            writer["model"] = spec.get("llm_model") or spec.get("model") or writer.get("model", "gpt-4.1")
            if "temperature" in spec:
                writer[MODEL_NAMES[key]] = spec["temperature"]
        else:
            unknown.append(key)
    if writer:
        fields["models"] = {"writer": writer}
    return fields, unknown
