"""The parts of releases of code repairs beside items and tables."""

from typing import ClassVar

from assets.code_repair.pipeline import CODE_REPAIR
from dataset_card.code_qa import CodeQaExtras
from dataset_card.memory_items import COUNTED_BY, FIGURES, METRICS
from dataset_card.release.content import ReleaseFormat

REPAIR_METRICS: dict[str, str] = {
    **METRICS,
    "hidden calls of a task": "SELECT (SELECT count(*) FROM {hidden_calls}) / (SELECT count(*) FROM {tasks})",
    "questions about sessions": "SELECT count(*) FROM {session_questions}",
    "packages": "SELECT count(DISTINCT name) FROM {packages}",
}


class CodeRepairExtras(CodeQaExtras):
    """The card of code repairs, which credits the authors of the packages."""

    about: ClassVar[str] = (
        "Code repairs for testing memory. An agent gets an issue, tools to read, search, edit and run a copy of a real, pinned "
        "package with a seeded fault, and what a memory recalls. Two patches look right; a rule that an invented team "
        "settled in earlier sessions decides which one is. Hidden calls, run in a sandbox, grade the copy. A guess is right in "
        "half of the tasks. The table `session_questions` has further questions about the same sessions, with keys."
    )


CODE_REPAIR_RELEASE = ReleaseFormat(
    CODE_REPAIR,
    extras=CodeRepairExtras,
    metrics=REPAIR_METRICS,
    figures=FIGURES,
    reported=True,
    counted_by=COUNTED_BY,
    card_description="The README of the release: computed facts in a written template, under the header that the Hub reads. It "
    "tells how repairs by program came out, what was replaced and why, and the licenses of the packages.",
)
