"""What a task's position in the sample decides, whatever its documents are."""

import hashlib

from assets.deep_research.recipe import DeepResearchRecipe
from assets.engine.seeded_random import SeededRandom


def num_hops(recipe: DeepResearchRecipe, position: int) -> int:
    """The hops of the task at this position, all sizes in equal numbers."""
    sizes = range(recipe.min_hops, recipe.max_hops + 1)
    block, place = divmod(position, len(sizes))
    return SeededRandom(recipe.seed, "hops", block).shuffled(sizes)[place]


def task_id(seed: int, position: int) -> str:
    """The id of the task at this position."""
    return hashlib.sha256(f"{seed}\x1fdeep research\x1f{position}".encode()).hexdigest()[:16]
