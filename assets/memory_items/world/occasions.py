"""Why somebody in an invented world writes a document: who writes to whom, and what else belongs there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from pydantic import TypeAdapter

from assets.memory_items.facts import Status


@dataclass(frozen=True)
class Occasion:
    """Why a document of this kind is written; `reason` has {subject}.

    `also` names relations of the subject of which the same occasion tells one as well; None: one or two of any.
    """

    kind: str
    reason: str
    also: tuple[str, ...] | None = ()


@dataclass(frozen=True)
class Occasions:
    """Those of a world, by relation, or by status where that decides.

    `causes`: why an earlier value holds no more, by relation, or by "relation: value" where only that value follows from it.
    `general`: by kind of subject, occasions on which any relation of it is told.
    `manners`: by kind of document, ways in which one is set out.
    """

    ordinary: Mapping[str, tuple[Occasion, ...]]
    causes: Mapping[str, tuple[str, ...]]
    of_status: Mapping[Status, tuple[Occasion, ...]] = field(default_factory=dict[Status, tuple[Occasion, ...]])
    mistakes: tuple[str, ...] = ()
    general: Mapping[str, tuple[Occasion, ...]] = field(default_factory=dict[str, tuple[Occasion, ...]])
    manners: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def of(self, relation: str, kind: str) -> tuple[Occasion, ...]:
        """Return the occasions on which a relation of such a subject is told."""
        return (*self.ordinary[relation], *self.general.get(kind, ()))

    def causes_of(self, relation: str, value: str) -> tuple[str, ...]:
        """Return reasons why this value is the relation's new one, or why the earlier one was a mistake."""
        return self.causes.get(f"{relation}: {value}") or self.causes.get(relation, self.mistakes)


def read_occasions(file: Path) -> Occasions:
    return TypeAdapter(Occasions).validate_python(yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))
