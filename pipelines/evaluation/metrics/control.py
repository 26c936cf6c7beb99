"""The permutation control: asked the questions of another user, a memory is worth no more than none.

One that is knows answers that it was never told, such as keys of the data set. Left out are questions whose values its own user
has as well. It may well be worth less: what it remembers of its own user misleads.
"""

from collections import Counter
from collections.abc import Sequence

from assets.records.base import Record
from assets.records.estimate import FEWEST_USERS, LEAST_ROOM, Estimate
from assets.reporting.intervals import Tallies, metric_difference, share
from assets.reporting.plurals import counted
from pipelines.evaluation.records import CALL_FAILED, AnswerRow, RunManifest


class PermutationControl(Record):
    """Shares right of other users' questions, with the memory and with none, and their difference, over those users."""

    items: int
    memory: Estimate
    none: Estimate
    gain: Estimate

    @property
    def passed(self) -> bool:
        """Return True unless the memory knows more of strangers' questions than chance and a margin explain."""
        if self.gain.value is None or self.gain.low is None:
            return True
        return self.gain.low <= 0 or self.gain.value < LEAST_ROOM

    @property
    def sentence(self) -> str:
        """Return what came of the control, in one sentence."""
        asked = f"Permutation control: of {counted(self.items, 'question')} of other users, the memory answers"
        shares = f"{self.memory.value or 0:.3f} rightly, and the reasoner without memory {self.none.value or 0:.3f}"
        verdict = "as it should be" if self.passed else "so it knows answers that it was never told"
        if self.gain.low is None:
            verdict = f"fewer than {FEWEST_USERS} users do not show whether it knows answers that it was never told"
        return f"{asked} {shares}: {verdict}."


def asks_control(manifest: RunManifest) -> bool:
    """Return True where there is something to compare: a memory, with our reasoner, and the condition without one."""
    return "none" in manifest.conditions and not manifest.memory.whole and manifest.memory.kind != "none"


def permutation_control(answers: Sequence[AnswerRow]) -> PermutationControl | None:
    """Return the control of a run; None where no question of another user was asked."""
    without = dict[tuple[object, ...], bool]()
    for row in answers:
        if row.kind == "no_memory" and not row.reason.startswith(CALL_FAILED):
            without[row.question_key] = row.status == "right"
    found = dict[str, Counter[str]]()
    items = 0
    for row in answers:
        if row.kind != "permuted" or row.reason.startswith(CALL_FAILED) or row.question_key not in without:
            continue
        own = found.setdefault(row.user_id, Counter())
        own["items"] += 1
        own["memory"] += row.status == "right"
        own["none"] += without[row.question_key]
        items += 1
    if not found:
        return None
    tallies = Tallies.of(found, names=("items", "memory", "none"))
    memory = share("memory", "items")
    none = share("none", "items")
    return PermutationControl(
        items=items,
        memory=tallies.estimate(memory),
        none=tallies.estimate(none),
        gain=tallies.estimate(metric_difference(memory, none)),
    )
