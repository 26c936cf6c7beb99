"""The parts of releases of code questions beside items and tables."""

from typing import ClassVar

from assets.code_qa.pipeline import CODE_QA
from assets.recipe.code_qa import CodeQaRecipe
from assets.recipe.loading import expect_recipe
from assets.recipe.recipe import Recipe
from dataset_card.memory_items import COUNTED_BY, FIGURES, METRICS, MemoryItemsExtras
from dataset_card.release.content import ReleaseFormat

CODE_METRICS: dict[str, str] = {
    **METRICS,
    "calls that the notes of a question tell": "SELECT (SELECT count(*) FROM {behaviours}) / (SELECT count(*) FROM {tasks})",
    "packages": "SELECT count(DISTINCT name) FROM {packages}",
}


class CodeQaExtras(MemoryItemsExtras):
    """The card of code questions, which credits the authors of the packages."""

    about: ClassVar[str] = (
        "Questions about a code base for testing memory (MEMGYM-CODEQA). The packages are real and pinned; what calls return "
        "was run, twice, and can be run again from the tables `files` and `behaviours`. The team, its agreements and its notes "
        "are invented: the decisive facts stand in notes that have left the window, and nowhere in the code. The code in "
        "`shown_code` is in sight together with the question."
    )

    def attribution(self, recipe: Recipe) -> str:
        packages = expect_recipe(recipe, CodeQaRecipe).packages
        return "the authors of " + ", ".join(f"{one.name} {one.version}" for one in packages)


CODE_QA_RELEASE = ReleaseFormat(
    CODE_QA,
    extras=CodeQaExtras,
    metrics=CODE_METRICS,
    figures=FIGURES,
    reported=True,
    counted_by=COUNTED_BY,
    card_description="The README of the release: computed facts in a written template, under the header that the Hub reads. It "
    "tells how ablation came out, what was replaced and why, and the licenses of the packages.",
)
