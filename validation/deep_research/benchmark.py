"""Deep research: its rules, its quality report, and the check that real documents are unchanged."""

import dagster as dg

from assets.deep_research.corpus.reading import corpus_digest, read_documents
from assets.deep_research.pipeline import DEEP_RESEARCH
from assets.recipe.deep_research import DeepResearchRecipe
from assets.recipe.loading import RecipeError
from assets.reporting.plurals import counted, is_or_are
from validation.memory_items.ablation import ablation_rules
from validation.memory_items.documents import DOCUMENT_RULES
from validation.memory_items.facts import fact_rules
from validation.memory_items.questions import question_rules
from validation.memory_items.report import document_report
from validation.memory_items.turns import turn_rules
from validation.report.validation import Validation, rules_by_stage
from validation.rules import Rule

SHARED: dict[str, tuple[Rule, ...]] = {
    "dr_sources": DOCUMENT_RULES,
    "dr_facts": fact_rules(sources="dr_sources"),
    "dr_questions": question_rules(facts="dr_facts"),
    "dr_turns": turn_rules(questions="dr_questions"),
    "dr_ablation": ablation_rules(lengths="dr_lengths", questions="dr_questions"),
}
RULES = rules_by_stage(DEEP_RESEARCH, "validation.deep_research", shared=SHARED)


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
    unchanged = digest == source.content
    sentence = f"{counted(len(documents), 'document')} {is_or_are(len(documents))} as the recipe says."
    if not unchanged:
        sentence = f"The documents have the digest {digest[:16]}, and {source.content[:16]} when the recipe was resolved."
    return dg.AssetCheckResult(passed=unchanged, description=sentence, metadata={"documents": len(documents)})


DEEP_RESEARCH_VALIDATION = Validation(
    DEEP_RESEARCH, RULES, report=document_report("ablation over all tasks"), source_check=documents_are_unchanged
)
