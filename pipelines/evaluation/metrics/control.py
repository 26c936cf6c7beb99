"""The permutation control: asked the questions of another user, a memory is worth no more than none.

One that is knows answers that it was never told, such as keys of the data set. Left out are questions whose values its own user
has as well. It may well be worth less: what it remembers of its own user misleads.
"""

from collections import Counter
from collections.abc import Sequence

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import GAIN, UNIT, Sample, Tallies, metric_difference, share
from assets.reporting.plurals import counted
from pipelines.evaluation.isolated import LEAST_ROOM
from pipelines.evaluation.records import CALL_FAILED, AnswerRow, RunManifest


class PermutationControl(Record):
    """Shares right of other users' questions, with the memory and with none, and their difference, clustered by those users."""

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
        """Say what came of it."""
        asked = f"Permutation control: of {counted(self.items, 'question')} of other users, the memory answers"
        shares = f"{self.memory.value or 0:.3f} rightly, and the reasoner without memory {self.none.value or 0:.3f}"
        verdict = "as it should be" if self.passed else "so it knows answers that it was never told"
        return f"{asked} {shares}: {verdict}."


def asks_control(manifest: RunManifest) -> bool:
    """Return True where there is something to compare: a memory, with our reasoner, and the condition without one."""
    return "none" in manifest.conditions and not manifest.memory.whole and manifest.memory.kind != "none"


def permutation_control(answers: Sequence[AnswerRow], *, seed: int) -> PermutationControl | None:
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
    sample = Sample.of(Tallies.of(found, names=("items", "memory", "none")), seed=seed)
    memory = share("memory", "items")
    none = share("none", "items")
    return PermutationControl(
        items=items,
        memory=sample.estimate(memory, within=UNIT),
        none=sample.estimate(none, within=UNIT),
        gain=sample.estimate(metric_difference(memory, none), within=GAIN),
    )
