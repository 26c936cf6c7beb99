"""A run before its first call: everything that decides its results, and the name that follows from it."""

import re
from dataclasses import dataclass
from importlib.metadata import version as installed_version
from typing import Any

from assets.amemgym.recipe import AMemGymRecipe
from assets.recipe.recipe import Budget
from dataset_card.release.digests import canonical_digest
from pipelines.evaluation.assistants.registry import BUILT_IN, EMBEDDING_KINDS, kind_version
from pipelines.evaluation.dataset import Dataset
from pipelines.evaluation.records import AssistantSpec, Mode, RunManifest
from prompts.catalogue import load_prompt, prompt_names

DISTRIBUTION = "amemgym-synth"
PAPER_MODELS = {"assistant": "gpt-4.1-mini", "embedding": "text-embedding-3-small", "user": "gpt-4.1", "judge": "gpt-4.1"}


@dataclass(frozen=True)
class EvaluationOptions:
    """What the user may choose. Models that are "" are the paper's (section 4.1), or the embedded one without endpoint.

    `attempt` tells repetitions apart. `unknown_probe`: probe states a second time with "don't know" allowed.
    `replayed_run`: id of the run whose dialogues are replayed (off-policy), "" for on-policy.
    """

    model: str = ""
    embedding_model: str = ""
    user_model: str = ""
    judge_model: str = ""
    seed: int = 42
    attempt: int = 0
    unknown_probe: bool = True
    baselines: bool = True
    replayed_run: str = ""


@dataclass(frozen=True)
class RoleModels:
    """The names of the models by what they do in a run."""

    assistant: str
    embedding: str
    user: str
    judge: str

    @classmethod
    def of(cls, options: EvaluationOptions, *, embedded: str | None) -> "RoleModels":
        """The chosen models; where none is chosen the embedded one if there is no endpoint, else the paper's."""
        chosen = {
            "assistant": options.model,
            "embedding": options.embedding_model,
            "user": options.user_model,
            "judge": options.judge_model or options.user_model,
        }
        return cls(**{role: name or embedded or PAPER_MODELS[role] for role, name in chosen.items()})

    def recipe(self, manifest: RunManifest, *, budget: Budget) -> AMemGymRecipe:
        """The simulator's and its judge's models as a recipe: for `assets.llm.structured_output.ask`, and for the ledger.

        The run's id is its variant, so that it has a budget and ledger entries of its own.
        """
        models: dict[str, Any] = {
            "user_simulator": {"model": self.user},
            "judge": {"model": self.judge, "temperature": 0.0},
        }
        fields: dict[str, Any] = {"models": models, "gates": {"max_reasks": 1}, "budget": budget}
        return AMemGymRecipe(variant=manifest.run_id, num_users=1, seed=manifest.seed, sample=manifest.attempt, **fields)


def manifest_of(dataset: Dataset, spec: AssistantSpec, options: EvaluationOptions, *, roles: RoleModels) -> RunManifest:
    """The run's manifest; equal plans have equal ids."""
    # A model that the settings leave open, also by null, is the run's.
    models = {"model": roles.assistant} | ({"embedding_model": roles.embedding} if spec.kind in EMBEDDING_KINDS else {})
    settings = {**spec.settings, **{name: model for name, model in models.items() if not spec.settings.get(name)}}
    mode: Mode = "off-policy" if options.replayed_run else "on-policy"
    content: dict[str, Any] = {
        "dataset": dataset.name,
        "dataset_digest": dataset.digest,
        "users": [episode.user_id for episode in dataset.episodes],
        "rounds_initial": dataset.rounds.initial,
        "rounds_update": dataset.rounds.update,
        "language": dataset.language,
        "assistant": {"name": spec.name, "kind": spec.kind, "settings": dict(sorted(settings.items()))},
        "assistant_version": kind_version(spec.kind),
        "simulator": roles.user,
        "judge": roles.judge,
        "mode": mode,
        "replayed_run": options.replayed_run,
        "seed": options.seed,
        "attempt": options.attempt,
        "unknown_probe": options.unknown_probe,
        "baselines": options.baselines,
        "prompts": {name: load_prompt(name).fingerprint for name in prompt_names() if name.startswith("evaluation/")},
        "generator": f"{DISTRIBUTION} {installed_version(DISTRIBUTION)}",
    }
    if spec.kind not in BUILT_IN:
        content["embedding"] = roles.embedding
    title = f"{dataset.name} {spec.name} {'off-policy' if options.replayed_run else ''}"
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", title).strip("-")
    return RunManifest(run_id=f"{slug}-{canonical_digest(content)[:12]}", **content)
