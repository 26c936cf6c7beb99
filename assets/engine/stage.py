"""What a stage is, before anything wraps, runs or stores it."""

import hashlib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from assets.recipe.loading import Unit
from assets.records.base import ItemRecord
from assets.reporting.asset_description import AssetDescription
from prompts.catalogue import load_prompt

PLAIN = AssetDescription()
R = TypeVar("R", bound=ItemRecord, covariant=True)


async def _not_made(*_: object, **__: object) -> Any:
    raise AssertionError("The items of the first stage are drawn; they come from their snapshot.")


@dataclass(frozen=True)
class Stage(Generic[R]):
    """A stage: one async function about one item, called with the records of `needs` in order, recipe and model.

    The first stage has `draw` instead: a function of recipe and work unit that yields the unit's items by position.
    Raise `version` when the function's logic changes what it makes.
    """

    name: str
    record: type[R]
    make: Callable[..., Awaitable[R]] = _not_made
    needs: "tuple[Stage[ItemRecord], ...]" = ()
    prompts: tuple[str, ...] = ()
    version: int = 1
    draw: Callable[[Any, Unit], Iterable[tuple[int, R]]] | None = None
    description: AssetDescription = PLAIN

    @property
    def code_version(self) -> str:
        """Changes when the stage's logic or the words of one of its prompts do."""
        fingerprints = self.prompt_fingerprints.values()
        return hashlib.sha256("\n".join([self.name, str(self.version), *fingerprints]).encode()).hexdigest()[:12]

    @property
    def prompt_fingerprints(self) -> dict[str, str]:
        return {name: load_prompt(name).fingerprint for name in self.prompts}

    @property
    def made_by(self) -> dict[str, Any]:
        """What a snapshot of the stage says of the code and the prompts that made it."""
        return {"code_version": self.code_version, "prompts": self.prompt_fingerprints}

    @property
    def ancestors(self) -> dict[str, "Stage[ItemRecord]"]:
        """All that the stage needs, directly or not, by name."""
        found: dict[str, Stage[ItemRecord]] = {}
        for need in self.needs:
            found.update({**need.ancestors, need.name: need})
        return found

    @property
    def direct_needs(self) -> "tuple[Stage[ItemRecord], ...]":
        """The needed stages that no other needed stage needs: what the asset is given, for the rest comes with them."""
        return tuple(need for need in self.needs if not any(need.name in other.ancestors for other in self.needs))
