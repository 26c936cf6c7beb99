"""A wrong answer is a write, read or utilization failure by the state probes, as section 3.3 defines it."""

import random
from collections.abc import Callable
from statistics import fmean

import pytest

from pipelines.evaluation.amemgym.diagnosis import StateProbes, diagnose, shares_of
from pipelines.evaluation.amemgym.interview import last_update_period
from pipelines.evaluation.records import AnswerRow, AskKind, Failure, Status
from tests.evaluation.scripted_evaluation import episode
from tests.support.scenario import DIET, EVENINGS, GOAL

EPISODE = episode()


def answer(item: str, status: Status, *, kind: AskKind = "state", period: int = 2) -> AnswerRow:
    """A row of which only these fields matter."""
    return AnswerRow(
        user_id="ada",
        period=period,
        kind=kind,
        item=item,
        expected="",
        given="",
        status=status,
        reason="",
        reply="",
        tries=1,
        options=3,
        shown=1,
        required=2,
        age=0,
    )


def failure(now: dict[str, Status], then: dict[str, Status]) -> Failure:
    """The failure of q01 (diet and goal, both told in period 1) at the end of period 2."""
    rows = [
        answer("q01", "wrong", kind="question"),
        *(answer(name, status) for name, status in now.items()),
        *(answer(name, status, period=1) for name, status in then.items()),
    ]
    return diagnose(EPISODE, rows)[0].failure


def test_values_are_last_written_where_the_user_told_them() -> None:
    written = {name: [last_update_period(EPISODE, name, period=period) for period in range(3)] for name in (DIET, EVENINGS)}

    assert written == {DIET: [0, 1, 1], EVENINGS: [0, 0, 2]}


@pytest.mark.parametrize(
    ("now", "then", "expected"),
    [
        (("right", "right"), ("wrong", "wrong"), "utilization"),
        (("wrong", "right"), ("right", "wrong"), "read"),
        (("wrong", "right"), ("wrong", "right"), "write"),
        (("wrong", "wrong"), ("right", "wrong"), "write"),
        (("unknown", "right"), ("right", "right"), "read"),
        (("unscored", "right"), ("right", "right"), "undiagnosed"),
        (("wrong", "right"), ("unscored", "right"), "undiagnosed"),
        # One variable that was never written decides, whatever could not be read of the other.
        (("wrong", "unscored"), ("wrong", "right"), "write"),
        (("unscored", "unknown"), ("unscored", "unknown"), "write"),
        (("wrong", "unscored"), ("right", "right"), "undiagnosed"),
    ],
)
def test_the_probes_decide_what_failed(now: tuple[Status, Status], then: tuple[Status, Status], expected: Failure) -> None:
    assert failure(dict(zip((DIET, GOAL), now, strict=True)), dict(zip((DIET, GOAL), then, strict=True))) == expected


@pytest.mark.parametrize(
    ("now", "then", "expected"),
    [
        # Both known: all of it is utilization, whatever the earlier probes say.
        (("right", "right"), ("wrong", "wrong"), (0, 0, 1)),
        # Diet not known now, known then: a guess among three is right in one of three cases.
        (("wrong", "right"), ("right", "right"), (0, 1.5, -0.5)),
        (("wrong", "right"), ("wrong", "right"), (2.25, -0.75, -0.5)),
    ],
)
def test_shares_take_luck_out_of_the_probes_and_add_up_to_one(
    now: tuple[Status, Status], then: tuple[Status, Status], expected: tuple[float, float, float]
) -> None:
    rows = [answer("q01", "wrong", kind="question")]
    rows += [answer(name, status) for name, status in zip((DIET, GOAL), now, strict=True)]
    rows += [answer(name, status, period=1) for name, status in zip((DIET, GOAL), then, strict=True)]
    found = diagnose(EPISODE, rows)[0]

    assert (found.write_share, found.read_share, found.utilization_share) == pytest.approx(expected)
    assert sum(expected) == 1


def test_where_a_probe_is_unscored_the_failure_has_no_shares() -> None:
    rows = [answer("q01", "wrong", kind="question"), answer(DIET, "wrong"), answer(GOAL, "unscored")]
    rows += [answer(DIET, "wrong", period=1), answer(GOAL, "right", period=1)]
    found = diagnose(EPISODE, rows)[0]

    assert found.failure == "write"
    assert (found.write_share, found.read_share, found.utilization_share) == (0, 0, 0)


def test_shares_of_an_assistant_that_guesses_every_probe_average_to_write_failures() -> None:
    chance = random.Random(7)
    shares = [
        shares_of(EPISODE, (DIET, GOAL), guessed(chance, knows=lambda name, period: False), question="q01", period=2)
        for _ in range(4000)
    ]

    assert fmean(one["write_share"] for one in shares) == pytest.approx(1, abs=0.06)
    assert fmean(one["utilization_share"] for one in shares) == pytest.approx(0, abs=0.06)


def test_shares_of_an_assistant_that_forgets_average_to_read_failures() -> None:
    chance = random.Random(7)
    shares = [
        shares_of(EPISODE, (DIET, GOAL), guessed(chance, knows=lambda name, period: period == 1), question="q01", period=2)
        for _ in range(4000)
    ]

    assert fmean(one["read_share"] for one in shares) == pytest.approx(1, abs=0.06)


def guessed(chance: random.Random, *, knows: Callable[[str, int], bool]) -> StateProbes:
    """Probes of an assistant that guesses among three choices what it does not know."""
    rows = [
        answer(name, "right" if knows(name, period) or chance.random() < 1 / 3 else "wrong", period=period)
        for period in (1, 2)
        for name in (DIET, GOAL)
    ]
    return StateProbes(rows, "state")


def test_right_and_unscored_answers_have_no_failure() -> None:
    for status in ("right", "unscored"):
        rows = [answer("q01", status, kind="question"), answer(DIET, "wrong"), answer(GOAL, "wrong")]
        assert diagnose(EPISODE, rows)[0].failure == ""


def test_a_probe_goes_with_the_question_that_it_was_asked_for() -> None:
    def own(item: str, status: Status, question: str) -> AnswerRow:
        return answer(item, status).model_copy(update={"probe": question})

    rows = [answer("q01", "wrong", kind="question"), own(DIET, "right", "q01"), own(GOAL, "right", "q01")]
    rows += [own(DIET, "wrong", "q02"), own(GOAL, "wrong", "q02")]
    rows += [own(name, "wrong", "q01").model_copy(update={"period": 1}) for name in (DIET, GOAL)]
    found = diagnose(EPISODE, rows)[0]

    assert (found.known, found.failure) == (True, "utilization")
