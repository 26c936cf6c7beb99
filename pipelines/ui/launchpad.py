"""Links to Dagster's launchpad with a variant's current values filled in, and new variants copied from existing ones."""

import json
import re
from itertools import takewhile
from pathlib import Path
from textwrap import wrap
from typing import Any, cast
from urllib.parse import urlencode

import yaml

from assets.engine.ports import AssetValues
from assets.engine.recipe_asset import lay_overrides
from assets.recipe import loading
from assets.recipe.config_schema import NOT_FOR_PEOPLE
from assets.recipe.loading import check_variant, load_recipe, variants
from assets.recipe.partitions import PARTITION_TAG
from assets.recipe.recipe import RecipeError, variant_problem
from pipelines.benchmarks import benchmark_of
from pipelines.jobs import GENERATE_AND_RELEASE

NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,38}[a-z0-9])?")  # valid as a file name on every system, and as a partition key
EDITOR_WIDTH = 56  # letters of a line that are in sight in a window of 1024 pixels
# Fields that hardly anybody sets.
UNCHANGED = ("sample", "salt")
# With these another variant would have the same users or tasks, claim to, or ask anew for users that it does not have.
OWN_FIELDS = ("salt", "derived_from", "again")


def launchpad_address(variant: str, values: AssetValues) -> str:
    """Return the URL path of the job's launchpad, with the variant's partition and current values. Raises RecipeError.

    Current are those of a run without config: of the variant's file, with the last run's overrides.
    """
    check_variant(variant)
    benchmark = benchmark_of(load_recipe(variant))
    laid = lay_overrides(values, benchmark.key("recipe"), variant, given={})
    fields = _present_values(load_recipe(variant, laid.fields).model_dump(mode="json"), "")
    # Groups of fields are seldom changed, and would fill three screens.
    overridden = {name.partition(".")[0] for name in laid.fields}
    folded = [name for name, value in fields.items() if isinstance(value, dict) and name not in overridden]
    lines = [
        f"      {name}: {json.dumps(fields[name], ensure_ascii=False)}" for name in fields if name not in (*folded, *UNCHANGED)
    ]
    rest = f"More, as in its file (Ctrl-Space): {', '.join(folded)}"
    lines += wrap(rest, EDITOR_WIDTH, initial_indent="      # ", subsequent_indent="      # ")
    config = "\n".join(["ops:", f"  {benchmark.op('recipe')}:", "    config:", *lines, ""])
    query = {"config": config, "tags[0][key]": PARTITION_TAG, "tags[0][value]": variant}
    return f"/locations/amemgym/jobs/{benchmark.key(GENERATE_AND_RELEASE)}/playground/setup?{urlencode(query)}"


def _present_values(fields: dict[str, Any], above: str) -> dict[str, Any]:
    """Return a recipe's fields as launchpad config, without empty fields and without lists of nested groups."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if f"{above}{name}" in (*NOT_FOR_PEOPLE, "benchmark"):
            continue
        if isinstance(value, dict):
            value = _present_values(cast(dict[str, Any], value), f"{above}{name}.")
        is_list_of_groups = isinstance(value, list) and any(isinstance(item, dict) for item in cast(list[object], value))
        if value not in (None, "", [], {}) and not is_list_of_groups:
            found[name] = value
    return found


def begin_variant(name: str, *, like: str) -> Path:
    """Copy another variant's recipe file, without what is that variant's own: salt, users named by id, its first comment.

    Raises RecipeError for a bad or taken name, or a folder that cannot be written.
    """
    load_recipe(like)  # which has a sentence for a file that cannot be read
    if not NAME.fullmatch(name) or variant_problem(name):
        raise RecipeError(f"{name!r} cannot name a variant; take small letters, digits, - and _, at most 40.")
    if name in variants():
        raise RecipeError(f"There is a variant {name!r} already; choose another name.")
    path = loading.RECIPES / f"{name}.yaml"
    try:
        words = (loading.RECIPES / f"{like}.yaml").read_text(encoding="utf-8")
        with path.open("x", encoding="utf-8") as file:
            file.write(f"# Began as {like}.\n{_without_own_fields(words)}")
    except OSError as error:
        raise RecipeError(f"{path} cannot be written ({error.strerror}); set AMEMGYM_RECIPES to a folder of yours.") from error
    return path


def _without_own_fields(recipe: str) -> str:
    """Return a recipe file's text without its first comment and without the lines of OWN_FIELDS."""
    lines = recipe.splitlines(keepends=True)
    own = {number for number, _ in enumerate(takewhile(lambda line: line.startswith("#"), lines))}
    root = yaml.compose(recipe, yaml.SafeLoader)
    for name, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if name.value in OWN_FIELDS:
            # A value in lines of its own ends where the next field begins, another one within its line.
            last = value.end_mark.line - (value.end_mark.column == 0)
            own.update(range(name.start_mark.line, last + 1))
    return "".join(line for number, line in enumerate(lines) if number not in own)
