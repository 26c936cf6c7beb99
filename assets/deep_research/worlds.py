"""Stage `dr_worlds`: the part of a world that each task is about."""

from collections.abc import Iterator

from assets.deep_research.corpus.sampling import corpus_worlds
from assets.deep_research.fiction import WORLD
from assets.deep_research.records import TaskWorld
from assets.engine.stage import Stage
from assets.memory_items.tasks import num_hops_at, operation_at, rival_first_at, task_id_at
from assets.memory_items.world.clusters import FactCluster, make_cluster, small_clusters
from assets.memory_items.world.filler import SharedClusters
from assets.recipe.deep_research import DeepResearchRecipe
from assets.recipe.recipe import Unit
from assets.reporting.asset_description import AssetDescription, Row


def draw_worlds(recipe: DeepResearchRecipe, unit: Unit) -> Iterator[tuple[int, TaskWorld]]:
    """Yield the unit's tasks by position; a task follows from seed and position alone."""
    if recipe.source.kind == "documents":
        yield from corpus_worlds(recipe, unit)
        return
    for position in unit.positions:
        cluster = cluster_at(position, recipe)
        world = TaskWorld(
            task_id=task_id_at(position, recipe),
            hops=num_hops_at(position, recipe),
            operation=operation_at(position, recipe),
            rival_first=rival_first_at(position, recipe),
            chain=cluster.chain,
            plans=cluster.plans,
        )
        yield position, world


def cluster_at(number: int, recipe: DeepResearchRecipe, taken: frozenset[str] = frozenset()) -> FactCluster:
    """Return what the task at this position is about, and other tasks have as filler; another one where names are taken."""
    path = (recipe.world_seed, "deep research", number, "cluster", *sorted(taken))
    return make_cluster(WORLD, num_hops_at(number, recipe), path=path, taken=taken, operation=operation_at(number, recipe))


def shared_clusters(recipe: DeepResearchRecipe) -> SharedClusters:
    """Return the clusters of which filler is made."""
    small = small_clusters(WORLD, path=(recipe.world_seed, "deep research"), max_hops=recipe.max_hops)
    return SharedClusters(
        lambda number: cluster_at(number, recipe), lambda number, taken: cluster_at(number, recipe, taken), small
    )


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
    version=10,
    description=AssetDescription(
        group="worlds",
        description="The part of a world that each task is about: facts with their siblings in an invented world, or "
        "sections of real documents. It follows from the seed and the task's position.",
        rows=_rows,
        paper="MemGym",
    ),
)
