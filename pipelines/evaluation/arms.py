"""What a memory's text does, and controls in its place: texts by chance, out of date, of somebody else, or buried in others.

A memory that is worth its tokens beats chance texts of the same length, and does no harm: it leads astray where the reasoner
alone is right. Questions that need no memory show here too: any text will do for them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assets.engine.seeded_random import SeededRandom
from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import Tallies, metric_difference, share
from assets.text.words import count_tokens
from pipelines.evaluation.records import AnswerRow, Arm, RunManifest
from pipelines.evaluation.report.numbers import meanings_note
from pipelines.evaluation.report.sections import ReportSection, ReportTable
from pipelines.memories.contract import best_within

MEANINGS: dict[str, str] = {
    "memory": "what the memory recalled",
    "placebo": "as many tokens of other texts that were perceived, drawn by chance",
    "stale": "the messages that stated the needed values before they changed; asked where they changed",
    "another": "what another user, or another task, would need",
    "noise": "the needed facts among chance texts, at least as many tokens as the facts have",
}

TITLE = "What the memory's text does, and controls in its place"
NOTE = (
    "Gave text: the share of the asked questions for which any came back. Changed: the share whose answer is another than with "
    "nothing. Harm: the share that is right with nothing, and wrong with the memory."
)


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
            return self._in_order(self._draw_texts(arm, tokens=tokens))
        needed = sum(map(count_tokens, self.facts))
        return self._in_order([*self.facts, *self._draw_texts(arm, tokens=max(needed, tokens - needed))])

    def _draw_texts(self, arm: Arm, *, tokens: int) -> list[str]:
        """Return other texts, drawn by chance, of so many tokens at most."""
        return best_within(SeededRandom(*self.path, arm).shuffled(self.others), tokens)

    def _in_order(self, texts: Iterable[str]) -> list[str]:
        """Return the texts in the order in which they were perceived; a part of a document has a place by chance."""
        places = {text: place for place, text in enumerate(self.everything)}
        rng = SeededRandom(*self.path, "order")
        return sorted(texts, key=lambda text: places.get(text, rng.integer_below(1 + len(places))))


class ArmScore(Record):
    """An arm over the questions that were asked in it and with nothing.

    `gave`: the share for which it gave any text. `changed`: the share whose answer is another than with nothing. `gain`: its
    share right minus that with nothing. `harm`: the share that is right with nothing, and wrong here.
    """

    name: str
    items: int
    gave: Estimate
    changed: Estimate
    right: Estimate
    gain: Estimate
    harm: Estimate


def arm_scores(answers: Sequence[AnswerRow], manifest: RunManifest) -> tuple[ArmScore, ...]:
    """Return the memory's own score and those of the run's arms; none for no memory, or with nothing to compare with."""
    # Of episodes, their own figures say how often the memory was asked and gave something.
    if manifest.memory.kind == "none" or (manifest.mode == "episode" and not manifest.arms):
        return ()
    alone = _by_question(answers, "no_memory")
    kinds = {"memory": "question", **{arm: arm for arm in manifest.arms}}
    gain = metric_difference(share("right", "items"), share("alone", "items"))
    scores: list[ArmScore] = []
    for name, kind in kinds.items():
        found = _by_question(answers, kind)
        tallies = _tallies((row, alone[key]) for key, row in found.items() if key in alone)
        if tallies.users:
            score = ArmScore(
                name=name,
                items=int(tallies.total()["items"].sum()),
                gave=tallies.estimate(share("gave", "items")),
                changed=tallies.estimate(share("changed", "items")),
                right=tallies.estimate(share("right", "items")),
                gain=tallies.estimate(gain),
                harm=tallies.estimate(share("harmed", "items")),
            )
            scores.append(score)
    return tuple(scores)


Question = tuple[str, int, int, str]


def _by_question(answers: Iterable[AnswerRow], kind: str) -> dict[Question, AnswerRow]:
    return {row.question_key: row for row in answers if row.kind == kind and row.tries}


def _tallies(pairs: Iterable[tuple[AnswerRow, AnswerRow]]) -> Tallies:
    """Count by user the questions, each asked in the arm and with nothing, by what came of them."""
    by_user: dict[str, Counter[str]] = {}
    for row, alone in pairs:
        own = by_user.setdefault(row.user_id, Counter())
        own["items"] += 1
        own["gave"] += bool(row.memories) or row.kind != "question"  # controls are texts, which rows do not keep
        own["changed"] += row.given != alone.given
        own["right"] += row.status == "right"
        own["alone"] += alone.status == "right"
        own["harmed"] += alone.status == "right" and row.status != "right"
    return Tallies.of(by_user, names=("items", "gave", "changed", "right", "alone", "harmed"))


def arms_section(arms: Sequence[ArmScore]) -> ReportSection:
    """Return the section of a run's report."""
    rows: list[Sequence[str | Estimate]] = []
    for arm in arms:
        rows.append([arm.name, MEANINGS[arm.name], f"{arm.items:,}", arm.gave, arm.changed, arm.right, arm.gain, arm.harm])
    head = ["arm", "in place of recalled text", "asked", "gave text", "changed", "right", "minus none", "harm"]
    return ReportSection("arms", TITLE, [NOTE, ReportTable(head, rows)])


def arms_board(named: Mapping[str, Sequence[ArmScore]]) -> ReportSection:
    """Return the section below a board: what the memory's text did, and the share right in each arm; a line for each run."""
    found = {arm.name for arms in named.values() for arm in arms}
    names = [name for name in MEANINGS if name in found]
    rows: list[Sequence[str | Estimate]] = []
    for label, arms in named.items():
        scores = {arm.name: arm for arm in arms}
        right = [scores[name].right if name in scores else "-" for name in names]
        own = scores.get("memory")
        shown = [f"{own.items:,}", own.gave, own.changed, own.harm] if own else ["-"] * 4
        rows.append([label, *shown, *right])
    head = ["memory system", "asked", "gave text", "changed", "harm", *(f"right with {name}" for name in names)]
    note = f"{NOTE} {meanings_note({name: MEANINGS[name] for name in names})}"
    return ReportSection("arms", TITLE, [note, ReportTable(head, rows)])
