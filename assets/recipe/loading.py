"""Recipe files: find, read, override. Adding a YAML file to the folder adds a variant."""

import difflib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from pydantic import ValidationError

from assets.recipe.recipe import Recipe
from assets.recipe.registry import DEFAULT_BENCHMARK, RECIPE_TYPES

RECIPES = Path(os.environ.get("AMEMGYM_RECIPES") or Path(__file__).parents[2] / "pipelines" / "recipes")
R = TypeVar("R", bound=Recipe)


class RecipeError(ValueError):
    """A recipe that cannot be followed; the message names the field and what to do."""


@dataclass(frozen=True)
class Unit:
    """A work unit: the positions of its users and of its own reserve in the variant's sample of personas."""

    key: str
    variant: str
    users: range
    reserve: range

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions in the sample: the unit's users first, then its reserve."""
        return (*self.users, *self.reserve)


def variants() -> tuple[str, ...]:
    """Names of all recipe files, `demo` first."""
    return tuple(sorted((path.stem for path in RECIPES.glob("*.yaml")), key=lambda name: (name != "demo", name)))


def load_recipe(variant: str, overrides: Mapping[str, object] | None = None) -> Recipe:
    """Read `<variant>.yaml` and lay overrides over it; keys may be dotted ("gates.votes"). Raises RecipeError."""
    path = RECIPES / f"{variant}.yaml"
    if variant not in variants():
        raise RecipeError(f"There is no recipe {variant!r} in {RECIPES}; there are {', '.join(variants()) or 'none'}.")
    try:
        content: object = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError) as error:
        raise RecipeError(f"Recipe {path.name} cannot be read: {' '.join(str(error).split())}.") from error
    if not isinstance(content, dict):
        raise RecipeError(f"Recipe {path.name} must map field names to values.")
    fields = cast(dict[str, Any], content)
    for key, value in (overrides or {}).items():
        _set(fields, key.split("."), value)
    return build_recipe({**fields, "variant": variant})


def build_recipe(fields: Mapping[str, object]) -> Recipe:
    """Check the fields. Raises RecipeError with one sentence for each thing that is wrong."""
    recipe_type = RECIPE_TYPES.get(str(fields.get("benchmark", DEFAULT_BENCHMARK)))
    if recipe_type is None:
        raise RecipeError(
            f"Recipe {fields.get('variant')!r}: there is no benchmark {fields['benchmark']!r}; "
            f"there are {', '.join(sorted(RECIPE_TYPES))}."
        )
    try:
        # A record that several benchmarks share has no name of its own as a default.
        return recipe_type.model_validate({"benchmark": DEFAULT_BENCHMARK, **fields})
    except ValidationError as error:
        raise RecipeError(f"Recipe {fields.get('variant')!r}: {' '.join(_sentences(error, recipe_type))}") from error


def recipe_from_json(text: str | bytes) -> Recipe:
    """A recipe as it was stored. Raises RecipeError for one of another version, ValueError for what is not JSON."""
    fields: object = json.loads(text)
    if not isinstance(fields, dict):
        raise RecipeError("A stored recipe must map field names to values.")
    return build_recipe(cast(dict[str, object], fields))


def expect_recipe(recipe: Recipe, recipe_type: type[R]) -> R:
    """The recipe as that of one benchmark. Raises RecipeError for another benchmark's."""
    if not isinstance(recipe, recipe_type):
        names = [name for name, known in RECIPE_TYPES.items() if issubclass(known, recipe_type)]
        raise RecipeError(f"{recipe.variant!r} is a variant of {recipe.benchmark!r}; this works for {', '.join(names)}.")
    return recipe


def units(recipe: Recipe) -> tuple[Unit, ...]:
    """Split the variant's users into work units of `users_per_shard`, each with its share of the reserve."""
    if recipe.users_per_shard is None:
        users, end = range(recipe.num_users), recipe.num_users + recipe.num_reserve
        return (Unit(recipe.variant, recipe.variant, users, range(recipe.num_users, end)),)
    starts = range(0, recipe.num_users, recipe.users_per_shard)
    share = -(-recipe.num_reserve // len(starts))
    return tuple(
        Unit(
            key=f"{recipe.variant}-{index:04d}",
            variant=recipe.variant,
            users=range(start, min(start + recipe.users_per_shard, recipe.num_users)),
            reserve=range(recipe.num_users + index * share, recipe.num_users + (index + 1) * share),
        )
        for index, start in enumerate(starts)
    )


def _set(fields: dict[str, Any], path: list[str], value: object) -> None:
    for key in path[:-1]:
        fields = fields.setdefault(key, {})
        if not isinstance(fields, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise RecipeError(f"{'.'.join(path)!r} cannot be set: {key!r} is not a group of fields.")
    fields[path[-1]] = value


def _siblings(where: str, recipe_type: type[Recipe]) -> list[str]:
    """The fields there are where this dotted one was looked for."""
    group: Any = recipe_type
    for name in where.split(".")[:-1]:
        group = group.model_fields[name].annotation
    return list(group.model_fields)


def _sentences(error: ValidationError, recipe_type: type[Recipe]) -> list[str]:
    found: list[str] = []
    for problem in error.errors():
        where = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            close = difflib.get_close_matches(where.rpartition(".")[2], _siblings(where, recipe_type), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            found.append(f"there is no field {where!r}.{hint}")
        elif problem["type"] == "value_error":
            found.append(problem["msg"].removeprefix("Value error, "))
        else:
            found.append(f"{where} is {problem['input']!r}: {problem['msg'].lower()}.")
    return found
