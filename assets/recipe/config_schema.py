"""The recipe's fields as people meet them, in the launchpad and in `amemgym recipe fields`: all of it read off the records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import dagster as dg

from assets.recipe.loading import load_recipe
from assets.recipe.recipe import Recipe

Node = dict[str, Any]
# The file's name, and what resolving the recipe fills in.
NOT_FOR_PEOPLE = ("variant", "pool.content", "packages.content")
# Forgets what earlier runs laid over the recipe's file.
RESET = "reset_overrides"
RESET_FIELD = dg.Field(
    bool,
    is_required=False,
    description="Forget the overrides of earlier runs: use the recipe's file and what is given here.",
)
PLAIN: dict[str, object] = {"integer": int, "number": float, "boolean": bool, "string": str}
KINDS = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text", "object": "map"}


@dataclass(frozen=True)
class RecipeField:
    """One field: `path` is dotted as in `--set`, everything else is text to show; `unit` and `range` may be empty."""

    path: str
    meaning: str
    kind: str
    unit: str
    range: str
    default: str

    @property
    def sentence(self) -> str:
        """All of it, for the launchpad."""
        counted_in = f"in {self.unit}" if self.unit else ""
        kind = ", ".join(filter(None, (_capitalize(self.kind), self.range, counted_in)))
        return f"{_capitalize(self.meaning)}. {kind}. Left out: as the YAML says, else {self.default}."


def recipe_fields(recipe_type: type[Recipe]) -> list[RecipeField]:
    """Every field that a recipe file may set, in its order."""
    return list(_leaves(_schema(recipe_type), ""))


def editor_schema(recipe_type: type[Recipe]) -> Node:
    """Return the JSON Schema of a recipe file, by which an editor completes fields and marks what cannot be."""
    schema = _schema(recipe_type)
    for path in NOT_FOR_PEOPLE:
        group, _, name = path.rpartition(".")
        node = schema["properties"].get(group, {}) if group else schema
        node.get("properties", {}).pop(name, None)
    schema["required"] = [name for name in schema["required"] if name not in NOT_FOR_PEOPLE]
    return schema


def launchpad_fields(recipe_type: type[Recipe], *, asking_stages: Sequence[str]) -> dict[str, dg.Field]:
    """Return the recipe asset's config: every field may be left out, and what is given has its type and one of its words.

    `again` takes the benchmark's asking stages alone, which its recipe does not know.
    """
    schema = _schema(recipe_type)
    schema["properties"]["again"]["additionalProperties"]["propertyNames"] = {"enum": list(asking_stages)}
    fields = _fields(schema, "")
    fields.pop("benchmark", None)  # the asset is that of one benchmark
    return {**fields, RESET: RESET_FIELD}


def _schema(recipe_type: type[Recipe]) -> Node:
    schema: Node = recipe_type.model_json_schema()
    return _without_references(schema, groups=schema.get("$defs", {}))


def _without_references(node: Any, *, groups: dict[str, Node]) -> Any:
    """The schema with groups of fields in the place of references to them; a field's own words stand before its group's."""
    if isinstance(node, list):
        return [_without_references(part, groups=groups) for part in cast(list[Any], node)]
    if not isinstance(node, dict):
        return node
    parts = dict(cast(Node, node))
    parts.pop("$defs", None)
    reference: str = parts.pop("$ref", "")
    if reference:
        parts = {**groups[reference.rpartition("/")[2]], **parts}
    return {key: _without_references(part, groups=groups) for key, part in parts.items()}


def _children(node: Node, path: str) -> Iterator[tuple[str, Node, str]]:
    """Name, resolved schema and dotted path of what this group holds."""
    for name, child in cast(dict[str, Node], node["properties"]).items():
        below = f"{path}.{name}".lstrip(".")
        if below not in NOT_FOR_PEOPLE:
            yield name, _resolve_field(child), below


def _resolve_field(node: Node) -> Node:
    """The schema of a field in one piece, also where it may be null."""
    if "anyOf" in node:
        (inner,) = [option for option in node["anyOf"] if option.get("type") != "null"]
        node = {**inner, **node, "nullable": True}
    return node


def _leaves(node: Node, path: str) -> Iterator[RecipeField]:
    for _, child, below in _children(node, path):
        if "properties" in child:
            yield from _leaves(child, below)
        else:
            yield _field(child, below)


def _field(node: Node, path: str) -> RecipeField:
    return RecipeField(path, _meaning(node, path), _kind(node), str(node.get("unit", "")), _range(node), _default(node))


def _meaning(node: Node, path: str) -> str:
    """The first sentence of the field's description, or of the words of the group it is."""
    words: str = node.get("description") or path.rpartition(".")[2].replace("_", " ")
    return " ".join(words.partition(".\n")[0].partition(". ")[0].split()).removesuffix(".")


