"""Code questions and session questions: their rules and their quality reports."""

from assets.code_qa.pipeline import CODE_QA
from assets.code_qa.session_questions.pipeline import SESSION_QUESTIONS
from validation.code_qa import behaviours, decisions, questions, sources
from validation.memory_items.benchmark import document_validation

CODE_QA_VALIDATION = document_validation(
    CODE_QA,
    "validation.code_qa",
    read="facts found in their notes, ablation over all questions",
    own={"documents": decisions.NOTE_RULES, "instances": questions.INSTANCE_RULES},
    source_check=sources.packages_check(CODE_QA),
)
SESSION_QUESTIONS_VALIDATION = document_validation(
    SESSION_QUESTIONS,
    read="facts found in their sessions, ablation over all questions",
    own={
        "sources": sources.RULES,
        "behaviours": behaviours.RULES,
        "decisions": decisions.RULES,
        "sessions": decisions.NOTE_RULES,
        "instances": questions.INSTANCE_RULES,
    },
    source_check=sources.packages_check(SESSION_QUESTIONS),
)
