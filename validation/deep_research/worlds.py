"""What must hold of the parts of a world that tasks are about, and of the documents that real ones are from."""

from collections.abc import Iterator
from itertools import pairwise

import dagster as dg

from assets.deep_research.corpus.reading import corpus_digest, read_documents
from assets.deep_research.pipeline import DEEP_RESEARCH
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.world import TaskWorld
from assets.recipe.loading import RecipeError
from assets.reporting.plurals import counted, is_or_are
from validation.rules import OneRowPerItem, Rule, SetRule


def chains_hang_together(world: TaskWorld, recipe: DeepResearchRecipe) -> Iterator[str]:
    """A planned chain has as many hops as the recipe allows, each about what the hop before leads to."""
    if not recipe.min_hops <= world.hops <= recipe.max_hops or len(world.chain) not in (0, world.hops):
        yield f"it has {counted(world.hops, 'hop')}, and a chain of {len(world.chain)}"
    for before, after in pairwise(world.chain):
        if before.value != after.subject:
            yield f"{after.subject!r} is asked about, and the hop before leads to {before.value!r}"


RULES = (
    Rule("chains_hang_together", "Each hop of a chain is about what the hop before leads to.", chains_hang_together),
    SetRule("one_row_per_task", "Every task is drawn once.", OneRowPerItem),
)


@dg.asset_check(
    asset=DEEP_RESEARCH.key("recipe"),
    name="documents_are_unchanged",
    blocking=True,
    partitions_def=DEEP_RESEARCH.partitions.by_variant,
    description="Real documents have the content that the recipe was resolved with.",
)
def documents_are_unchanged(dr_recipe: DeepResearchRecipe) -> dg.AssetCheckResult:
    """Read the documents again; an invented world has none."""
    source = dr_recipe.source
    if source.kind != "documents":
        return dg.AssetCheckResult(passed=True, description="The world is invented, so there are no documents to change.")
    try:
        documents = read_documents(source.paths, source.license)
    except RecipeError as error:
        return dg.AssetCheckResult(passed=False, description=str(error))
    digest = corpus_digest(documents)
    changed = f"The documents have the digest {digest[:16]}, and {source.content[:16]} when the recipe was resolved."
    return dg.AssetCheckResult(
        passed=digest == source.content,
        description=f"{counted(len(documents), 'document')} {is_or_are(len(documents))} as the recipe says."
        if digest == source.content
        else changed,
        metadata={"documents": len(documents)},
    )
