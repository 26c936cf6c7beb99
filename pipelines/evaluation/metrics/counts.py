"""Counts per user and period, from which every metric follows: so that users can be resampled at the speed of arrays."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from assets.reporting.intervals import Sums, Tallies
from pipelines.evaluation.records import Answer

SCORED = ("right", "wrong", "unknown")
STATE_KINDS = ("state", "state_or_unknown")
LOST = ("write", "read", "utilization", "undiagnosed")
MEMORY_KINDS = ("question", "upper_bound")
# All that overall, memory and failures follow from. Where runs are compared, sums of these are drawn thousands of times.
MEMORY_COUNTS = (*(f"{kind}.{what}" for kind in MEMORY_KINDS for what in ("right", "scored", "chance")), *LOST)


def tally(answers: Sequence[Answer], *, users: Sequence[str], periods: int) -> Tallies:
    """Count. Every name that a metric needs is there, with zeros where nothing was asked."""
    rows = {user: row for row, user in enumerate(users)}
    counts: Sums = {name: np.zeros((len(rows), periods)) for name in NAMES}
    for answer in answers:
        if answer.user_id in rows:
            for name, amount in _counts(answer):
                counts[name][rows[answer.user_id], answer.period] += amount
    _add_stale(counts, answers, rows)
    return Tallies(tuple(users), counts)


def _counts(answer: Answer) -> Iterator[tuple[str, float]]:
    scored = answer.status in SCORED
    yield f"{answer.kind}.asked", 1.0
    yield f"{answer.kind}.scored", float(scored)
    yield f"{answer.kind}.right", float(answer.status == "right")
    yield f"{answer.kind}.unknown", float(answer.status == "unknown")
    yield f"{answer.kind}.chance", scored / answer.options
    if answer.kind in STATE_KINDS and answer.age == 0:
        yield f"{answer.kind}.fresh_scored", float(scored)
        yield f"{answer.kind}.fresh_right", float(answer.status == "right")
        yield f"{answer.kind}.fresh_chance", scored / answer.options
    if answer.kind == "question":
        yield "question.first_option", float(answer.shown == 1)
        for suffix, failure in (("", answer.failure), ("_if_unsure", answer.failure_if_unsure)):
            if failure:
                yield f"{failure}{suffix}", 1.0
        yield from _corrected(answer)
        yield from _taken(answer)


def _corrected(answer: Answer) -> Iterator[tuple[str, float]]:
    yield "write_corrected", answer.write_share
    yield "read_corrected", answer.read_share
    yield "utilization_corrected", answer.utilization_share


def _taken(answer: Answer) -> Iterator[tuple[str, float]]:
    yield "question.input_tokens", float(answer.input_tokens)
    yield "question.output_tokens", float(answer.output_tokens)
    yield "question.nano_usd", float(answer.nano_usd or 0)
    yield "question.unpriced", float(answer.nano_usd is None)


def _add_stale(counts: Sums, answers: Iterable[Answer], rows: dict[str, int]) -> None:
    """A stale memory knows the initial state, and so chooses the option that was right then."""
    questions = [answer for answer in answers if answer.kind == "question" and answer.user_id in rows]
    initial = {(answer.user_id, answer.item): answer.expected for answer in questions if answer.period == 0}
    for answer in questions:
        still = initial.get((answer.user_id, answer.item)) == answer.expected
        counts["question.stale"][rows[answer.user_id], answer.period] += still


def _names() -> tuple[str, ...]:
    kinds = ("question", *STATE_KINDS, "upper_bound", "options_only", "no_memory")
    each = [f"{kind}.{what}" for kind in kinds for what in ("asked", "scored", "right", "unknown", "chance")]
    fresh = [f"{kind}.fresh_{what}" for kind in STATE_KINDS for what in ("scored", "right", "chance")]
    lost = [f"{name}{suffix}" for name in LOST for suffix in ("", "_if_unsure")]
    corrected = [f"{name}_corrected" for name in ("write", "read", "utilization")]
    taken = [f"question.{what}" for what in ("input_tokens", "output_tokens", "nano_usd", "unpriced")]
    return (*each, *fresh, *lost, *corrected, *taken, "question.first_option", "question.stale")


NAMES = _names()
