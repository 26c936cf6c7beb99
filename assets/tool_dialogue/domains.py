"""The companies that agents work for. Each is one file of data: tables, tools, what is settled with customers, errands."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import yaml

from assets.memory_items.facts import UNDONE
from assets.memory_items.world.relations import Relation, days_of_years
from assets.recipe.recipe import RecipeError
from assets.records.problems import nearest_first
from assets.tool_dialogue.domain import Domain

FOLDER = Path(__file__).with_name("domains")

# By whom a request means, by place and part, is known from sessions alone.
WHO = Relation(
    "who", "role", "customer", "where the {subject} is spoken of, {value} is meant", "the person who is meant by the {x}"
)
WHO_CLAUSES = ("the name behind the {subject} is {value}", "whoever says the {subject} means {value}")


def relations_of(domain: Domain) -> list[Relation]:
    """Return who is meant, and the matters as relations of customers."""
    found = [WHO]
    for name, matter in domain.matters.items():
        kinds = (name, "customer", matter.value, matter.meaning, matter.phrase)
        if matter.value == "date":
            found.append(Relation(*kinds, days=days_of_years(*matter.between)))
        else:
            found.append(Relation(*kinds, between=matter.between, options=matter.options))
    return found


def undoing_of(domain: Domain) -> dict[str, Relation]:
    """Return by matter the relation of the value that a call took back."""
    found: dict[str, Relation] = {}
    for relation in relations_of(domain):
        if relation != WHO:
            meaning = f"it was undone that {relation.meaning}"
            phrase = f"the value, taken back, of {relation.phrase}"
            found[relation.name] = replace(relation, name=f"{UNDONE}{relation.name}", meaning=meaning, phrase=phrase)
    return found


@cache
def all_domains() -> Mapping[str, Domain]:
    """Return every domain by name, in alphabetic order."""
    found: dict[str, Domain] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        found[path.stem] = Domain(name=path.stem, **content)
    return found


def digest_of_domains(names: Iterable[str]) -> str:
    """Return the sha256 of these domains. Raises RecipeError for a name that is none."""
    texts = [domain_named(name).model_dump_json() for name in names]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def domain_named(name: str) -> Domain:
    """Return the domain of this name. Raises RecipeError, naming those there are."""
    domains = all_domains()
    if name not in domains:
        raise RecipeError(f"domains names {name!r}, which is no company; there are {nearest_first(name, domains)}.")
    return domains[name]
