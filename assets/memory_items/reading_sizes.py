"""Tokens that readers of a task are given, as far as the recipe decides them: for the forecast."""

import math
from dataclasses import dataclass

from assets.engine.stage import PromptCalls
from assets.recipe.document_tasks import DocumentTaskRecipe

ANSWER = 6  # tokens


@dataclass(frozen=True)
class ReadingSizes:
    """Tokens of a benchmark's readings, as the embedded model's texts have them on its demo.

    `hop`: of a hop's documents and those beside them. `task`: of instructions with a question. `shown`: of what is shown with
    the question, which is read alone too; 0 where nothing is.
    """

    hop: int
    task: int
    shown: int = 0

    def of_readings(self, recipe: DocumentTaskRecipe) -> list[float]:
        """Return the length of each reading of the last ablation, for a task of the mean number of hops."""
        hops = (recipe.min_hops + recipe.max_hops) / 2
        found = list[float]()
        for length in recipe.lengths:
            own = min(hops * self.hop, length)
            # All but filler; without each hop; filler, in parts; the last turn.
            found += [self.task, self.task + hops * self.hop / 10, self.task + own, *[self.task + own - self.hop] * round(hops)]
            parts = max(1, math.ceil((length - own) / recipe.ablation.max_reading_tokens))
            found += [self.task + (length - own) / parts] * parts
            found += [self.task + length / (hops + recipe.num_quiet_turns)]
            if self.shown:
                found.append(self.task + self.shown)
            if length <= recipe.ablation.max_reading_tokens:
                found.append(self.task + length)
        return found

    def last_ablation(self) -> PromptCalls:
        """Return the calls of the ablation of the final bytes."""
        return PromptCalls(self._count, reading=self._mean, writing=ANSWER)

    def short_readings(self, times: int) -> PromptCalls:
        """Return the calls of so many short readings, each with all its votes."""

        def per_item(recipe: DocumentTaskRecipe) -> float:
            return float(times * recipe.ablation.votes)

        return PromptCalls(per_item, reading=self.task + self.hop / 2, writing=ANSWER)

    def _count(self, recipe: DocumentTaskRecipe) -> float:
        return float(recipe.ablation.votes * len(self.of_readings(recipe)))

    def _mean(self, recipe: DocumentTaskRecipe) -> float:
        tokens = self.of_readings(recipe)
        return sum(tokens) / len(tokens)
