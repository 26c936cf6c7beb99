"""An evolution before its first call: its options, who and what is held out, its manifest and its size."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assets.amemgym.records.episode import Episode
from assets.engine.seeded_random import SeededRandom
from assets.recipe.recipe import Budget
from assets.reporting.plurals import counted
from dataset_card.release.digests import canonical_digest
from pipelines.errors import EvaluationError
from pipelines.evaluation.amemgym.dataset import AMemGymDataset
from pipelines.evaluation.forecast import EvaluationForecast
from pipelines.evaluation.records import RunManifest
from pipelines.experiments.evolution.records import EvolutionManifest, Feedback, Protocol, Split

STEPS = 3  # of a user's period: dialogues, interview, recall
SPLITS: dict[Protocol, tuple[Split, ...]] = {"paper": ("seen",), "held-out": ("seen", "new_questions", "new_users")}


def held_out_users(episodes: Sequence[Episode], share: float, *, seed: int) -> tuple[str, ...]:
    """Draw at least one user, and never all. Raises EvaluationError for a single user."""
    ids = [episode.user_id for episode in episodes]
    if len(ids) < 2:
        raise EvaluationError("A single user cannot be both learned from and held out; give more users, or --protocol paper.")
    return _draw_ids(ids, share, rng=SeededRandom(seed, "held-out users"))


def held_out_questions(episode: Episode, share: float, *, seed: int) -> tuple[str, ...]:
    """Draw at least one question, and never all. Raises EvaluationError for a single question."""
    ids = [question.question_id for question in episode.questions]
    if len(ids) < 2:
        raise EvaluationError(
            f"User {episode.user_id!r} has a single question, which cannot be held out; give --protocol paper."
        )
    return _draw_ids(ids, share, rng=SeededRandom(seed, "held-out questions", episode.user_id))


def _draw_ids(ids: Sequence[str], share: float, *, rng: SeededRandom) -> tuple[str, ...]:
    count = min(len(ids) - 1, max(1, round(len(ids) * share)))
    return tuple(sorted(rng.sample(ids, count), key=ids.index))


def taught_questions(manifest: EvolutionManifest, episode: Episode, *, protocol: Protocol) -> frozenset[str]:
    """Return the user's questions that feedback may tell under the protocol."""
    ids = frozenset(question.question_id for question in episode.questions)
    if protocol == "paper":
        return ids
    if episode.user_id in manifest.held_out_users:
        return frozenset()
    return ids - frozenset(manifest.held_out_questions[episode.user_id])


def taught_variables(episode: Episode, questions: frozenset[str]) -> frozenset[str]:
    """Return the variables that these questions need: feedback on the others would tell what held-out questions are about."""
    variables: set[str] = set()
    for question in episode.questions:
        if question.question_id in questions:
            variables.update(question.required_info)
    return frozenset(variables)


def scored_users(manifest: EvolutionManifest, split: Split, *, protocol: Protocol) -> tuple[str, ...]:
    """Return the users that a split is scored on."""
    if protocol == "paper":
        return manifest.run.users
    new = split == "new_users"
    return tuple(user for user in manifest.run.users if (user in manifest.held_out_users) == new)


@dataclass(frozen=True)
class EvolutionForecast:
    """`evaluations`: of all users, each about as large as `evaluation`. Other calls rewrite sections and check memories."""

    evaluations: int
    rewritings: int
    checks: int
    steps: int
    evaluation: EvaluationForecast

    @property
    def sentence(self) -> str:
        return (
            f"{counted(self.evaluations, 'evaluation')} of all users, one for each condition and cycle of its own; beside them "
            f"{counted(self.rewritings, 'rewriting')} of a policy and up to {counted(self.checks, 'check')} of a memory. "
            f"One evaluation: {self.evaluation.sentence}"
        )

    def warning(self, budget: Budget) -> str:
        """Return the sentence for a budget that will hardly do; "" for one that will."""
        cost = budget.max_cost_usd
        tokens = budget.max_tokens
        share = Budget(max_cost_usd=cost and cost / self.evaluations, max_tokens=tokens and max(1, tokens // self.evaluations))
        return self.evaluation.warning(share)


def forecast_evolution(
    manifest: EvolutionManifest, dataset: AMemGymDataset, *, evaluation: EvaluationForecast
) -> EvolutionForecast:
    """Count what the evolution will ask."""
    users = len(dataset.episodes)
    periods = sum(len(episode.periods) for episode in dataset.episodes)
    evaluations = len(manifest.arms)
    learners = 0
    for arm in manifest.arms:
        if arm.feedback != "none":
            learners += users if arm.protocol == "paper" else 1
    rewritings = learners * (manifest.cycles - 1)
    return EvolutionForecast(
        evaluations=evaluations,
        rewritings=rewritings,
        checks=evaluations * periods,
        steps=evaluations * periods * STEPS + rewritings + users,
        evaluation=evaluation,
    )


@dataclass(frozen=True)
class EvolutionPlan:
    """The options of an evolution. `improver` "": the memory's model.

    Shares are of users and questions to hold out, between 0 and 1; see the manifest for the rest.
    """

    feedbacks: tuple[Feedback, ...] = ("none", "question-only", "complete")
    protocols: tuple[Protocol, ...] = ("paper", "held-out")
    held_out_users: float = 0.3
    held_out_questions: float = 0.3
    feedback_questions: int = 40
    most_characters: int = 6000
    improver: str = ""


def evolution_manifest(
    dataset: AMemGymDataset, plan: EvolutionPlan, *, run: RunManifest, initial_policy: str, improver: str
) -> EvolutionManifest:
    """Return the evolution's manifest; equal plans have equal ids. `run`: the manifest of one evaluation."""
    out: tuple[str, ...] = ()
    questions: dict[str, tuple[str, ...]] = {}
    if "held-out" in plan.protocols:
        out = held_out_users(dataset.episodes, plan.held_out_users, seed=run.seed)
        for episode in dataset.episodes:
            if episode.user_id not in out:
                questions[episode.user_id] = held_out_questions(episode, plan.held_out_questions, seed=run.seed)
    content: dict[str, Any] = {
        "run": run,
        "initial_policy": initial_policy,
        "improver": plan.improver or improver,
        "feedbacks": tuple(dict.fromkeys(plan.feedbacks)),
        "protocols": tuple(dict.fromkeys(plan.protocols)),
        "cycles": max(len(episode.periods) for episode in dataset.episodes),
        "held_out_users": out,
        "held_out_questions": questions,
        "feedback_questions": plan.feedback_questions,
        "most_characters": plan.most_characters,
    }
    unnamed = EvolutionManifest(**content)
    digest = canonical_digest(unnamed.model_dump(mode="json", exclude={"run": {"run_id"}}))
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", f"{dataset.name} {run.memory.name} evolution").strip("-")
    return unnamed.model_copy(update={"run": run.model_copy(update={"run_id": f"{slug}-{digest[:12]}"})})
