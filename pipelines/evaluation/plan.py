"""A run before its first call: everything that decides its results, and the name that follows from it."""

import re
from importlib.metadata import version as installed_version
from typing import Any

from assets.recipe.recipe import Budget, Recipe
from dataset_card.release.digests import canonical_digest
from pipelines.evaluation.isolated import CONDITIONS
from pipelines.evaluation.memories.registry import memory_version, source_digest
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.records import MemorySpec, RunManifest
from pipelines.evaluation.run import BenchmarkTasks
from pipelines.resources.cache.reply_cache import Place
from prompts.catalogue import load_prompt, prompt_names

DISTRIBUTION = "amemgym-synth"
CHECK_RECIPE = Recipe(variant="memory-check", benchmark="evaluation")  # what the calls of a check are counted under


def recipe_of(manifest: RunManifest, *, budget: Budget) -> Recipe:
    """The models of a simulated user and its judge as a recipe: for `assets.llm.structured_output.ask`, and for the ledger.

    The run's id is its variant, so that it has a budget and ledger entries of its own.
    """
    roles = {"user_simulator": "user", "judge": "judge"}
    models = {role: {"model": manifest.models[own]} for role, own in roles.items() if own in manifest.models}
    fields: dict[str, Any] = {"models": models, "gates": {"max_reasks": 1}, "budget": budget}
    return Recipe(variant=manifest.run_id, benchmark="evaluation", seed=manifest.seed, sample=manifest.attempt, **fields)


async def places_of(models: dict[str, str], place: Place) -> tuple[str, ...]:
    """What serves the models of all roles; nothing for the embedded model."""
    return tuple(sorted({await place.of(name) for name in models.values()} - {""}))


def manifest_of(
    tasks: BenchmarkTasks,
    spec: MemorySpec,
    options: EvaluationOptions,
    *,
    models: dict[str, str],
    places: tuple[str, ...] = (),
) -> RunManifest:
    """The run's manifest; equal plans have equal ids. Raises EvaluationError for options or a memory that cannot be used."""
    options.check()
    info, own = tasks.info, tasks.own_settings(options, whole=spec.whole)
    settings = {name: value for name, value in sorted(spec.settings.items()) if value is not None}
    if options.wording == "paper" and spec.kind == "awi":
        settings["wording"] = "paper"
    tokens = info.tokens if options.tokens is None else options.tokens
    content: dict[str, Any] = {
        "benchmark": info.benchmark,
        "noun": info.noun,
        "dataset": info.name,
        "dataset_digest": info.digest,
        "users": info.users,
        "language": info.language,
        "memory": {**spec.model_dump(), "settings": settings},
        "memory_version": memory_version(spec.kind),
        "memory_source": source_digest(spec.kind),
        "tokens": tokens,
        "curve": sorted({*options.curve} - {tokens}),
        "conditions": () if spec.whole else tuple(name for name in CONDITIONS if name in options.conditions),
        "models": models,
        "places": places,
        "seed": options.seed,
        "attempt": options.attempt,
        "prompts": {name: load_prompt(name).fingerprint for name in prompt_names() if name.startswith(info.prompts)},
        "generator": f"{DISTRIBUTION} {installed_version(DISTRIBUTION)}",
        **own,
    }
    title = f"{info.name} {spec.name} {'off-policy' if own['mode'] == 'off-policy' else ''}"
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", title).strip("-")
    return RunManifest(run_id=f"{slug}-{canonical_digest(content)[:12]}", **content)
