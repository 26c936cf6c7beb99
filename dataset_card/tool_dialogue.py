"""The parts of releases of tool dialogues beside items and tables."""

from typing import ClassVar

from assets.recipe.recipe import Recipe
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.tool_dialogue.pipeline import TOOL_DIALOGUE
from dataset_card.memory_items import COUNTED_BY, FIGURES, METRICS, MemoryItemsExtras
from dataset_card.release.content import ReleaseFormat

TOOL_METRICS: dict[str, str] = {
    **METRICS,
    "calls of a task": "SELECT (SELECT count(*) FROM {calls}) / (SELECT count(*) FROM {tasks})",
    "rows of a company": "SELECT (SELECT count(*) FROM {companies}) / (SELECT count(*) FROM {tasks})",
}
IN_BROWSER = (
    " Here the agent acts in a browser: each tool is a page of the company's application, with a search or a form. It sees "
    "a page as an accessibility tree."
)


class ToolDialogueExtras(MemoryItemsExtras):
    """The card of tool dialogues."""

    about: ClassVar[str] = (
        "Tool dialogues for testing memory. An agent gets a customer's request, tools that run on a company's tables, and what "
        "a memory recalls. Some arguments of the right calls were settled in earlier sessions and are nowhere else. A task "
        "is graded by the company's rows in the end and by the reference that the customer is told."
    )

    def about_items(self, recipe: Recipe) -> str:
        by_pages = isinstance(recipe, ToolDialogueRecipe) and recipe.interface == "browser"
        return f"{self.about}{IN_BROWSER if by_pages else ''}"


TOOL_DIALOGUE_RELEASE = ReleaseFormat(
    TOOL_DIALOGUE,
    extras=ToolDialogueExtras,
    metrics=TOOL_METRICS,
    figures=FIGURES,
    reported=True,
    counted_by=COUNTED_BY,
    card_description="The README of the release: computed facts in a written template, under the header that the Hub reads. It "
    "tells how acting by program came out, and what was replaced and why.",
)
