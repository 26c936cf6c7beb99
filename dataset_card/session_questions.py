"""Releases of session questions, which credit the authors of the packages."""

from assets.session_questions.pipeline import SESSION_QUESTIONS
from dataset_card.code_qa import PACKAGE_METRICS, authors_of_packages
from dataset_card.memory_items import document_release

SESSION_QUESTIONS_RELEASE = document_release(
    SESSION_QUESTIONS,
    about="Questions about a team's coding sessions for testing memory. Each asks for a decision, for a failed path, for a "
    "convention, or whether a statement still counts. The packages are real and pinned; calls in the sessions were run, "
    "twice, and can be run again from the tables `files` and `behaviours`. The team and what it settled are invented and "
    "stand in no code. A guess is right in half of the questions whether a statement still counts.",
    attribution=authors_of_packages,
    metrics=PACKAGE_METRICS,
)
