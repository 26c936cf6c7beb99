"""The recipe as a release publishes it: without paths and other private values, and as rows of a table."""

import re
from typing import TypeVar, cast

from assets.amemgym.recipe import PoolSpec
from assets.recipe.loading import dotted
from assets.recipe.model_policy import Models
from assets.recipe.public_names import file_name, shared_model
from assets.recipe.recipe import Budget, Recipe

R = TypeVar("R", bound=Recipe)
EMBEDDED_FAMILY = "amemgym-embedded"
ON_THE_HUB = re.compile(r"(?:^|\s|datasets/)([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)")


def shared_recipe(recipe: R) -> R:
    """The recipe as it may be shared: of the pool's paths, and of models that are local files, only the names.

    What changes no row (budget, transport) is left at its default, so that it changes no byte of a release either.
    """
    models = recipe.models.model_copy(
        update={role: spec.model_copy(update={"transport": "live"}) for role, spec in recipe.models}
    )
    given = {"models": models, "budget": Budget()}
    return recipe.without_paths().model_copy(update=given).with_models(shared_model)


def recipe_rows(recipe: Recipe) -> dict[str, str]:
    """Fields as dotted names and text; empty ones are left out."""
    texts = {name: _text(value) for name, value in dotted(recipe.model_dump(mode="json")).items()}
    return {name: text for name, text in texts.items() if text}


def model_names(recipe: Recipe) -> dict[str, str]:
    """Role to model, for the two roles that make rows and the one that plays the user; a panel of judges with commas."""
    judges = {"judge": ", ".join(recipe.models.judge.panel)}
    return {role: judges.get(role) or getattr(recipe.models, role).model for role in Models.model_fields}


def embedded_model(recipe: Recipe) -> str | None:
    """The embedded model's name when it wrote or judged any of the rows, else None."""
    names = (recipe.models.writer.model, *recipe.models.judge.panel)
    return next((name for name in names if name.startswith(EMBEDDED_FAMILY)), None)


def pool_terms(pool: PoolSpec) -> str:
    """Where the personas come from and on which terms, in sentences."""
    if not pool.paths:
        return "The personas are from the project's own pool of invented people, which is in the public domain (CC0 1.0)."
    names = ", ".join(f"`{file_name(path)}`" for path in pool.paths)
    source = f"{_plain(pool.attribution)} ({names})" if pool.attribution else names
    license_text = (
        f"Its license is {_plain(pool.license)}; keep to it and name the source when you share this data."
        if pool.license
        else "The recipe does not name the pool's license (`pool.license`): settle it before you share this data."
    )
    return f"The personas are from a pool of the maker's choice: {source}. {license_text}"


def source_datasets(pool: PoolSpec) -> list[str]:
    """What the Hub calls the source: a data set on it where the attribution names one, as OWNER/NAME."""
    if not pool.paths:
        return ["original"]
    named = ON_THE_HUB.search(pool.attribution)
    return [named[1] if named else "extended|other"]


def _plain(text: str) -> str:
    """One line that a page shows as text."""
    return " ".join(text.split()).replace("<", "&lt;").rstrip(".")


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in cast(list[object], value))
    return "" if value is None else str(value)
