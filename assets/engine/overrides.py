"""What lies over a recipe's file: the overrides of the variant's last run, which stay, and those that are given now."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from assets.engine.ports import AssetValues, UnreadableValue
from assets.engine.provenance import ResolvedRecipe
from assets.recipe.config_schema import RESET
from assets.recipe.loading import RecipeError, dotted, load_recipe

GO_BACK = f"--reset, or {RESET} in the launchpad, goes back to the recipe's file"


@dataclass(frozen=True)
class Overrides:
    """By dotted field. `last` is empty where nothing was laid over the file, or where the run goes back to it.

    `unreadable` says why the last run's overrides cannot be read; they count as none then.
    """

    last: Mapping[str, JsonValue]
    given: Mapping[str, JsonValue]
    unreadable: str = ""

    @property
    def fields(self) -> dict[str, JsonValue]:
        """All that is laid over the file."""
        return {**self.last, **self.given}

    @property
    def notice(self) -> str:
        """What stays of the last run and what this one replaces, in sentences; empty when neither is so."""
        last, given = self.last, self.given
        replaced = [f"{name} {last[name]} by {given[name]}" for name in last if name in given and last[name] != given[name]]
        kept = [f"{name} = {value}" for name, value in last.items() if name not in given]
        sentences = (
            f"The overrides of the last run cannot be read and count as none: {self.unreadable}" if self.unreadable else "",
            f"Overrides of the last run stay: {', '.join(kept)}; {GO_BACK}." if kept else "",
            f"This run replaces {', '.join(replaced)}." if replaced else "",
        )
        return " ".join(sentence for sentence in sentences if sentence)

    def explain(self, error: str) -> str:
        """A recipe's error; where it names an override of the last run, with how to get rid of that."""
        kept = [name for name in self.last if name not in self.given and name in error]
        return f"{error} Overrides of the last run: {', '.join(kept)}; {GO_BACK}." if kept else error


def lay_overrides(values: AssetValues, recipe_asset: str, variant: str, *, given: Mapping[str, object]) -> Overrides:
    """Lay what is given, nested or dotted, over what the variant was last made with. RESET in `given` drops the latter.

    A value that the recipe has anyway overrides nothing, so that a launchpad may be filled in with all of them. Raises
    OSError where the store of values cannot be used.
    """
    new = cast(dict[str, JsonValue], dotted(given))
    if new.pop(RESET, False):
        return Overrides({}, _changing(new, variant, {}))
    try:
        last = values.find(recipe_asset, variant)
    # One that is damaged or of an earlier version must not stand in the way of making it anew.
    except UnreadableValue as error:
        return Overrides({}, _changing(new, variant, {}), unreadable=str(error))
    overrides = last.overrides if isinstance(last, ResolvedRecipe) else {}
    return Overrides(overrides, _changing(new, variant, overrides))


def _changing(given: Mapping[str, JsonValue], variant: str, last: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Those of the given values that the variant's recipe does not have; all where it cannot be read."""
    try:
        present = dotted(load_recipe(variant, last).model_dump(mode="json"))
    except RecipeError:
        return dict(given)
    # True is no 1, which the recipe says itself.
    return {
        name: value
        for name, value in given.items()
        if name not in present or (type(value) is bool) != (type(present[name]) is bool) or present[name] != value
    }
