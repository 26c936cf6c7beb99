"""Who and what is held out: a seeded split of users, and of each other user's questions."""

from collections.abc import Sequence
from dataclasses import dataclass

from assets.amemgym.records.episode import Episode
from assets.engine.seeded_random import SeededRandom
from pipelines.evaluation.errors import EvaluationError
from pipelines.experiments.evolution.records import EvolutionManifest, Protocol, Split

SPLITS: dict[Protocol, tuple[Split, ...]] = {"paper": ("seen",), "held-out": ("seen", "new_questions", "new_users")}


@dataclass(frozen=True)
class Shares:
    """Shares of users and of questions to hold out, between 0 and 1."""

    users: float
    questions: float


def held_out_users(episodes: Sequence[Episode], share: float, *, seed: int) -> tuple[str, ...]:
    """At least one user, and never all. Raises EvaluationError for a single user."""
    ids = [episode.user_id for episode in episodes]
    if len(ids) < 2:
        raise EvaluationError("A single user cannot be both learned from and held out; give more users, or --protocol paper.")
    return tuple(sorted(SeededRandom(seed, "held-out users").sample(ids, _some(len(ids), share)), key=ids.index))


def held_out_questions(episode: Episode, share: float, *, seed: int) -> tuple[str, ...]:
    """At least one question, and never all. Raises EvaluationError for a single question."""
    ids = [question.question_id for question in episode.questions]
    if len(ids) < 2:
        raise EvaluationError(
            f"User {episode.user_id!r} has a single question, which cannot be held out; give --protocol paper."
        )
    rng = SeededRandom(seed, "held-out questions", episode.user_id)
    return tuple(sorted(rng.sample(ids, _some(len(ids), share)), key=ids.index))


def _some(count: int, share: float) -> int:
    return min(count - 1, max(1, round(count * share)))


def taught_questions(manifest: EvolutionManifest, episode: Episode, *, protocol: Protocol) -> frozenset[str]:
    """The user's questions that feedback may tell under the protocol."""
    ids = frozenset(question.question_id for question in episode.questions)
    if protocol == "paper":
        return ids
    if episode.user_id in manifest.held_out_users:
        return frozenset()
    return ids - frozenset(manifest.held_out_questions[episode.user_id])


def taught_variables(episode: Episode, questions: frozenset[str]) -> frozenset[str]:
    """The variables that these questions need: feedback on the others would tell what held-out questions are about."""
    return frozenset(
        name for question in episode.questions if question.question_id in questions for name in question.required_info
    )


def users_of(manifest: EvolutionManifest, split: Split, *, protocol: Protocol) -> tuple[str, ...]:
    """The users that a split is scored on."""
    if protocol == "paper":
        return manifest.run.users
    new = split == "new_users"
    return tuple(user for user in manifest.run.users if (user in manifest.held_out_users) == new)
