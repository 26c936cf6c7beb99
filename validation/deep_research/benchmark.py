"""Deep research: its rules, its quality report, and the check that real documents are unchanged."""

from assets.deep_research.corpus.reading import corpus_digest, read_documents
from assets.deep_research.pipeline import DEEP_RESEARCH
from assets.recipe.deep_research import DeepResearchRecipe
from validation.memory_items.benchmark import document_validation, expect_digest, source_check


def _read_sources(recipe: DeepResearchRecipe) -> int:
    source = recipe.source
    if source.kind != "documents":
        return 0
    documents = read_documents(source.paths, source.license)
    expect_digest(corpus_digest(documents), source.content, noun="documents")
    return len(documents)


DEEP_RESEARCH_VALIDATION = document_validation(
    DEEP_RESEARCH,
    "validation.deep_research",
    read="ablation over all tasks",
    source_check=source_check(DEEP_RESEARCH, noun="document", read=_read_sources),
)
