"""Stage `dr_worlds`: the part of a world that each task is about."""

from collections.abc import Iterator

from assets.deep_research.corpus.sampling import corpus_worlds
from assets.deep_research.fiction import WORLD
from assets.deep_research.records import TaskWorld
from assets.engine.stage import Stage
from assets.memory_items.tasks import num_hops_at, operation_at, rival_first_at, task_id_at
from assets.memory_items.world.clusters import make_cluster
from assets.recipe.deep_research import DeepResearchRecipe
from assets.recipe.loading import Unit
from assets.reporting.asset_description import AssetDescription, Row


def draw_worlds(recipe: DeepResearchRecipe, unit: Unit) -> Iterator[tuple[int, TaskWorld]]:
    """Yield the unit's tasks by position; a task follows from seed and position alone."""
    if recipe.source.kind == "documents":
        yield from corpus_worlds(recipe, unit)
        return
    for position in unit.positions:
        path = (recipe.world_seed, "deep research", position)
        hops = num_hops_at(position, recipe)
        operation = operation_at(position, recipe)
        cluster = make_cluster(WORLD, hops, path=(*path, "cluster"), operation=operation)
        task_id = task_id_at(position, recipe)
        rival_first = rival_first_at(position, recipe)
        world = TaskWorld(
            task_id=task_id,
            hops=hops,
            operation=operation,
            rival_first=rival_first,
            chain=cluster.chain,
            plans=cluster.plans,
        )
        yield position, world


def _rows(world: TaskWorld) -> list[Row]:
    rows: list[Row] = []
    for hop in world.chain:
        rows.append({"subject": hop.subject, "relation": hop.relation, "value": hop.value})
    for section in world.sections:
        rows.append({"subject": section.title, "relation": "section", "value": section.source})
    return rows


DR_WORLDS = Stage(
    name="dr_worlds",
    record=TaskWorld,
    draw=draw_worlds,
    version=4,
    description=AssetDescription(
        group="worlds",
        description="The part of a world that each task is about: facts with their siblings in an invented world, or "
        "sections of real documents. It follows from the seed and the task's position.",
        rows=_rows,
        paper="MemGym",
    ),
)
