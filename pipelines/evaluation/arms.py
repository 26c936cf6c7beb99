"""Controls for any memory: texts in its place that nobody chose, that are out of date, of somebody else, or buried in others.

A memory that is worth its tokens beats chance texts of the same length, and does no harm: it leads astray where the reasoner
alone is right. Questions that need no memory show here too: any text will do for them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from assets.engine.seeded_random import SeededRandom
from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import GAIN, UNIT, Sample, Tallies, metric_difference, share
from assets.text.words import count_tokens
from pipelines.evaluation.records import AnswerRow, Arm, RunManifest
from pipelines.memories.contract import best_within

ARMS: tuple[Arm, ...] = get_args(Arm)
MEANINGS: dict[str, str] = {
    "memory": "what the memory recalled",
    "placebo": "as many tokens of other texts that were perceived, drawn by chance",
    "stale": "the messages that stated the needed values before they changed; asked where they changed",
    "another": "what another user, or another task, would need",
    "noise": "the needed facts among chance texts, at least as many tokens as the facts have",
}


@dataclass(frozen=True)
class TextsAtHand:
    """The texts that conditions and arms are made from, each a sequence in order of time.

    `facts`: those that the answer takes. `others`: all that was perceived without what states these facts. `stale`: those that
    state the needed values as they were before. `another`: the facts of another user or task. `path` seeds what is drawn.
    """

    facts: Sequence[str]
    everything: Sequence[str]
    others: Sequence[str] = ()
    stale: Sequence[str] = ()
    another: Sequence[str] = ()
    path: Sequence[object] = ()

    def of_arm(self, arm: Arm, *, tokens: int) -> list[str]:
        """Return the arm's texts; empty where there are none. `tokens`: those that the memory recalled."""
        if arm == "stale":
            return list(self.stale)
        if arm == "another":
            return list(self.another)
        if arm == "placebo":
            return self._in_order(self._drawn(arm, tokens=tokens))
        needed = sum(map(count_tokens, self.facts))
        return self._in_order([*self.facts, *self._drawn(arm, tokens=max(needed, tokens - needed))])

    def _drawn(self, arm: Arm, *, tokens: int) -> list[str]:
        """Return other texts, drawn by chance, of so many tokens at most."""
        return best_within(SeededRandom(*self.path, arm).shuffled(self.others), tokens)

    def _in_order(self, texts: Iterable[str]) -> list[str]:
        """Return the texts in the order in which they were perceived; a part of a document has a place by chance."""
        places = {text: place for place, text in enumerate(self.everything)}
        rng = SeededRandom(*self.path, "order")
        return sorted(texts, key=lambda text: places.get(text, rng.integer_below(1 + len(places))))


class ArmScore(Record):
    """An arm over the questions that were asked in it and with nothing.

    `gain`: its share right minus that with nothing. `harm`: the share of questions that are right with nothing, and wrong here.
    """

    name: str
    items: int
    right: Estimate
    gain: Estimate
    harm: Estimate


def arm_scores(answers: Sequence[AnswerRow], manifest: RunManifest) -> tuple[ArmScore, ...]:
    """Return the memory's own score and those of the run's arms; none where the run has no arms, or nothing to compare with."""
    if not manifest.arms:
        return ()
    alone = _right_by_question(answers, "no_memory")
    kinds = {"memory": "question", **{arm: arm for arm in manifest.arms}}
    gain = metric_difference(share("right", "items"), share("alone", "items"))
    scores: list[ArmScore] = []
    for name, kind in kinds.items():
        found = _right_by_question(answers, kind)
        tallies = _tallies((key, right, alone[key]) for key, right in found.items() if key in alone)
        if tallies.users:
            sample = Sample.of(tallies, seed=manifest.seed)
            score = ArmScore(
                name=name,
                items=int(sample.total["items"].sum()),
                right=sample.estimate(share("right", "items"), within=UNIT),
                gain=sample.estimate(gain, within=GAIN),
                harm=sample.estimate(share("harmed", "items"), within=UNIT),
            )
            scores.append(score)
    return tuple(scores)


Question = tuple[str, int, int, str]


def _right_by_question(answers: Iterable[AnswerRow], kind: str) -> dict[Question, bool]:
    return {row.question_key: row.status == "right" for row in answers if row.kind == kind and row.tries}


def _tallies(rows: Iterable[tuple[Question, bool, bool]]) -> Tallies:
    """Count by user: questions, those right, those right with nothing, and those right with nothing alone."""
    by_user: dict[str, Counter[str]] = {}
    for (user, *_), right, alone in rows:
        own = by_user.setdefault(user, Counter())
        own["items"] += 1
        own["right"] += right
        own["alone"] += alone
        own["harmed"] += alone and not right
    return Tallies.of(by_user, names=("items", "right", "alone", "harmed"))
