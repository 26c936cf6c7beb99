"""The recipe's fields as people meet them, in the launchpad and in `amemgym recipe fields`: all of it read off the records."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import dagster as dg

from assets.recipe.recipe import Recipe

Node = dict[str, Any]
# The file's name, and what resolving the recipe fills in.
NOT_FOR_PEOPLE = ("variant", "pool.content", "packages.content")
# Forgets what earlier runs laid over the recipe's file.
RESET = "reset_overrides"
RESET_FIELD = dg.Field(
    bool,
    is_required=False,
    description="Forget the overrides of earlier runs: go by the recipe's file and what is given here.",
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
        kind = ", ".join(part for part in (_begun(self.kind), self.range, self.unit and f"in {self.unit}") if part)
        return f"{_begun(self.meaning)}. {kind}. Left out: as the YAML says, else {self.default}."


def recipe_fields(recipe_type: type[Recipe]) -> list[RecipeField]:
    """Every field that a recipe file may set, in its order."""
    return list(_leaves(_schema(recipe_type), ""))


def launchpad_fields(recipe_type: type[Recipe]) -> dict[str, dg.Field]:
    """The recipe asset's config: every field may be left out, and what is given has its type and one of its words."""
    fields = _fields(_schema(recipe_type), "")
    # The asset is that of one benchmark.
    return {**{name: field for name, field in fields.items() if name != "benchmark"}, RESET: RESET_FIELD}


def _schema(recipe_type: type[Recipe]) -> Node:
    schema: Node = recipe_type.model_json_schema()
    return _without_references(schema, groups=schema.get("$defs", {}))


def _without_references(node: Any, *, groups: dict[str, Node]) -> Any:
    """The schema with groups of fields in the place of references to them; a field's own words stand before its group's."""
    if isinstance(node, list):
        return [_without_references(part, groups=groups) for part in cast(list[Any], node)]
    if not isinstance(node, dict):
        return node
    parts = cast(Node, node)
    if "$ref" in parts:
        parts = {**groups[parts["$ref"].rpartition("/")[2]], **{key: part for key, part in parts.items() if key != "$ref"}}
    return {key: _without_references(part, groups=groups) for key, part in parts.items() if key != "$defs"}


def _children(node: Node, path: str) -> Iterator[tuple[str, Node, str]]:
    """Name, resolved schema and dotted path of what this group holds."""
    for name, child in cast(dict[str, Node], node["properties"]).items():
        below = f"{path}.{name}".lstrip(".")
        if below not in NOT_FOR_PEOPLE:
            yield name, _resolved(child), below


def _resolved(node: Node) -> Node:
    """What may also be null, in one piece."""
    if "anyOf" in node:
        (inner,) = (one for one in node["anyOf"] if one.get("type") != "null")
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
    low, high = node.get("minimum"), node.get("maximum")
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    bounds = (("from", low), ("above", node.get("exclusiveMinimum")), ("up to", high))
    return ", ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)


def _default(node: Node) -> str:
    value = node.get("default")
    if value is None:
        return "none" if node["type"] == "object" else "null"
    return "none" if value in ("", []) else str(value).lower() if isinstance(value, bool) else str(value)


def _begun(words: str) -> str:
    return words[:1].upper() + words[1:]


def _fields(node: Node, path: str) -> dict[str, dg.Field]:
    found: dict[str, dg.Field] = {}
    for name, child, below in _children(node, path):
        words = f"{_begun(_meaning(child, below))}." if "properties" in child else _field(child, below).sentence
        found[name] = dg.Field(_config(child, below), is_required=False, description=words)
    return found


def _config(node: Node, path: str) -> object:
    """The Dagster config type of one field."""
    return dg.Noneable(_kept(node, path)) if node.get("nullable") else _kept(node, path)


def _kept(node: Node, path: str) -> object:
    if "properties" in node:
        return _shape(_fields(node, path))
    if "enum" in node:
        return dg.Enum(path.replace(".", "_"), [dg.EnumValue(word) for word in node["enum"]])
    if node["type"] == "array":
        items: Node = node["items"]
        return dg.Array(_kept(items, path) if "properties" in items else PLAIN[items["type"]])
    return _map(node) if node["type"] == "object" else PLAIN[node["type"]]


def _map(node: Node) -> object:
    """A map by free names, or by the names there are."""
    inner: Node = node["additionalProperties"]
    value = _map(inner) if inner["type"] == "object" else PLAIN[inner["type"]]
    names: list[str] = node.get("propertyNames", {}).get("enum", [])
    if names:
        return _shape({name: dg.Field(value, is_required=False) for name in names})
    return dg.Map(str, value)


def _shape(fields: dict[str, dg.Field]) -> object:
    return cast(object, dg.Shape(fields))
