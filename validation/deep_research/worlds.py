"""Rules about the part of a world that a task is about."""

from collections.abc import Iterator

from assets.deep_research.records import TaskWorld
from assets.recipe.deep_research import DeepResearchRecipe
from assets.reporting.plurals import counted
from validation.memory_items.questions import broken_links
from validation.rules import OneRowPerItem, Rule, SetRule


def chains_hang_together(world: TaskWorld, recipe: DeepResearchRecipe) -> Iterator[str]:
    if not recipe.min_hops <= world.hops <= recipe.max_hops or len(world.chain) not in (0, world.hops):
        yield f"it has {counted(world.hops, 'hop')}, and a chain of {len(world.chain)}"
    if world.operation == "follow":
        yield from broken_links(world.chain)


RULES = (
    Rule("chains_hang_together", "Each hop of a chain is about what the hop before leads to.", chains_hang_together),
    SetRule("one_row_per_task", "Every task is drawn once.", OneRowPerItem),
)
