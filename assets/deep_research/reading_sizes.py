"""Tokens that readers of deep research are given, as far as the recipe decides them: for the forecast."""

import math

from assets.engine.stage import PromptCalls
from assets.recipe.deep_research import DeepResearchRecipe

# Tokens, as the embedded model's texts have them on dr-demo.
HOP = 730  # of a hop's documents and those beside them
TASK = 400  # of instructions with a question
ANSWER = 6


def reading_tokens(recipe: DeepResearchRecipe) -> list[float]:
    """Return the length of each reading of the last ablation, for a task of the mean number of hops."""
    hops = (recipe.min_hops + recipe.max_hops) / 2
    found = list[float]()
    for length in recipe.lengths:
        own = min(hops * HOP, length)
        # All but filler; without each hop; filler, in parts; the last turn.
        found += [TASK, TASK + hops * HOP / 10, TASK + own, *[TASK + own - HOP] * round(hops)]
        parts = max(1, math.ceil((length - own) / recipe.ablation.max_reading_tokens))
        found += [TASK + (length - own) / parts] * parts
        found += [TASK + length / (hops + recipe.num_quiet_turns)]
        if length <= recipe.ablation.max_reading_tokens:
            found.append(TASK + length)
    return found


def read_times(times: int) -> PromptCalls:
    """Return the calls of so many short readings, each with all its votes."""

    def per_item(recipe: DeepResearchRecipe) -> float:
        return float(times * recipe.ablation.votes)

    return PromptCalls(per_item, reading=TASK + HOP / 2, writing=ANSWER)
