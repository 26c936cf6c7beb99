"""A wrong answer is a write, read or utilization failure by the state probes, as section 3.3 defines it."""

import pytest

from pipelines.evaluation.amemgym.diagnosis import diagnose
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
        probe="q01" if kind == "state" else "",
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
        (("unscored", "right"), ("right", "right"), "undiagnosed"),
        (("wrong", "right"), ("unscored", "right"), "undiagnosed"),
        # One variable that was never written decides, whatever could not be read of the other.
        (("wrong", "unscored"), ("wrong", "right"), "write"),
        (("unscored", "wrong"), ("unscored", "wrong"), "write"),
        (("wrong", "unscored"), ("right", "right"), "undiagnosed"),
    ],
)
def test_the_probes_decide_what_failed(now: tuple[Status, Status], then: tuple[Status, Status], expected: Failure) -> None:
    assert failure(dict(zip((DIET, GOAL), now, strict=True)), dict(zip((DIET, GOAL), then, strict=True))) == expected


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
