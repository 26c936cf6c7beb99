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
    """Those of a world, by relation, or by status where that decides. `causes`: why an earlier value holds no more.

    `beside`: what else happens on a day, as it may come up in any document.
    """

    ordinary: Mapping[str, tuple[Occasion, ...]]
    causes: Mapping[str, tuple[str, ...]]
    of_status: Mapping[Status, tuple[Occasion, ...]] = field(default_factory=dict[Status, tuple[Occasion, ...]])
    mistakes: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


def read_occasions(file: Path) -> Occasions:
    return TypeAdapter(Occasions).validate_python(yaml.safe_load(file.read_text(encoding="utf-8")))
