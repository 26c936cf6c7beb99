"""Why somebody in an invented world writes a document: who writes to whom, and what else belongs there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from pydantic import TypeAdapter

from assets.engine.seeded_random import SeededRandom
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
    """Those of a world, by relation, or by status where that decides. `causes`: why an earlier value holds no more.

    `general`: by kind of subject, occasions on which any relation of it is told.
    `beside`: what else happens on a day, as it may come up in documents of the kinds in `informal`.
    """

    ordinary: Mapping[str, tuple[Occasion, ...]]
    causes: Mapping[str, tuple[str, ...]]
    of_status: Mapping[Status, tuple[Occasion, ...]] = field(default_factory=dict[Status, tuple[Occasion, ...]])
    mistakes: tuple[str, ...] = ()
    general: Mapping[str, tuple[Occasion, ...]] = field(default_factory=dict[str, tuple[Occasion, ...]])
    beside: tuple[str, ...] = ()
    informal: tuple[str, ...] = ()

    def of(self, relation: str, kind: str) -> tuple[Occasion, ...]:
        """Return the occasions on which a relation of such a subject is told."""
        return (*self.ordinary[relation], *self.general.get(kind, ()))

    def draw_beside(self, kind: str, rng: SeededRandom) -> dict[str, str]:
        """Return what else happened, as material of a document of this kind; nothing for a formal one."""
        return {"beside": rng.choice(self.beside)} if kind in self.informal else {}


def read_occasions(file: Path) -> Occasions:
    return TypeAdapter(Occasions).validate_python(yaml.safe_load(file.read_text(encoding="utf-8")))
