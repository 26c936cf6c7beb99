"""Truths about all users of a stage together that more than one stage shares."""

from collections import Counter
from collections.abc import Iterator, Sequence

from assets.records.base import UserRecord
from assets.records.recipe import Recipe
from validation.rules import Violation


def one_row_per_user(records: Sequence[UserRecord], _: Recipe) -> Iterator[Violation]:
    """No user is there twice."""
    counts = Counter(record.user_id for record in records)
    yield from (Violation(user_id, f"has {count} rows") for user_id, count in counts.items() if count > 1)
