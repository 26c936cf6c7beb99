"""`amemgym recipe`: list, print and import recipes. Other commands load recipes with overrides through this module."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, cast

import typer
import yaml

from assets.engine.recipe_asset import lay_overrides
from assets.recipe import loading
from assets.recipe.config_schema import RESET, editor_schema, recipe_fields
from assets.recipe.loading import RECIPES, build_recipe, load_recipe, variants
from assets.recipe.recipe import Recipe, RecipeError, variant_problem
from assets.recipe.registry import DEFAULT_BENCHMARK, RECIPE_TYPES
from assets.records.json_text import JsonError, parse_json
from assets.records.problems import nearest_first
from assets.reporting.text_table import UNBROKEN, print_table
from pipelines.benchmarks import BENCHMARKS, benchmark_of
from pipelines.cli.options import RecipeArgument, SetOption, command_group, file_errors, json_option, parse_overrides
from pipelines.cli.terminal import TextConsole, print_json, print_plain, stdout_console
from pipelines.errors import Problem
from pipelines.home import home
from pipelines.resources.storage.io_manager import open_asset_values

app = command_group("Recipes: the parameters of a variant.")

MAIN_NUMBERS = ("variant", "benchmark", "items", "periods", "questions", "states", "messages", "writer")


def recipe_to_follow(variant: str, overrides: Sequence[str] | None = None, *, model: str = "", reset: bool = False) -> Recipe:
    """Return the recipe that a run would follow: its file, the overrides of the last run unless `reset`, and those given here.

    `model` is used for every role. Which overrides are kept or replaced is printed on stderr. Raises Problem with the
    recipe's own sentence.
    """
    roles = [f"models.{role}.model={model}" for role in ("writer", "judge", "user_simulator") if model]
    given = {**parse_overrides([*(overrides or []), *roles]), RESET: reset}
    name = benchmark_of(recipe_in_file(variant)).key("recipe")
    laid = lay_overrides(open_asset_values(home()), name, variant, given=given)
    try:
        recipe = _load_checked(variant, laid.fields)
    except RecipeError as error:
        raise Problem(laid.explain(str(error))) from error
    if laid.notice:
        print_plain(TextConsole(stderr=True), laid.notice)
    return recipe


def recipe_in_file(variant: str, overrides: Sequence[str] | None = None) -> Recipe:
    """Return the recipe of the variant's file with only the overrides given here. Raises RecipeError."""
    return _load_checked(variant, parse_overrides(overrides or []))


def _load_checked(variant: str, overrides: Mapping[str, object]) -> Recipe:
    """Read the recipe, and check that its benchmark has the stages that it names. Raises RecipeError."""
    recipe = load_recipe(variant, overrides)
    benchmark_of(recipe).check_stages_asked_again(recipe)
    return recipe


@app.command("list")
def list_recipes(as_json: Annotated[bool, json_option("variant", "benchmark", "items", "writer", "...")] = False) -> None:
    """List the recipes with their main numbers: states per question, messages per session."""
    rows: list[dict[str, object]] = []
    problems: list[str] = []
    if not variants():
        raise Problem(f"There is no recipe in {loading.RECIPES}; check the folder in AMEMGYM_RECIPES.")
    for variant in variants():
        try:
            recipe = recipe_in_file(variant)
        except RecipeError as problem:
            problems.append(str(problem))
            continue
        shared = {"variant": recipe.variant, "benchmark": recipe.benchmark, "items": recipe.num_items}
        rows.append({**shared, **recipe.main_numbers, "writer": recipe.models.writer.model})
    if as_json:
        print_json(rows)
    else:
        cells = [[str(row.get(name, "")) for name in MAIN_NUMBERS] for row in rows]
        print_table(stdout_console(), MAIN_NUMBERS, cells)
    for problem in problems:
        print_plain(TextConsole(stderr=True), problem)


@app.command("show")
def show_recipe(
    variant: RecipeArgument,
    overrides: SetOption = None,
    as_json: Annotated[bool, json_option("variant", "seed", "models", "...: the recipe's fields")] = False,
) -> None:
    """Print a recipe with all its fields as YAML: its file, with the overrides of --set.

    A comment gives a field's default if the value differs from it. AMemGym's defaults are the paper's base.
    """
    recipe = recipe_in_file(variant, overrides)
    laid = lay_overrides(open_asset_values(home()), benchmark_of(recipe).key("recipe"), variant, given={})
    if laid.notice:
        print_plain(TextConsole(stderr=True), f"This is the file without later overrides. {laid.notice}")
    if as_json:
        print_json(recipe)
        return
    # Not an instance: some benchmarks have no valid recipe without packages.
    defaults = type(recipe).model_construct(variant=variant)
    for line in _marked_lines(recipe.model_dump(mode="json"), defaults.model_dump(mode="json")):
        print(line)


