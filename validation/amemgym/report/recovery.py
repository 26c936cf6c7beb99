"""How often the judges of the audit recovered what was meant, and what an assistant with perfect memory would score."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assets.amemgym.audits.rates import DIRECTIONS
from assets.amemgym.records.audit import Judgement, Probe, Recovery, UserAudit
from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.report import RecoveryLine, WorstItem
from assets.records.estimate import Estimate
from assets.reporting.user_share import UserShare

WORST_ITEMS = 5


@dataclass
class DirectionCounter:
    """How often readings in one direction recovered what was meant, and the questions that were recovered least."""

    recovered: UserShare = field(default_factory=UserShare)
    cannot_tell: int = 0
    worst: list[tuple[float, WorstItem]] = field(default_factory=list[tuple[float, WorstItem]])

    def add(self, readings: Sequence[Judgement]) -> None:
        self.recovered.add(sum(one.chosen == one.expected for one in readings), len(readings))
        self.cannot_tell += sum(one.chosen is None for one in readings)

    def add_question(self, question: EpisodeQuestion, readings: Sequence[Judgement], audit: UserAudit) -> None:
        """Keep the question if it is among the worst; the earlier one of two equals stays."""
        share = sum(one.chosen == one.expected for one in readings) / len(readings)
        if share == 1 or (len(self.worst) == WORST_ITEMS and share >= self.worst[-1][0]):
            return
        item = WorstItem(
            user_id=audit.user_id,
            question_id=question.question_id,
            query=question.query,
            text=_first_missed(readings[0].probe, question, audit),
            share=round(share, 4),
        )
        self.worst = sorted([*self.worst, (share, item)], key=lambda one: one[0])[:WORST_ITEMS]


class RecoveryCounter:
    """Counts user by user; `ceiling` is over all (question, period) pairs that were audited."""

    def __init__(self) -> None:
        self._directions: dict[Recovery, DirectionCounter] = {direction: DirectionCounter() for direction in DIRECTIONS}
        self._ceiling = UserShare()

    def add(self, audit: UserAudit, episode: Episode) -> None:
        questions = {one.question_id: one for one in episode.questions}
        for name, direction in self._directions.items():
            readings = [one for one in audit.judgements if one.probe == name and one.sample == 0]
            direction.add(readings)
            by_question: defaultdict[str, list[Judgement]] = defaultdict(list)
            for one in readings:
                by_question[one.question_id].append(one)
            for question_id, own in by_question.items():
                if question_id in questions:
                    direction.add_question(questions[question_id], own, audit)
        hits = list(_ceiling_hits(audit, episode))
        self._ceiling.add(sum(hits), len(hits))

    def lines(self) -> Iterator[RecoveryLine]:
        """One line per direction that was asked."""
        for name, direction in self._directions.items():
            if direction.recovered.items:
                yield RecoveryLine(
                    direction=name,
                    items=direction.recovered.items,
                    recovered=direction.recovered.estimate(),
                    cannot_tell=round(direction.cannot_tell / direction.recovered.items, 4),
                    worst=tuple(item for _, item in direction.worst),
                )

    def ceiling(self) -> Estimate | None:
        """What an assistant that knows every state scores."""
        return self._ceiling.estimate() if self._ceiling.items else None


def _ceiling_hits(audit: UserAudit, episode: Episode) -> Iterator[bool]:
    """Each pair counts once for every judge who was given the pair's state; a judge who cannot tell has missed it.

    Options for states that never occur are left out, since no period asks for them.
    """
    hits: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for one in audit.judgements:
        if one.probe == "answer_from_state" and one.sample == 0:
            hits[one.question_id, one.expected].append(one.chosen == one.expected)
    for question in episode.questions:
        for golden, periods in Counter(question.golden).items():
            yield from hits.get((question.question_id, golden), []) * periods


def _first_missed(probe: Probe, question: EpisodeQuestion, audit: UserAudit) -> str:
    """The first option that was meant and not recovered."""
    texts = {choice.choice_id: choice.answer for choice in question.answer_choices}
    for one in audit.judgements:
        if (one.probe, one.question_id) == (probe, question.question_id) and one.chosen != one.expected:
            return texts.get(one.expected, one.expected)
    return ""
