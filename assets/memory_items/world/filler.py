"""Filler: whole clusters of documents that all tasks of a variant share, most of them what other tasks ask about.

A document that one task's answer needs is filler in others, so that having seen it elsewhere tells nothing.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from assets.engine.seeded_random import SeededRandom
from assets.llm.async_calls import gather_all
from assets.memory_items.facts import DocumentPlan, Hop, SourceDocument, Statement
from assets.memory_items.lengths import tokens_to_draw
from assets.memory_items.world.clusters import PARALLEL_CHAINS, SMALL_CLUSTERS, FactCluster
from assets.memory_items.world.relations import FactWorld
from assets.memory_items.world.writing import DocumentWriter, PlannedDocuments, ToldDocuments
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.records.base import ItemFailed

DOCUMENT_TOKENS = 180  # of a document, about
MOST_LACKING = 20  # clusters that cannot be drawn, beside one of two


@dataclass(frozen=True)
class SharedClusters:
    """The clusters of a world, of which filler is made.

    `at`: the cluster of a number, the same for all tasks. `apart`: a further one of a number without the names given, for a
    task whose names are in too many of the former. Both return None where there is none. `small`: small ones for all tasks.
    """

    at: Callable[[int], FactCluster | None]
    apart: Callable[[int, frozenset[str]], FactCluster | None]
    small: Sequence[FactCluster]


def num_shared(recipe: DocumentTaskRecipe, *, spare: float, worlds: int = 1) -> int:
    """Return how many clusters the tasks of a world share: those of its own tasks, or more where a length takes more.

    `worlds`: over how many of them the tasks are spread; `spare`: the spare clusters of each.
    """
    own = math.ceil(recipe.num_tasks / worlds)
    return max(own, math.ceil(spare * tokens_to_draw(recipe) / (DOCUMENT_TOKENS * documents_of_cluster(recipe))))


def documents_of_cluster(recipe: DocumentTaskRecipe) -> float:
    """Return how many documents a cluster has, about: those of three chains, what disagrees with them, and near misses."""
    hops = (recipe.min_hops + recipe.max_hops) / 2
    return (1 + PARALLEL_CHAINS) * hops + 1 + hops // 4 + math.ceil(hops / 2)


def written_per_task(recipe: DocumentTaskRecipe, *, spare: float, worlds: int = 1) -> float:
    """Return how many documents are written for each task, for the forecast; those that tasks share are written once."""
    small = sum(hops * (1 + parallel) + 2 for hops, parallel in SMALL_CLUSTERS if hops <= recipe.max_hops)
    of_task = tokens_to_draw(recipe) / DOCUMENT_TOKENS
    small = min(small, of_task)
    of_cluster = documents_of_cluster(recipe)
    shared = num_shared(recipe, spare=spare, worlds=worlds)
    own = recipe.num_tasks / worlds
    # A task draws some of the shared clusters for its filler: those that no task draws or asks about are never written.
    drawn = max(0.0, (of_task - small) / of_cluster - 1)
    never_drawn = max(0.0, 1 - drawn / shared) ** own
    clusters = own + (shared - own) * (1 - never_drawn)
    return worlds * (clusters * of_cluster + small) / recipe.num_tasks


async def write_documents(
    writer: DocumentWriter, clusters: SharedClusters, planned: PlannedDocuments, *, worlds: int = 1
) -> ToldDocuments:
    """Return a task's documents and its filler. Raises ItemFailed where a document of its own is not told as planned."""
    documents = await writer.write_all(planned.plans)
    wanted = tokens_to_draw(writer.recipe) - sum(document.tokens for document in documents)
    filler = await _write_filler(writer, clusters, wanted=wanted, chain=planned.chain, task_id=planned.task_id, worlds=worlds)
    return ToldDocuments(writer.world, tuple(documents), filler)


async def _write_filler(
    writer: DocumentWriter, clusters: SharedClusters, *, wanted: int, chain: Sequence[Hop], task_id: str, worlds: int
) -> tuple[SourceDocument, ...]:
    """Return so many tokens of clusters that share no name with the chain; small ones, which meet a length, come last.

    Raises LookupError where the world has not enough of them.
    """
    recipe = writer.recipe
    taken = _names(writer.world, chain)
    usable = _usable(clusters, taken, recipe=recipe, world=writer.world, task_id=task_id, worlds=worlds)
    documents: list[SourceDocument] = []
    small: list[SourceDocument] = []
    tokens = 0
    for number, cluster in enumerate(clusters.small):
        if tokens < wanted and taken.isdisjoint(_names_told(writer.world, cluster.plans)):
            small += await _write_cluster(writer, cluster, f"small filler {number}")
            tokens = sum(document.tokens for document in small)
    while tokens < wanted:
        wave: list[tuple[str, FactCluster]] = []
        expected = tokens
        while expected < wanted:
            name, cluster = next(usable)
            wave.append((name, cluster))
            expected += DOCUMENT_TOKENS * len(cluster.plans)
        for written in await gather_all(*(_write_cluster(writer, cluster, name) for name, cluster in wave)):
            documents += written
            tokens += sum(document.tokens for document in written)
    return (*documents, *small)


def _usable(
    clusters: SharedClusters,
    taken: set[str],
    *,
    recipe: DocumentTaskRecipe,
    world: FactWorld,
    task_id: str,
    worlds: int,
) -> Iterator[tuple[str, FactCluster]]:
    """Yield shared clusters that have none of the names taken, in an order of the task's own, then some of its own.

    Those that share a name with one before come later: names that recur in filler would tell it from the chain, whose do not.
    """
    shared = num_shared(recipe, spare=world.spare_clusters, worlds=worlds)
    sharing: list[tuple[str, FactCluster]] = []
    told: set[str] = set()
    for number in SeededRandom(recipe.world_seed, task_id, "filler").shuffled(range(shared)):
        cluster = clusters.at(number)
        if cluster is None:
            continue
        names = _names_told(world, cluster.plans)
        if not taken.isdisjoint(names):
            continue
        if told.isdisjoint(names):
            told |= names
            yield f"filler {number}", cluster
        else:
            sharing.append((f"filler {number}", cluster))
    yield from sharing
    lacking = 0
    for number in itertools.count():
        cluster = clusters.apart(number, frozenset(taken))
        if cluster is not None:
            yield f"filler apart {number}", cluster
            continue
        lacking += 1
        if lacking > MOST_LACKING + number // 2:
            raise LookupError("clusters enough")


async def _write_cluster(writer: DocumentWriter, cluster: FactCluster, name: str) -> list[SourceDocument]:
    """Return the cluster's documents; none where the writer could not tell one of them, which the next cluster makes up for."""
    try:
        return await writer.write_all(cluster.plans, role="filler", cluster=name)
    except ItemFailed as failed:
        if failed.reason == "call_failed":
            raise
        return []


def _names_told(world: FactWorld, plans: Iterable[DocumentPlan]) -> set[str]:
    return _names(world, itertools.chain.from_iterable(plan.statements for plan in plans))


def _names(world: FactWorld, told: Iterable[Hop | Statement]) -> set[str]:
    """Return the subjects and values, of calls the function as well; without options, which are in many documents."""
    names: set[str] = set()
    for hop in told:
        names.update((hop.subject, hop.subject.partition("(")[0]))
        if not world.relation(hop.relation).options:
            names.update((hop.value, hop.value.partition("(")[0]))
    return names
