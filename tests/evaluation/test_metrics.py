"""Metrics recomputed by hand on a small table, and laws that hold for any."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.text.words import count_tokens
from pipelines.evaluation.metrics.metrics import TABLE as ENTRIES
from pipelines.evaluation.metrics.metrics import tally_answers
from pipelines.evaluation.metrics.operations import operations_of
from pipelines.evaluation.metrics.results import Results, score, tally_users
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.plan import manifest_of
from pipelines.evaluation.records import FAILURES, AnswerRow, AskKind, Failure, Stage, Status
from pipelines.evaluation.report.numbers import format_number
from pipelines.evaluation.spending import StepUsage
from tests.evaluation.scripted_evaluation import FULL, MODELS, tasks

USERS = ("ada", "ben")
METRICS = {entry.name: entry.metric for entry in ENTRIES}
BY_PERIOD = {entry.name: entry.period_metric for entry in ENTRIES if entry.by_period}


def row(
    user: str,
    period: int,
    status: Status,
    *,
    kind: AskKind = "question",
    item: str = "q1",
    failure: Failure = "",
    stage: Stage = "",
) -> AnswerRow:
    """One answer among four options; the right one stood first."""
    return AnswerRow(
        user_id=user,
        period=period,
        kind=kind,
        item=item,
        expected=f"c{period}",
        given="",
        status=status,
        reason="",
        reply="",
        tries=1,
        options=4,
        shown=1,
        required=2,
        age=period,
        failure=failure,
        stage=stage,
    )


# Period 0: 3 of 4 right, bound 4 of 4. Period 1: 1 of 3 right and one unscored, bound 3 of 4.
TABLE = [
    *(row("ada", 0, "right", item=item) for item in ("q1", "q2")),
    row("ben", 0, "right"),
    row("ben", 0, "wrong", item="q2", failure="not_written", stage="write"),
    row("ada", 1, "right"),
    row("ada", 1, "wrong", item="q2", failure="misread", stage="read"),
    row("ben", 1, "wrong", failure="not_used", stage="utilization"),
    row("ben", 1, "unscored", item="q2"),
    *(row(user, period, "right", kind="state", item="diet") for user in USERS for period in (0, 1)),
    *(row(user, 0, "right", kind="upper_bound", item=item) for user in USERS for item in ("q1", "q2")),
    *(row(user, 1, "right", kind="upper_bound") for user in USERS),
    row("ada", 1, "right", kind="upper_bound", item="q2"),
    row("ben", 1, "wrong", kind="upper_bound", item="q2"),
]


def value(name: str, rows: list[AnswerRow]) -> float:
    return float(METRICS[name](tally_answers(rows, users=USERS, periods=2).total()))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("overall", 4 / 8),
        ("unscored", 1 / 8),
        ("random", 1 / 4),
        ("upper_bound", 7 / 8),
        ("memory", ((3 / 4 - 1 / 4) / (1 - 1 / 4) + (1 / 4 - 1 / 4) / (3 / 4 - 1 / 4)) / 2),
        ("not_written", 1 / 8),
        ("not_recalled", 0),
        ("misread", 1 / 8),
        ("not_used", 1 / 8),
        ("write_failure", 1 / 8),
        ("read_failure", 1 / 8),
        ("utilization_failure", 1 / 8),
    ],
)
def test_each_metric_is_what_it_is_by_hand(name: str, expected: float) -> None:
    assert value(name, TABLE) == pytest.approx(expected)


@pytest.mark.parametrize("losses", [FAILURES, ("write_failure", "read_failure", "utilization_failure")])
def test_failures_unscored_answers_and_successes_share_out_all_questions(losses: Sequence[str]) -> None:
    lost = sum(value(name, TABLE) for name in (*losses, "undiagnosed", "unscored"))

    assert value("overall", TABLE) + lost == pytest.approx(1)


def test_where_no_state_was_probed_failures_are_unknown() -> None:
    results = results_of([row for row in TABLE if row.kind != "state"])

    for name in (*FAILURES, "undiagnosed", "write_failure", "read_failure", "utilization_failure"):
        assert results.metrics[name].value is None
    assert [estimate.value for estimate in results.periods["not_written"]] == [None, None]
    assert results.metrics["overall"].value == 0.5


def test_instructions_are_the_lines_of_all_that_came_back_whoever_the_user_is() -> None:
    recalled = {user: ("Take the last value.", f"{user} has moved.") for user in USERS}
    rows = [row(user, 0, "right").model_copy(update={"memories": recalled[user]}) for user in USERS]

    assert operations_of(rows, StepUsage(), dialogues=True).instructions == count_tokens("Take the last value.")
    assert operations_of(rows[:1], StepUsage(), dialogues=True).instructions is None


def test_memory_does_not_exist_in_a_period_whose_upper_bound_is_chance() -> None:
    rows = [row("ada", 0, "right"), row("ada", 1, "right"), row("ada", 0, "right", kind="upper_bound")]
    rows += [row("ada", 1, "wrong", kind="upper_bound", item=f"q{number}") for number in range(3)]
    rows += [row("ada", 1, "right", kind="upper_bound", item="q4")]
    by_period = BY_PERIOD["memory"](tally_answers(rows, users=USERS, periods=2).total())

    assert by_period[0] == 1
    assert np.isnan(by_period[1])
    assert value("memory", rows) == 1


def test_periods_are_those_of_the_users_who_are_counted() -> None:
    longer = [*TABLE, row("ben", 7, "right")]

    assert tally_users(longer, users=("ada",)).counts["question.asked"].shape == (1, 2)
    assert tally_users(longer, users=USERS).counts["question.asked"].shape == (2, 8)


statuses = st.lists(st.sampled_from(["right", "wrong", "unscored"]), min_size=8, max_size=8)


@settings(max_examples=40, deadline=None)
@given(statuses, st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_of_users_matters(found: list[Status], chance: random.Random) -> None:
    places = [(user, period, item) for user in USERS for period in (0, 1) for item in ("q1", "q2")]
    rows = [row(user, period, status, item=item) for (user, period, item), status in zip(places, found, strict=True)]
    shuffled = chance.sample(rows, len(rows))
    for name in ("overall", "random", "memory"):
        one = METRICS[name]
        first = one(tally_answers(rows, users=USERS, periods=2).total())
        again = one(tally_answers(shuffled, users=USERS[::-1], periods=2).total())
        assert np.array_equal(first, again, equal_nan=True)


def results_of(rows: list[AnswerRow]) -> Results:
    manifest = manifest_of(tasks(), FULL, EvaluationOptions(), models=MODELS).model_copy(update={"users": USERS})
    return score(manifest, rows, [], usage=StepUsage())


def test_no_period_has_a_memory_score_where_there_is_none_over_all() -> None:
    bound = [row("ada", 0, "right", kind="upper_bound"), *[row("ada", 1, "wrong", kind="upper_bound")] * 4]
    results = results_of([*(row(user, period, "right") for user in USERS for period in (0, 1)), *bound])
    assert "the upper bound (0.200) is too near to chance" in results.no_memory_score
    assert [one.value for one in results.periods["memory"]] == [None, None]


def test_halves_are_rounded_away_from_nothing_as_in_a_browser() -> None:
    assert [format_number(value) for value in (0.3125, 0.0625, -0.3125, 0.6875, 1.0, 12.0)] == [
        ".313",
        ".063",
        "-.313",
        ".688",
        "1.000",
        "12.000",
    ]