def _marked_lines(fields: Mapping[str, Any], defaults: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Yield the fields as lines of YAML. If a value differs from its default, a comment gives the default."""
    for name, value in fields.items():
        default = defaults.get(name)
        if value and isinstance(value, dict) and isinstance(default, dict):
            yield f"{indent}{name}:"
            yield from _marked_lines(cast(dict[str, Any], value), cast(dict[str, Any], default), f"{indent}  ")
            continue
        lines = _yaml(cast(object, {name: value})).splitlines()
        if value != default:
            mark = f"# default: {_yaml(default, flow=True)}"
            # A comment inside a multi-line text would become part of the text.
            lines = [f"{lines[0]}  {mark}"] if len(lines) == 1 else [mark, *lines]
        for line in lines:
            yield indent + line


def _yaml(value: object, *, flow: bool = False) -> str:
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=flow, width=UNBROKEN)
    return text.strip().removesuffix("...").strip()


@app.command("fields")
def list_fields(
    benchmark: Annotated[str, typer.Option(help="Whose recipes: " + ", ".join(RECIPE_TYPES) + ".")] = DEFAULT_BENCHMARK,
    as_json: Annotated[bool, json_option("path", "meaning", "kind", "unit", "range", "default")] = False,
    as_schema: Annotated[bool, typer.Option("--schema", help="Print a JSON Schema, for completion in an editor.")] = False,
) -> None:
    """List all fields that a recipe may set: meaning, kind, unit, range, default."""
    if benchmark not in RECIPE_TYPES:
        raise Problem(f"There is no benchmark {benchmark!r}; there are {nearest_first(benchmark, RECIPE_TYPES)}.")
    if as_schema:
        print(json.dumps(editor_schema(RECIPE_TYPES[benchmark]), indent=2, ensure_ascii=False))
        return
    fields = recipe_fields(RECIPE_TYPES[benchmark])
    if as_json:
        print_json(fields)
        return
    width = min(stdout_console().width, 120)
    for field in fields:
        kind = ", ".join(filter(None, [field.kind, field.range, field.unit and f"in {field.unit}"]))
        # The name is on its own line, so that it is never cut.
        print(field.path)
        words = f"{field.meaning} ({kind}; default: {field.default})"
        print(textwrap.fill(words, width, initial_indent="    ", subsequent_indent="    "))


@app.command("import")
def import_recipe(
    path: Annotated[str, typer.Argument(help="A JSON configuration of the paper's code.")],
    name: Annotated[str, typer.Argument(help="Name of the new variant.")],
) -> None:
    """Turn a configuration file of the paper's code into a recipe."""
    with file_errors(f"The configuration {path} cannot be read"):
        text = Path(path).read_bytes()
    try:
        content: object = parse_json(text)
    except JsonError as error:
        raise Problem(f"The configuration {path} cannot be read as JSON: {error}.") from error
    if not isinstance(content, dict):
        raise Problem(f"The configuration {path} must be one JSON object, as in the paper's code.")
    read_configuration = resolve_name(BENCHMARKS[DEFAULT_BENCHMARK].read_configuration)
    try:
        fields = read_configuration(cast(dict[str, Any], content))
    except RecipeError as error:
        raise Problem(f"The configuration {path} is not taken over: {error}") from error
    print(f"Wrote {write_recipe(name, fields)}.")


def write_recipe(name: str, fields: Mapping[str, Any]) -> Path:
    """Write a new recipe file. Raises Problem if the name is taken, or if the fields are not a valid recipe."""
    problem = variant_problem(name)
    if problem:
        raise Problem(problem)
    target = RECIPES / f"{name}.yaml"
    if target.exists():
        raise Problem(f"The recipe {target} exists already; choose another name.")
    build_recipe({"variant": name, **fields})  # raises RecipeError for what is no recipe
    target.write_text(yaml.safe_dump(dict(fields), sort_keys=False), encoding="utf-8")
    return target
