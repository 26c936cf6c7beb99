"""The recipe as a release publishes it: without paths and other private values, and as rows of a table."""

import hashlib
from typing import TypeVar, cast

from assets.recipe.loading import dotted_fields
from assets.recipe.recipe import Budget, Recipe
from assets.records.public_names import shared_model
from assets.records.report import BenchmarkReport
from assets.reporting.verdict import Verdict, embedded_note, verdict_on

R = TypeVar("R", bound=Recipe)


def shared_recipe(recipe: R) -> R:
    """Return the recipe as it may be shared: of the pool's paths, and of models that are local files, only the names.

    What changes no row (budget, transport) is left at its default, so that it changes no byte of a release either.
    """
    live = {role: spec.model_copy(update={"transport": "live"}) for role, spec in recipe.models}
    given = {"models": recipe.models.model_copy(update=live), "budget": Budget()}
    return recipe.without_paths().model_copy(update=given).with_models(shared_model)


def recipe_rows(recipe: Recipe) -> dict[str, str]:
    """Return fields as dotted names and text; empty ones are left out. Of the salt there is its digest alone."""
    rows: dict[str, str] = {}
    for name, value in dotted_fields(recipe.model_dump(mode="json")).items():
        text = salt_digest(recipe) if name == "salt" else _text(value)
        if text:
            rows[name] = text
    return rows


def salt_digest(recipe: Recipe) -> str:
    """Return the salt's digest, which a card may tell everybody; empty where there is no salt."""
    return f"sha256 {hashlib.sha256(recipe.salt.encode()).hexdigest()}" if recipe.salt else ""


def salt_terms(recipe: Recipe) -> str:
    """Say in sentences who can make the same rows again."""
    if not recipe.salt:
        return "The recipe has no salt: anybody who follows it can make these rows."
    return (
        "Every draw follows from seed, variant and a salt of this variant's own. The table below has the salt's digest. The "
        "salt itself is in `recipe.yaml`, beside the rows: only those who have it can make the rows again."
    )


def canary_of(fingerprint: str) -> str:
    """Return words that nobody else would say: whoever knows them has read a release of the recipe."""
    digits = hashlib.sha256(f"canary of {fingerprint}".encode()).hexdigest()
    return f"amemgym-canary-{digits[:8]}-{digits[8:16]}-{digits[16:24]}"


def canary_terms(fingerprint: str) -> str:
    """Ask to keep the release out of training, and tell its canary."""
    return (
        f"Please keep this data out of training. Its canary is `{canary_of(fingerprint)}`: a model that goes on with it from "
        "its first part has been trained on this page."
    )


def models_by_role(recipe: Recipe) -> dict[str, str]:
    """Map role to model, for the two roles that make rows and the one that plays the user; a panel of judges with commas."""
    names = {role: spec.model for role, spec in recipe.models}
    names["judge"] = ", ".join(recipe.models.judge.panel)
    return names


def verdict_on_rows(recipe: Recipe, report: BenchmarkReport | None = None) -> Verdict:
    """Return the verdict of the report; without one, what the recipe's models tell."""
    if report is not None:
        return verdict_on(report)
    return Verdict(embedded=embedded_note(recipe.models.writer.model, recipe.models.judge.panel))


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in cast(list[object], value))
    return "" if value is None else str(value)
