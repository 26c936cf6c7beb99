"""A stage, before anything wraps, runs or stores it."""

import hashlib
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from assets.recipe.recipe import Unit
from assets.records.base import ItemRecord
from assets.reporting.asset_description import AssetDescription
from prompts.catalogue import load_prompt

PLAIN = AssetDescription()
R = TypeVar("R", bound=ItemRecord, covariant=True)
Count = float | Callable[[Any], float]  # a number, or what it is under a recipe


@dataclass(frozen=True)
class PromptCalls:
    """Calls of a prompt for one item of a stage if every draft passes, as far as the recipe decides them; nan: unknown.

    `reading` and `writing` are the tokens of a call; without them the forecast takes what was measured. `in_sequence`: each
    call needs the reply of the one before. `always`: no item is finished without a call of the prompt.
    """

    per_item: Count = 1.0
    reading: Count = 0.0
    writing: Count = 0.0
    in_sequence: bool = False
    always: bool = True


async def _not_made(*_: object, **__: object) -> Any:
    raise AssertionError("The items of the first stage are drawn; they come from their snapshot.")


@dataclass(frozen=True)
class Stage(Generic[R]):
    """A stage: one async function about one item, called with the records of `needs` in order, recipe and model.

    The first stage has `draw` instead: a function of recipe and work unit that yields the unit's items by position.
    Raise `version` when the function's logic changes what it makes. `calls`: how often it asks each prompt, for the forecast;
    a prompt that it shares with an earlier stage may be left out.

    `begins_with`: functions that ask what `make` would ask first, so that these replies are under way, by the need whose drafts
    they begin with. Each time that it shows a draft, whose last part is new, one is called beside the calls before, with the
    drafts or records of all needs, None for one that has shown nothing yet, and the tasks of the stage's calls before, in
    order. It returns a draft of the stage's own, whose last part is new, or None.
    `passed_by_spares`: the first items of the reserve pass it beside the others, because its calls leave slots empty.
    """

    name: str
    record: type[R]
    make: Callable[..., Awaitable[R]] = _not_made
    needs: "tuple[Stage[ItemRecord], ...]" = ()
    prompts: tuple[str, ...] = ()
    begins_with: Mapping[str, Callable[..., Awaitable[R | None]]] = field(
        default_factory=dict[str, Callable[..., Awaitable[R | None]]]
    )
    calls: Mapping[str, PromptCalls] = field(default_factory=dict[str, PromptCalls])
    version: int = 1
    draw: Callable[[Any, Unit], Iterable[tuple[int, R]]] | None = None
    passed_by_spares: bool = False
    description: AssetDescription = PLAIN

    @property
    def code_version(self) -> str:
        """A digest that changes when the stage's logic or the words of one of its prompts do."""
        parts = [self.name, str(self.version), *self.prompt_fingerprints.values()]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    @property
    def prompt_fingerprints(self) -> dict[str, str]:
        return {name: load_prompt(name).fingerprint for name in self.prompts}

    def calls_per_item(self, recipe: Any) -> float:
        """Return about how many calls an item takes here; 0 where the stage cannot say."""
        total = 0.0
        for calls in self.calls.values():
            count = amount(calls.per_item, recipe)
            if not math.isnan(count):
                total += count
        return total

    @property
    def made_by(self) -> dict[str, Any]:
        """The fields of a snapshot's ref about the code and the prompts that made it."""
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
        """The needs that no other need depends on: the inputs of the asset, because the rest comes with them."""
        indirect: set[str] = set()
        for need in self.needs:
            indirect.update(need.ancestors)
        return tuple(need for need in self.needs if need.name not in indirect)


def amount(count: Count, recipe: Any) -> float:
    """Return the number that a count is under the recipe."""
    return count(recipe) if callable(count) else count
