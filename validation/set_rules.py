"""Truths about all users of a stage together that more than one stage shares."""

from collections import Counter
from collections.abc import Iterator

from assets.records.base import UserRecord
from validation.rules import Violation


class OneRowPerUser:
    """No user is there twice."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._more: Counter[str] = Counter()

    def add(self, record: UserRecord) -> None:
        """Look at one user."""
        if record.user_id in self._seen:
            self._more[record.user_id] += 1
        self._seen.add(record.user_id)

    def violations(self) -> Iterator[Violation]:
        """One for each user who is there more than once."""
        yield from (Violation(user_id, f"has {more + 1} rows") for user_id, more in self._more.items())
