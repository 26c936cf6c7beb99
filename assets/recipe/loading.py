"""Recipe files: find, read, override. Adding a YAML file to the folder adds a variant."""

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from assets.recipe.recipe import Recipe, RecipeError, variant_problem
from assets.recipe.registry import DEFAULT_BENCHMARK, RECIPE_TYPES
from assets.records.base import duplicates
from assets.records.problems import name_meant, nearest_first, requirement
from assets.text.words import shorten

RECIPES = Path(os.environ.get("AMEMGYM_RECIPES") or Path(__file__).parents[2] / "pipelines" / "recipes")
MOST_ALIASES = 100  # a few lines of aliases of aliases make gigabytes
MOST_SHOWN = 80  # characters of a wrong value
OCTAL = re.compile(r"[-+]?0[0-7_]+")
R = TypeVar("R", bound=Recipe)


class StrictLoader(yaml.SafeLoader):
    """YAML without what says something else than it seems to: a key that is there twice, aliases by the hundred, 1:30, 010."""

    aliases = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            self.aliases += 1
            if self.aliases > MOST_ALIASES:
                self._refuse(f"it has more than {MOST_ALIASES} aliases", cast(Any, self).peek_event())
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = duplicates(keys)
        if twice:
            self._refuse(f"the field {twice[0]!r} is given twice", node)
        return super().construct_mapping(node, deep)

    def construct_number(self, node: Any) -> Any:
        if ":" in node.value:
            self._refuse(
                f"{node.value} would be read as a number to the base of 60; write it in quotes, or as a plain number", node
            )
        if OCTAL.fullmatch(node.value):
            self._refuse(f"{node.value} would be read as a number to the base of 8; write it without the 0 before it", node)
        is_int = node.tag.endswith("int")
        return self.construct_yaml_int(node) if is_int else self.construct_yaml_float(node)

    def construct_date(self, node: Any) -> Any:
        try:
            return self.construct_yaml_timestamp(node)
        except ValueError:  # no day, such as 2020-13-01: the field says what it has to be
            return node.value

    def _refuse(self, problem: str, where: Any) -> NoReturn:
        raise yaml.constructor.ConstructorError(None, None, problem, where.start_mark)


for _tag in ("int", "float"):
    StrictLoader.add_constructor(f"tag:yaml.org,2002:{_tag}", StrictLoader.construct_number)
StrictLoader.add_constructor("tag:yaml.org,2002:timestamp", StrictLoader.construct_date)


def variants() -> tuple[str, ...]:
    """Names of all recipe files, `demo` first."""
    names = sorted(path.stem for path in RECIPES.glob("*.yaml"))
    return tuple(sorted(names, key=lambda name: name != "demo"))


def how_to_remake(asset: str, unit: str) -> str:
    """Say how an asset is made again of a work unit, or of a variant: in Dagster, and by the command of a terminal."""
    variant = unit if unit in variants() else re.sub(r"-\d{4,}$", "", unit)
    return f"materialize {asset!r} of {unit!r} again, or in a terminal: amemgym generate {variant}"


def purpose_of(variant: str) -> str:
    """Return the first comment of a variant's file, which says what it is good for; "" where there is none."""
    with (RECIPES / f"{variant}.yaml").open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    return first.removeprefix("#").strip() if first.startswith("#") else ""


def check_variant(variant: str) -> None:
    """Raise RecipeError if no recipe file has this name, or no release could have it."""
    if variant not in variants():
        known = nearest_first(variant, variants())
        raise RecipeError(f"There is no recipe {variant!r} in {RECIPES}; there are {known}.{_name_meant(variant)}")
    problem = variant_problem(variant)
    if problem:
        raise RecipeError(problem)


def _name_meant(variant: str) -> str:
    """Return a sentence on what a wrong name most likely stands for, " " before it; "" where nothing is near."""
    path = Path(variant)
    name = path.stem if path.suffix in (".yaml", ".yml") else path.name
    if (RECIPES / f"{name}.yml").is_file():
        return f" The file {name}.yml is not read: rename it to {name}.yaml."
    return name_meant(name, variants())


def load_recipe(variant: str, overrides: Mapping[str, object] | None = None) -> Recipe:
    """Read `<variant>.yaml` and lay overrides over it; keys may be dotted ("gates.votes"). Raises RecipeError."""
    path = RECIPES / f"{variant}.yaml"
    check_variant(variant)
    try:
        content: object = yaml.load(path.read_text(encoding="utf-8"), StrictLoader) or {}  # noqa: S506 (a SafeLoader)
    except UnicodeDecodeError as error:
        raise RecipeError(f"Recipe {path.name} cannot be read: it is not UTF-8 (byte {error.start}).") from error
    except RecursionError as error:
        raise RecipeError(f"Recipe {path.name} cannot be read: it is nested too deeply.") from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise RecipeError(f"Recipe {path.name} cannot be read: {' '.join(str(error).split())}.") from error
    if not isinstance(content, dict):
        raise RecipeError(f"Recipe {path.name} must map field names to values.")
    fields = cast(dict[str, Any], content)
    for key, value in (overrides or {}).items():
        _set(fields, key.split("."), value)
    return build_recipe({**fields, "variant": variant})


def override_fields(recipe: Recipe, overrides: Mapping[str, object]) -> Recipe:
    """The recipe with other fields; keys may be dotted ("gates.votes"). Raises RecipeError."""
    fields: dict[str, Any] = {"benchmark": recipe.benchmark, **recipe.model_dump(mode="json")}
    for key, value in overrides.items():
        _set(fields, key.split("."), value)
    return build_recipe(fields)


