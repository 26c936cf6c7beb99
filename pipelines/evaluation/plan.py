"""A run before its first call: everything that decides its results, and the name that follows from it."""

import re
from dataclasses import dataclass
from importlib.metadata import version as installed_version
from typing import Any

from assets.amemgym.recipe import AMemGymRecipe
from assets.recipe.recipe import Budget
from dataset_card.release.digests import canonical_digest
from pipelines.evaluation.amemgym.dataset import Dataset
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.isolated import CONDITIONS
from pipelines.evaluation.memories.registry import memory_version, source_digest
from pipelines.evaluation.reasoning import CONTEXT_TOKENS
from pipelines.evaluation.records import MemorySpec, Mode, Probes, RunManifest, Wording
from pipelines.resources.cache.reply_cache import Place
from prompts.catalogue import load_prompt, prompt_names

DISTRIBUTION = "amemgym-synth"
PAPER_MODELS = {
    "assistant": "gpt-4.1-mini",
    "memory": "gpt-4.1-mini",
    "embedding": "text-embedding-3-small",
    "user": "gpt-4.1",
    "judge": "gpt-4.1",
}
MOST_TOKENS = 100_000  # of recalled text: what leaves the reasoner room for a task
CHECK_RECIPE = AMemGymRecipe(variant="memory-check", num_users=1)  # what the calls of a check are counted under
PROMPTS = ("evaluation/", "memories/", "paper/")


@dataclass(frozen=True)
class EvaluationOptions:
    """What the user may choose. `model` plays every role of a chat that no other field names.

    Models that are "" are the paper's (section 4.1), or the embedded one without endpoint. `tokens`: what a memory may give
    back for one question; `curve`: further budgets to ask at. `conditions`: those of isolated scores beside the memory's own.
    `attempt` tells repetitions apart. `unknown_probe`: probe states a second time with "don't know" allowed.
    `replayed_run`: id of the run whose dialogues are replayed (off-policy), "" for on-policy. `wording`: our questions, or
    the paper's form and order of options.
    """

    model: str = ""
    memory_model: str = ""
    embedding_model: str = ""
    user_model: str = ""
    judge_model: str = ""
    tokens: int = MOST_TOKENS
    curve: tuple[int, ...] = ()
    conditions: tuple[str, ...] = CONDITIONS[1:]
    seed: int = 42
    attempt: int = 0
    probes: Probes = "question"
    unknown_probe: bool = False
    baselines: bool = True
    replayed_run: str = ""
    wording: Wording = "own"

    def check(self) -> None:
        """Raises EvaluationError for what cannot be asked."""
        if wrong := [name for name in self.conditions if name not in CONDITIONS[1:]]:
            known = ", ".join(CONDITIONS[1:])
            raise EvaluationError(f"There is no condition {wrong[0]!r}; give one or several of {known}, or nothing.")
        if too_many := [tokens for tokens in (self.tokens, *self.curve) if not 0 < tokens < CONTEXT_TOKENS]:
            raise EvaluationError(
                f"A budget of {too_many[0]} tokens cannot be given; it must be from 1 to {CONTEXT_TOKENS - 1}."
            )

    def models(self, *, embedded: str | None) -> dict[str, str]:
        """The model of each role."""
        chosen = {
            "assistant": self.model,
            "memory": self.memory_model or self.model,
            "embedding": self.embedding_model,
            "user": self.user_model or self.model,
            "judge": self.judge_model or self.user_model or self.model,
        }
        return {role: name or embedded or PAPER_MODELS[role] for role, name in chosen.items()}


def recipe_of(manifest: RunManifest, *, budget: Budget) -> AMemGymRecipe:
    """The simulator's and its judge's models as a recipe: for `assets.llm.structured_output.ask`, and for the ledger.

    The run's id is its variant, so that it has a budget and ledger entries of its own.
    """
    models: dict[str, Any] = {
        "user_simulator": {"model": manifest.models["user"]},
        "judge": {"model": manifest.models["judge"], "temperature": 0.0},
    }
    fields: dict[str, Any] = {"models": models, "gates": {"max_reasks": 1}, "budget": budget}
    return AMemGymRecipe(variant=manifest.run_id, num_users=1, seed=manifest.seed, sample=manifest.attempt, **fields)


async def places_of(models: dict[str, str], place: Place) -> tuple[str, ...]:
    """What serves the models of all roles; nothing for the embedded model."""
    return tuple(sorted({await place.of(name) for name in models.values()} - {""}))


def manifest_of(
    dataset: Dataset,
    spec: MemorySpec,
    options: EvaluationOptions,
    *,
    models: dict[str, str],
    places: tuple[str, ...] = (),
) -> RunManifest:
    """The run's manifest; equal plans have equal ids. Raises EvaluationError for options or a memory that cannot be used."""
    options.check()
    settings = {name: value for name, value in sorted(spec.settings.items()) if value is not None}
    if options.wording == "paper" and spec.kind == "awi":
        settings["wording"] = "paper"
    mode: Mode = "off-policy" if options.replayed_run else "on-policy"
    content: dict[str, Any] = {
        "dataset": dataset.name,
        "dataset_digest": dataset.digest,
        "users": [episode.user_id for episode in dataset.episodes],
        "rounds_initial": dataset.rounds.initial,
        "rounds_update": dataset.rounds.update,
        "language": dataset.language,
        "memory": {**spec.model_dump(), "settings": settings},
        "memory_version": memory_version(spec.kind),
        "memory_source": source_digest(spec.kind),
        "tokens": options.tokens,
        "curve": sorted({*options.curve} - {options.tokens}),
        "conditions": () if spec.whole else tuple(name for name in CONDITIONS if name in options.conditions),
        "models": models,
        "places": places,
        "mode": mode,
        "replayed_run": options.replayed_run,
        "seed": options.seed,
        "attempt": options.attempt,
        "probes": options.probes,
        "unknown_probe": options.unknown_probe,
        "baselines": options.baselines,
        "wording": options.wording,
        "prompts": {name: load_prompt(name).fingerprint for name in prompt_names() if name.startswith(PROMPTS)},
        "generator": f"{DISTRIBUTION} {installed_version(DISTRIBUTION)}",
    }
    title = f"{dataset.name} {spec.name} {'off-policy' if options.replayed_run else ''}"
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", title).strip("-")
    return RunManifest(run_id=f"{slug}-{canonical_digest(content)[:12]}", **content)


def beside_the_paper(manifest: RunManifest) -> str:
    """Whether a score may stand beside the paper's Tables 2 and 6, as a sentence that says why not."""
    differing = [role for role, name in PAPER_MODELS.items() if manifest.models[role] != name]
    reasons = [
        "the questions are not in the paper's form (--wording paper)" if manifest.wording != "paper" else "",
        f"other models play {', '.join(differing)}" if differing else "",
        "the state probes are not asked as the reference asks them" if manifest.probes != "question" else "",
        "the dialogues are another's" if manifest.mode == "off-policy" else "",
    ]
    given = [reason for reason in reasons if reason]
    if given:
        return f"These scores may not stand beside the paper's Tables 2 and 6: {'; '.join(given)}."
    return (
        "Questions, order of options and models are the paper's: on the paper's own data these scores may stand beside its "
        "Tables 2 and 6."
    )
