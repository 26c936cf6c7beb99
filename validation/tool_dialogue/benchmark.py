"""Tool dialogues: their rules, their quality report, and the check that the companies are unchanged."""

from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.tool_dialogue.domains import digest_of_domains
from assets.tool_dialogue.pipeline import TOOL_DIALOGUE
from validation.memory_items.benchmark import document_validation, expect_digest, source_check


def _read_companies(recipe: ToolDialogueRecipe) -> int:
    expect_digest(digest_of_domains(recipe.domains), recipe.content, noun="companies")
    return len(recipe.domains)


TOOL_DIALOGUE_VALIDATION = document_validation(
    TOOL_DIALOGUE,
    "validation.tool_dialogue",
    read="facts found in their sessions",
    source_check=source_check(TOOL_DIALOGUE, noun="company", read=_read_companies),
)
