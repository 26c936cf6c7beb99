"""An evolution before its first call: what is asked for, and everything that decides its results."""

import re
from dataclasses import dataclass
from typing import Any

from dataset_card.release.digests import canonical_digest
from pipelines.evaluation.assistant import Assistant, Evolvable
from pipelines.evaluation.dataset import Dataset
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.records import RunManifest
from pipelines.experiments.evolution.records import CycleKind, EvolutionManifest, Feedback, Protocol
from pipelines.experiments.evolution.splits import held_out_questions, held_out_users


@dataclass(frozen=True)
class EvolutionPlan:
    """What may be chosen. `cycles`: episodes to live, where cycles are episodes. `improver` "": the assistant's model.

    Shares are of users and questions to hold out, between 0 and 1; see the manifest for the rest.
    """

    feedbacks: tuple[Feedback, ...] = ("none", "question-only", "complete")
    protocols: tuple[Protocol, ...] = ("paper", "held-out")
    cycle: CycleKind = "period"
    cycles: int = 4
    held_out_users: float = 0.3
    held_out_questions: float = 0.3
    feedback_questions: int = 40
    most_characters: int = 6000
    improver: str = ""


def evolvable(assistant: Assistant, *, name: str) -> Evolvable:
    """The assistant as one that can evolve. Raises EvaluationError."""
    if not isinstance(assistant, Evolvable):
        raise EvaluationError(
            f"Assistant {name!r} has no section that could evolve: it needs `policy` and `with_policy`, as 'awi' has them."
        )
    return assistant


def evolution_manifest(
    dataset: Dataset, plan: EvolutionPlan, *, run: RunManifest, initial_policy: str, improver: str
) -> EvolutionManifest:
    """The evolution's manifest; equal plans have equal ids. `run`: the manifest of one life."""
    out, questions = (), dict[str, tuple[str, ...]]()
    if "held-out" in plan.protocols:
        out = held_out_users(dataset.episodes, plan.held_out_users, seed=run.seed)
        questions = {
            episode.user_id: held_out_questions(episode, plan.held_out_questions, seed=run.seed)
            for episode in dataset.episodes
            if episode.user_id not in out
        }
    content: dict[str, Any] = {
        "run": run,
        "initial_policy": initial_policy,
        "improver": plan.improver or improver,
        "feedbacks": tuple(dict.fromkeys(plan.feedbacks)),
        "protocols": tuple(dict.fromkeys(plan.protocols)),
        "cycle": plan.cycle,
        "cycles": plan.cycles if plan.cycle == "episode" else max(len(episode.periods) for episode in dataset.episodes),
        "held_out_users": out,
        "held_out_questions": questions,
        "feedback_questions": plan.feedback_questions,
        "most_characters": plan.most_characters,
    }
    unnamed = EvolutionManifest(**content)
    digest = canonical_digest(unnamed.model_dump(mode="json", exclude={"run": {"run_id"}}))
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", f"{dataset.name} {run.assistant.name} evolution").strip("-")
    return unnamed.model_copy(update={"run": run.model_copy(update={"run_id": f"{slug}-{digest[:12]}"})})