def _kind(node: Node) -> str:
    if "enum" in node:
        kind = "one of " + ", ".join(node["enum"])
    elif node.get("format") == "date":
        kind = "date, as YYYY-MM-DD"
    elif node["type"] == "array":
        kind = f"list of {KINDS[node['items']['type']]}s"
    else:
        kind = KINDS[node["type"]]
    return f"{kind}, or null" if node.get("nullable") else kind


def _range(node: Node) -> str:
    low = node.get("minimum")
    high = node.get("maximum")
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    bounds = (("from", low), ("above", node.get("exclusiveMinimum")), ("up to", high))
    return ", ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)


def _default(node: Node) -> str:
    value = node.get("default")
    if value is None:
        return "none" if node["type"] == "object" else "null"
    if value in ("", []):
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _capitalize(words: str) -> str:
    return words[:1].upper() + words[1:]


def _fields(node: Node, path: str) -> dict[str, dg.Field]:
    found: dict[str, dg.Field] = {}
    for name, child, below in _children(node, path):
        words = f"{_capitalize(_meaning(child, below))}." if "properties" in child else _field(child, below).sentence
        config = dg.Noneable(_type_of(child, below)) if child.get("nullable") else _type_of(child, below)
        found[name] = dg.Field(config, is_required=False, description=words)
    return found


def _type_of(node: Node, path: str) -> object:
    if "properties" in node:
        return _shape(_fields(node, path))
    if "enum" in node:
        return dg.Enum(path.replace(".", "_"), [dg.EnumValue(word) for word in node["enum"]])
    if node["type"] == "array":
        items: Node = node["items"]
        return dg.Array(_type_of(items, path) if "properties" in items else PLAIN[items["type"]])
    return _map(node) if node["type"] == "object" else PLAIN[node["type"]]


def _map(node: Node) -> object:
    """A map by free names, or by the names there are."""
    inner: Node = node["additionalProperties"]
    if "type" not in inner:  # fields for a model's endpoint, of which only it knows
        return cast(object, dg.Permissive())
    value = _map(inner) if inner["type"] == "object" else PLAIN[inner["type"]]
    names: list[str] = node.get("propertyNames", {}).get("enum", [])
    if names:
        return _shape({name: dg.Field(value, is_required=False) for name in names})
    return dg.Map(str, value)


def _shape(fields: dict[str, dg.Field]) -> object:
    return cast(object, dg.Shape(fields))


def launchpad_config(wanted: Recipe) -> dict[str, Any]:
    """Return the values that the launchpad needs beside the YAML to come to this recipe."""
    return _differences(_chosen_fields(load_recipe(wanted.variant)), _chosen_fields(wanted))


def _chosen_fields(recipe: Recipe) -> dict[str, Any]:
    filled_in = {"pool": {"content"}, "packages": {"__all__": {"content"}}}
    return recipe.model_dump(mode="json", exclude={"variant": True, **filled_in})


def _differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    differences: dict[str, Any] = {}
    for name, value in after.items():
        old = before.get(name)
        if value != old:
            differences[name] = _differences(old, value) if isinstance(old, dict) else value  # pyright: ignore[reportUnknownArgumentType]
    return differences
