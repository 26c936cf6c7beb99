"""How large an evolution is, before the first call is made."""

from dataclasses import dataclass

from assets.recipe.recipe import Budget
from pipelines.evaluation.dataset import Dataset
from pipelines.evaluation.forecast import Forecast
from pipelines.experiments.evolution.records import EvolutionManifest

STEPS = 3  # of a user's period: lived, asked, recalled


@dataclass(frozen=True)
class EvolutionSize:
    """`lives`: of all users, each about as large as `life`. Beside them, calls that rewrite sections and check memories."""

    lives: int
    rewritings: int
    checks: int
    steps: int
    life: Forecast

    @property
    def sentence(self) -> str:
        """The size for a reader."""
        return (
            f"{self.lives} lives of all users, one for each condition and cycle of its own; beside them {self.rewritings:,} "
            f"rewritings of a policy and up to {self.checks:,} checks of a memory. One life: {self.life.sentence}"
        )

    def warning(self, budget: Budget) -> str:
        """The sentence for a budget that will hardly do; "" for one that will."""
        cost, tokens = budget.max_cost_usd, budget.max_tokens
        share = Budget(max_cost_usd=cost and cost / self.lives, max_tokens=tokens and max(1, tokens // self.lives))
        return self.life.warning(share)


def size_of(manifest: EvolutionManifest, dataset: Dataset, *, life: Forecast) -> EvolutionSize:
    """Count what the evolution will ask."""
    users, periods = len(dataset.episodes), sum(len(episode.periods) for episode in dataset.episodes)
    lives = len(manifest.arms) * (manifest.cycles if manifest.cycle == "episode" else 1)
    learners = sum(users if arm.protocol == "paper" else 1 for arm in manifest.arms if arm.feedback != "none")
    rewritings = learners * (manifest.cycles - 1)
    return EvolutionSize(lives, rewritings, lives * periods, lives * periods * STEPS + rewritings + users, life)
