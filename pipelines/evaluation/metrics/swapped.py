"""Counterfactual twins: what a memory answers where one told value is another than in the release.

Who answers by what was told is as right as before; who answers by the release gives the released answer, which is wrong now.
"""

from collections.abc import Sequence

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.records.paths import FileName
from assets.reporting.intervals import Tallies, share
from assets.reporting.plurals import counted
from pipelines.evaluation.records import AnswerCount, AnswerRow
from pipelines.evaluation.report.numbers import format_estimate

SWAPPED_WORDS = "With one told value swapped"
NAMES = ("asked", "right", "before", "released")


class SwappedCount(Record):
    """Of one user, the questions whose right answer the swap changes: how many were answered rightly with it and before it, and
    how many got the answer that was right before.
    """

    asked: AnswerCount
    right: AnswerCount
    before: AnswerCount
    released: AnswerCount


class SwappedScore(Record):
    """`swapped.json` beside a run's results. `run_id`: the run on the twins. The shares follow from `users`."""

    run_id: FileName
    users: tuple[SwappedCount, ...]
    right: Estimate
    before: Estimate
    released: Estimate

    @property
    def sentence(self) -> str:
        """Say what came of it."""
        questions = counted(sum(user.asked for user in self.users), "question")
        return (
            f"{SWAPPED_WORDS}, it is right in {format_estimate(self.right)} of the {questions} that this changes, "
            f"and in {format_estimate(self.before)} before; it gives the released answer in {format_estimate(self.released)}."
        )


def compare_with_swapped(public: Sequence[AnswerRow], swapped: Sequence[AnswerRow], *, run_id: str) -> SwappedScore:
    """Return the score on the questions whose right answer is another in the rows of the twins."""
    before = {row.question_key: row for row in public if row.kind == "question"}
    counts = dict[str, dict[str, int]]()
    for row in swapped:
        original = before.get(row.question_key)
        if row.kind != "question" or original is None or original.expected == row.expected:
            continue
        own = counts.setdefault(row.user_id, dict.fromkeys(NAMES, 0))
        own["asked"] += 1
        own["right"] += row.status == "right"
        own["before"] += original.status == "right"
        own["released"] += row.given == original.expected
    return swapped_score([SwappedCount.model_validate(own) for own in counts.values()], run_id=run_id)


def swapped_score(users: Sequence[SwappedCount], *, run_id: str) -> SwappedScore:
    """Return the shares that follow from these counts."""
    tallies = Tallies.of({str(number): user.model_dump() for number, user in enumerate(users)}, names=NAMES)
    shares = {name: tallies.estimate(share(name, "asked")) for name in NAMES[1:]}
    return SwappedScore(run_id=run_id, users=tuple(users), **shares)
