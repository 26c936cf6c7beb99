"""The parts of releases of deep research beside items and tables."""

from typing import ClassVar

from assets.deep_research.pipeline import DEEP_RESEARCH
from assets.recipe.deep_research import DeepResearchRecipe
from assets.recipe.loading import expect_recipe
from assets.recipe.recipe import Recipe
from dataset_card.memory_items import COUNTED_BY, FIGURES, METRICS, MemoryItemsExtras
from dataset_card.release.content import ReleaseFormat


class DeepResearchExtras(MemoryItemsExtras):
    """The card of deep research, which credits whoever real documents are from."""

    about: ClassVar[str] = (
        "Research questions for testing memory (MEMGYM-DR). An answer takes several facts: it follows a chain, adds up, "
        "compares, puts in order, counts or weighs sources. Each fact stands in a document that has left the window when the "
        "question comes, beside documents on siblings, near misses and superseded values."
    )

    def attribution(self, recipe: Recipe) -> str:
        return expect_recipe(recipe, DeepResearchRecipe).source.attribution


DEEP_RESEARCH_RELEASE = ReleaseFormat(
    DEEP_RESEARCH,
    extras=DeepResearchExtras,
    metrics=METRICS,
    figures=FIGURES,
    reported=True,
    counted_by=COUNTED_BY,
    card_description="The README of the release: computed facts in a written template, under the header that the Hub reads. It "
    "tells how ablation came out, what was replaced and why, and the licenses of the documents.",
)
