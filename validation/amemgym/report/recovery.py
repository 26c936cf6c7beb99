"""Count how often the judges of the audit recovered what was meant, and what an assistant with perfect memory scores."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from assets.amemgym.records.audit import DIRECTIONS, Judgement, Probe, Recovery, UserAudit
from assets.amemgym.records.episode import Episode, EpisodeQuestion
from assets.amemgym.records.report import CeilingSample, RecoveryLine, WorstItem
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import Failure, GateRecord
from assets.records.estimate import Estimate
from assets.records.public_names import shared_model
from assets.reporting.statistic import UserShare

WORST_ITEMS = 5  # to look at, by direction


@dataclass
class DirectionCounter:
    """Count readings in one direction that recovered what was meant, and keep the questions that were recovered least."""

    recovered: UserShare = field(default_factory=UserShare)
    cannot_tell: int = 0
    worst: list[tuple[float, WorstItem]] = field(default_factory=list[tuple[float, WorstItem]])

    def add(self, readings: Sequence[Judgement]) -> None:
        self.recovered.add(_count_recovered(readings), len(readings))
        for reading in readings:
            self.cannot_tell += reading.chosen is None

    def add_question(self, question: EpisodeQuestion, readings: Sequence[Judgement], audit: UserAudit) -> None:
        """Keep the question if it is among the worst; the earlier one of two equals stays."""
        share = _count_recovered(readings) / len(readings)
        if share == 1 or (len(self.worst) == WORST_ITEMS and share >= self.worst[-1][0]):
            return
        item = WorstItem(
            user_id=audit.user_id,
            question_id=question.question_id,
            query=question.query,
            text=_first_missed(readings[0].probe, question, audit),
            share=round(share, 4),
        )
        self.worst = sorted([*self.worst, (share, item)], key=lambda entry: entry[0])[:WORST_ITEMS]


class RecoveryCounter:
    """Count user by user. The ceiling is over questions at the ends of periods, drawn at random."""

    def __init__(self) -> None:
        self._directions: dict[Recovery, DirectionCounter] = {direction: DirectionCounter() for direction in DIRECTIONS}
        self._released = UserShare()
        self._readings = 0

    def add(self, audit: UserAudit, episode: Episode) -> None:
        questions = {question.question_id: question for question in episode.questions}
        first: defaultdict[str, list[Judgement]] = defaultdict(list)
        # Of two periods with the same right option one reading counts for both.
        readings: set[tuple[str, str, int]] = set()
        for judgement in audit.judgements:
            if judgement.sample == 0:
                first[judgement.probe].append(judgement)
            if judgement.probe == "answer_from_state":
                readings.add((judgement.question_id, judgement.expected, judgement.sample))
        self._readings += len(readings)
        self._released.add(_count_recovered(first["answer_from_state"]), len(first["answer_from_state"]))
        for name, direction in self._directions.items():
            direction.add(first[name])
            by_question: defaultdict[str, list[Judgement]] = defaultdict(list)
            for judgement in first[name]:
                by_question[judgement.question_id].append(judgement)
            for question_id, own in by_question.items():
                if question_id in questions:
                    direction.add_question(questions[question_id], own, audit)

    def lines(self) -> Iterator[RecoveryLine]:
        """Yield a line per direction that was asked."""
        for name, direction in self._directions.items():
            if direction.recovered.items:
                yield RecoveryLine(
                    direction=name,
                    items=direction.recovered.items,
                    recovered=direction.recovered.estimate(),
                    cannot_tell=round(direction.cannot_tell / direction.recovered.items, 4),
                    worst=tuple([item for _, item in direction.worst]),
                )

    def ceiling(self, failures: Iterable[Failure]) -> Estimate | None:
        """Return the score of an assistant that knows every state. Users whom the audit lost count: they were drawn, too."""
        drawn = self._share_of_user(failures)
        return drawn.estimate() if drawn.items else None

    def ceiling_sample(self, recipe: AMemGymRecipe, failures: Iterable[Failure]) -> CeilingSample | None:
        """Return the sample that the ceiling is over; None when nothing was drawn."""
        lost = list(failures)
        drawn = self._share_of_user(lost)
        if not drawn.items:
            return None
        panel = recipe.models.judge.panel
        models = (recipe.audit.model,) if recipe.audit.model else panel
        by = "judge" if set(models) & set(panel) else "other"
        readings = self._readings
        for failure in lost:
            readings += len(set(map(_what_was_read, _choices(failure))))
        return CeilingSample(
            released=self._released.estimate(),
            questions=drawn.items,
            readings=readings,
            users=drawn.users,
            by="author" if recipe.models.writer.model in models else by,
            models=tuple(map(shared_model, models)),
        )

    def _share_of_user(self, failures: Iterable[Failure]) -> UserShare:
        # A copy, so that it can be asked for twice.
        drawn = replace(self._released)
        for failure in failures:
            recovered = 0
            first_readings = 0
            for vote in _choices(failure):
                if vote.vote == 0:
                    first_readings += 1
                    recovered += vote.accepted
            drawn.add(recovered, first_readings)
        return drawn


def _choices(failure: Failure) -> Iterator[GateRecord]:
    """Yield the readings of a user whom the audit lost."""
    for vote in failure.gate_records:
        if vote.gate == "answer_from_state":
            yield vote


def _count_recovered(readings: Sequence[Judgement]) -> int:
    return len([reading for reading in readings if reading.chosen == reading.expected])


def _what_was_read(vote: GateRecord) -> tuple[str, frozenset[tuple[str, str]], int]:
    """Return question, right option and sample, the same for two periods with the same right option."""
    return vote.item_id.partition("-")[0], frozenset(vote.target.items()), vote.vote


def _first_missed(probe: Probe, question: EpisodeQuestion, audit: UserAudit) -> str:
    """Return the first option that was meant and not recovered."""
    texts = {choice.choice_id: choice.answer for choice in question.answer_choices}
    for judgement in audit.judgements:
        if (judgement.probe, judgement.question_id) == (probe, question.question_id) and judgement.chosen != judgement.expected:
            return texts.get(judgement.expected, judgement.expected)
    return ""
