"""Releases of deep research, which credit whoever real documents are from."""

from assets.deep_research.pipeline import DEEP_RESEARCH
from assets.recipe.deep_research import DeepResearchRecipe
from dataset_card.memory_items import document_release


def authors_of_documents(recipe: DeepResearchRecipe) -> str:
    """Return the source of real documents, as the recipe names it."""
    return recipe.source.attribution


DEEP_RESEARCH_RELEASE = document_release(
    DEEP_RESEARCH,
    about="Research questions for testing memory (MEMGYM-DR). An answer takes several facts: it follows a chain, adds up, "
    "compares, puts in order, counts or weighs sources. Each fact stands in a document that has left the window when the "
    "question comes, beside documents on siblings, near misses and superseded values.",
    attribution=authors_of_documents,
)
