"""Counts in sentences."""

import pytest

from assets.reporting.plurals import counted, is_or_are


@pytest.mark.parametrize(
    ("count", "noun", "told"),
    [
        (1, "user", "1 user is"),
        (0, "user", "0 users are"),
        (1200, "user", "1,200 users are"),
        (1, "reply", "1 reply is"),
        (2, "reply", "2 replies are"),
        (2, "query", "2 queries are"),
        (2, "day", "2 days are"),
        (2, "batch", "2 batches are"),
        (2, "question set", "2 question sets are"),
    ],
)
def test_one_of_something_is_not_told_as_many(count: int, noun: str, told: str) -> None:
    assert f"{counted(count, noun)} {is_or_are(count)}" == told
