"""Releases of code questions and session questions, which credit the authors of the packages."""

from assets.code_qa.pipeline import CODE_QA
from assets.code_qa.session_questions.pipeline import SESSION_QUESTIONS
from assets.recipe.code_qa import PackageRecipe
from dataset_card.memory_items import document_release


def authors_of_packages(recipe: PackageRecipe) -> str:
    """Return whom a release around packages credits."""
    return "the authors of " + ", ".join(f"{package.name} {package.version}" for package in recipe.packages)


CODE_QA_RELEASE = document_release(
    CODE_QA,
    about="Questions about a code base for testing memory (MEMGYM-CODEQA). The packages are real and pinned; what calls return "
    "was run, twice, and can be run again from the tables `files` and `behaviours`. The team, its agreements and its notes "
    "are invented: the decisive facts stand in notes that have left the window, and nowhere in the code. The code in "
    "`shown_code` is in sight together with the question.",
    attribution=authors_of_packages,
)
SESSION_QUESTIONS_RELEASE = document_release(
    SESSION_QUESTIONS,
    about="Questions about a team's coding sessions for testing memory. Each asks for a decision, for a failed path, for a "
    "convention, or whether a statement still counts. The packages are real and pinned; calls in the sessions were run, "
    "twice, and can be run again from the tables `files` and `behaviours`. The team and what it settled are invented and "
    "stand in no code. A guess is right in half of the questions whether a statement still counts.",
    attribution=authors_of_packages,
)
