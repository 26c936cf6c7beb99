"""The tables that any benchmark's release may have: the votes of the gates, and the items that were replaced."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from assets.recipe.public_names import shared_model
from assets.records.base import Failure, FailureReason, GateRecord, Record
from assets.records.columnar import Columns, columns_of


class GateVoteRow(Record):
    """One vote on one draft, numbered per item from 0; `released` is false for an item that was replaced."""

    user_id: str
    number: int
    released: bool
    gate: str
    item_id: str
    draft: int
    refinement: int
    vote: int
    judge: str
    text: str
    target: dict[str, str]
    reading: dict[str, str]
    accepted: bool


class FailureRow(Record):
    """An item that was replaced; `position` counts from 0 in the sample."""

    user_id: str
    position: int
    stage: str
    reason: FailureReason
    message: str
    last_reply: str


def gate_record_columns(
    votes: Iterable[tuple[str, Sequence[GateRecord]]], failures: Sequence[Failure], *, released: Collection[str]
) -> Iterator[Columns]:
    """The votes as rows, by column because they are most of all rows: those of finished users first.

    `votes` are pairs of user id and votes; a user may come again.
    """
    numbers: Counter[str] = Counter()
    for user_id, seen in chain(votes, ((failure.item_id, failure.gate_records) for failure in failures)):
        first, count = numbers[user_id], len(seen)
        numbers[user_id] += count
        yield {
            "user_id": [user_id] * count,
            "number": range(first, first + count),
            "released": [user_id in released] * count,
            **columns_of(seen, record_type=GateRecord),
            "judge": [shared_model(vote.judge) for vote in seen],
        }


def failure_row(failure: Failure) -> FailureRow:
    """One replaced user as a row; the votes on the way are rows of `gate_records`."""
    return FailureRow(user_id=failure.item_id, **failure.model_dump(exclude={"item_id", "gate_records"}))
