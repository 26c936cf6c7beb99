"""Stage `dr_worlds`: which part of a world each task is about."""

from collections.abc import Iterator

from assets.deep_research.corpus.sampling import corpus_worlds
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.world import TaskWorld
from assets.deep_research.world.relations import WORLD
from assets.engine.stage import Stage
from assets.memory_items.world.clusters import make_cluster
from assets.memory_items.world.positions import num_hops, task_id
from assets.recipe.loading import Unit
from assets.reporting.asset_description import AssetDescription, Row


def draw_worlds(recipe: DeepResearchRecipe, unit: Unit) -> Iterator[tuple[int, TaskWorld]]:
    """The unit's tasks by position; a task follows from seed and position alone."""
    if recipe.source.kind == "documents":
        yield from corpus_worlds(recipe, unit)
        return
    for position in unit.positions:
        path = (recipe.seed, "deep research", position)
        hops = num_hops(recipe, position)
        cluster = make_cluster(WORLD, hops, path=(*path, "cluster"))
        yield position, TaskWorld(task_id=task_id(recipe, position), hops=hops, chain=cluster.chain, plans=cluster.plans)


def _rows(world: TaskWorld) -> list[Row]:
    steps: list[Row] = [{"subject": hop.subject, "relation": hop.relation, "value": hop.value} for hop in world.chain]
    return steps or [{"subject": section.title, "relation": "section", "value": section.source} for section in world.sections]


DR_WORLDS = Stage(
    name="dr_worlds",
    record=TaskWorld,
    draw=draw_worlds,
    description=AssetDescription(
        group="worlds",
        description="The part of a world that each task is about: a chain of facts with its siblings in an invented world, or "
        "sections of real documents. It follows from the seed and the task's position.",
        rows=_rows,
        paper="MemGym",
    ),
)