def build_recipe(fields: Mapping[str, object]) -> Recipe:
    """Check the fields. Raises RecipeError with one sentence for each thing that is wrong."""
    recipe_type = RECIPE_TYPES.get(str(fields.get("benchmark", DEFAULT_BENCHMARK)))
    if recipe_type is None:
        raise RecipeError(
            f"Recipe {fields.get('variant')!r}: there is no benchmark {_spell_value(fields['benchmark'])}; "
            f"there are {nearest_first(str(fields['benchmark']), sorted(RECIPE_TYPES))}."
        )
    sentences = [
        f"{where} is {_spell_value(value)}, which is no number." for where, value in _truth_values(fields, recipe_type)
    ]
    if sentences:
        raise RecipeError(f"Recipe {fields.get('variant')!r}: {' '.join(sentences)}")
    try:
        # A record that several benchmarks share has no name of its own as a default.
        return recipe_type.model_validate({"benchmark": DEFAULT_BENCHMARK, **fields})
    except ValidationError as error:
        sentences = [_sentence(problem, recipe_type) for problem in error.errors()]
        raise RecipeError(f"Recipe {fields.get('variant')!r}: {' '.join(sentences)}") from error


def field_problems(
    recipe_type: type[Recipe], benchmark: str, fields: Mapping[str, object]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path of each given field whose value no recipe could have, and a sentence. Each field is looked at alone."""
    try:
        recipe_type.model_validate({"benchmark": benchmark, "variant": "any", **fields})
    except ValidationError as error:
        for problem in error.errors():
            if problem["type"] not in ("missing", "value_error"):
                yield tuple(map(str, problem["loc"])), _sentence(problem, recipe_type)


def _truth_values(fields: Mapping[str, object], group: type[BaseModel], prefix: str = "") -> list[tuple[str, bool]]:
    """Truth values where a number belongs, which pydantic would take for 0 and 1."""
    found: list[tuple[str, bool]] = []
    for name, value in fields.items():
        kind: Any = group.model_fields[name].annotation if name in group.model_fields else None
        if isinstance(value, bool) and {int, float} & {kind, *get_args(kind)}:
            found.append((f"{prefix}{name}", value))
        elif isinstance(value, Mapping) and isinstance(kind, type) and issubclass(kind, BaseModel):
            found.extend(_truth_values(cast(Mapping[str, object], value), kind, f"{prefix}{name}."))
    return found


def expect_recipe(recipe: Recipe, recipe_type: type[R]) -> R:
    """The recipe as that of one benchmark. Raises RecipeError for another benchmark's."""
    if not isinstance(recipe, recipe_type):
        names = [name for name, known in RECIPE_TYPES.items() if issubclass(known, recipe_type)]
        raise RecipeError(f"{recipe.variant!r} is a variant of {recipe.benchmark!r}; this works for {', '.join(names)}.")
    return recipe


def dotted_fields(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested fields by dotted name, as overrides and messages name them: {"gates": {"votes": 3}} is {"gates.votes": 3}."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            found.update(dotted_fields(cast(dict[str, Any], value), f"{prefix}{name}."))
        else:
            found[prefix + name] = value
    return found


def _set(fields: dict[str, Any], path: list[str], value: object) -> None:
    for key in path[:-1]:
        fields = fields.setdefault(key, {})
        if not isinstance(fields, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise RecipeError(f"{'.'.join(path)!r} cannot be set: {key!r} is not a group of fields.")
    fields[path[-1]] = value


def _nearest_field(path: Sequence[str | int], recipe_type: type[Recipe]) -> str:
    """Return the field that is spelled like the last of the path; where it is in another group, by its dotted name."""
    group: Any = recipe_type
    for name in path[:-1]:
        group = get_args(group)[0] if isinstance(name, int) else group.model_fields[name].annotation
    fields: dict[str, str] = {}
    for name in _field_names(recipe_type):
        fields.setdefault(name.rpartition(".")[2], name)
    fields |= {name: name for name in group.model_fields}
    close = difflib.get_close_matches(str(path[-1]), fields, n=1)
    return fields[close[0]] if close else ""


def _field_names(group: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the dotted name of every field of a group, and of the groups in it."""
    for name, field in group.model_fields.items():
        yield prefix + name
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _field_names(kind, f"{prefix}{name}.")


def _sentence(problem: ErrorDetails, recipe_type: type[Recipe]) -> str:
    """Say what is wrong, where, and what would be right."""
    kind = problem["type"]
    path = problem["loc"]
    value = problem["input"]
    where = ".".join(map(str, path))
    if kind in ("extra_forbidden", "invalid_key"):
        near = _nearest_field(path, recipe_type)
        meant = f" Did you mean {near!r}?" if near else ""
        return f"there is no field {where!r}.{meant}"
    if kind == "missing":
        return f"{where} is missing; give it."
    if kind == "value_error":
        words = problem["msg"].removeprefix("Value error, ")
        return f"{where} {words}" if path and path[-1] == "extra_body" else words
    if path[-1] == "[key]":
        where = f"a name in {'.'.join(map(str, path[:-2]))}"
    quoted = "; write it in quotes" if kind == "string_type" and isinstance(value, bool | int | float | date) else ""
    return f"{where} is {_spell_value(value)}, and {requirement(problem)}{quoted}."


def _spell_value(value: object) -> str:
    """A value as recipe files spell it, no longer than a sentence bears."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return shorten(str(value) if isinstance(value, date) else repr(value), MOST_SHOWN)
