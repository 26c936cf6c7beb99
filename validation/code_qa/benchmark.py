"""Code questions: their rules and their quality report."""

from assets.code_qa.pipeline import CODE_QA
from validation.code_qa import decisions, questions
from validation.code_qa.sources import packages_check
from validation.memory_items.benchmark import document_validation

CODE_QA_VALIDATION = document_validation(
    CODE_QA,
    "validation.code_qa",
    read="facts found in their notes, ablation over all questions",
    own={"documents": decisions.NOTE_RULES, "instances": questions.INSTANCE_RULES},
    source_check=packages_check(CODE_QA),
)
