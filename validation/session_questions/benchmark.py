"""Session questions: their rules, which are those of code questions but for what is shown with a question."""

from assets.session_questions.pipeline import SESSION_QUESTIONS
from validation.code_qa import behaviours, decisions, questions, sources
from validation.memory_items.benchmark import document_validation

SESSION_QUESTIONS_VALIDATION = document_validation(
    SESSION_QUESTIONS,
    "validation.session_questions",
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
