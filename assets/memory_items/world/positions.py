"""What a task's position in the sample decides, whatever its documents are."""

import hashlib

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.recipe import DocumentTaskRecipe


def num_hops(recipe: DocumentTaskRecipe, position: int) -> int:
    """The hops of the task at this position, all sizes in equal numbers."""
    sizes = range(recipe.min_hops, recipe.max_hops + 1)
    block, place = divmod(position, len(sizes))
    return SeededRandom(recipe.seed, "hops", block).shuffled(sizes)[place]


def task_id(recipe: DocumentTaskRecipe, position: int) -> str:
    """The id of the task at this position."""
    benchmark = recipe.benchmark.replace("_", " ")
    return hashlib.sha256(f"{recipe.seed}\x1f{benchmark}\x1f{position}".encode()).hexdigest()[:16]
