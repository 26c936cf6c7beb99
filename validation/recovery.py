"""What the audits say of the finished items: how often judges recovered them, and what perfect memory would score."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from assets.audit_rates import DIRECTIONS, Recovery, RecoveryRate, recovery_rates, share_by_user
from assets.audit_rates import Outcome as Hit
from assets.records.audit import UserAudit
from assets.records.episode import Episode, EpisodeQuestion
from assets.records.estimate import Estimate
from assets.records.report import RecoveryLine, WorstItem

WORST_ITEMS = 5


def recovery_lines(audits: Sequence[UserAudit], episodes: Sequence[Episode]) -> Iterator[RecoveryLine]:
    """One line per direction that was asked, with the questions that were recovered least."""
    rates = recovery_rates(audits)
    for direction in DIRECTIONS:
        own = [rate for rate in rates if rate.probe == direction]
        for whole in (rate for rate in own if not rate.user_id):
            yield RecoveryLine(
                direction=direction,
                items=whole.items,
                recovered=whole.share,
                cannot_tell=round(whole.cannot_tell / max(1, whole.items), 4),
                worst=tuple(_worst([rate for rate in own if rate.user_id], audits, episodes)),
            )


def _worst(rates: Sequence[RecoveryRate], audits: Sequence[UserAudit], episodes: Sequence[Episode]) -> Iterator[WorstItem]:
    questions = {(episode.user_id, one.question_id): one for episode in episodes for one in episode.questions}
    missed = [rate for rate in rates if rate.recovered < rate.items and (rate.user_id, rate.question_id) in questions]
    for rate in sorted(missed, key=lambda rate: rate.recovered / rate.items)[:WORST_ITEMS]:
        question = questions[rate.user_id, rate.question_id]
        yield WorstItem(
            user_id=rate.user_id,
            question_id=rate.question_id,
            query=question.query,
            text=_first_missed(rate.probe, question, audits, user_id=rate.user_id),
            share=round(rate.recovered / rate.items, 4),
        )


def _first_missed(probe: Recovery, question: EpisodeQuestion, audits: Sequence[UserAudit], *, user_id: str) -> str:
    """The first option that was meant and not recovered."""
    texts = {choice.choice_id: choice.answer for choice in question.answer_choices}
    for audit in audits:
        for one in audit.judgements if audit.user_id == user_id else ():
            if (one.probe, one.question_id) == (probe, question.question_id) and one.chosen != one.expected:
                return texts.get(one.expected, one.expected)
    return ""


def ceiling(audits: Sequence[UserAudit], episodes: Sequence[Episode]) -> Estimate | None:
    """What an assistant that knows every state scores over all (question, period) pairs that were audited.

    Each pair counts once for every judge who was told the pair's state; who cannot tell has missed it. Options that the
    user never lives through are left out, since no period asks for them.
    """
    told: Mapping[tuple[str, str, str], list[bool]] = defaultdict(list)
    for audit in audits:
        for one in audit.judgements:
            if one.probe == "answer_from_state" and one.sample == 0:
                told[audit.user_id, one.question_id, one.expected].append(one.chosen == one.expected)
    hits = [
        Hit(episode.user_id, right)
        for episode in episodes
        for question in episode.questions
        for golden in question.golden
        for right in told.get((episode.user_id, question.question_id, golden), ())
    ]
    return share_by_user(hits) if hits else None
