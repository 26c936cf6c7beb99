"""A wrong answer has the paper's stage, by its state probes (section 3.3), and a failure, by what was recalled as well."""

import pytest

from pipelines.evaluation.amemgym.diagnosis import diagnose
from pipelines.evaluation.amemgym.interview import last_update_period, tellings
from pipelines.evaluation.records import AnswerRow, AskKind, Failure, Stage, Status
from tests.evaluation.scripted_evaluation import episode
from tests.support.scenario import DIET, EVENINGS, GOAL

EPISODE = episode()


def answer(
    item: str,
    status: Status,
    *,
    kind: AskKind = "state",
    period: int = 2,
    question: str = "q01",
    recalled: tuple[str, ...] = (),
) -> AnswerRow:
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
        probe=question if kind == "state" else "",
        memories=recalled,
    )


def stage(now: dict[str, Status], then: dict[str, Status]) -> Stage:
    """The stage that lost q01 (diet and goal, both told in period 1) at the end of period 2."""
    rows = [
        answer("q01", "wrong", kind="question"),
        *(answer(name, status) for name, status in now.items()),
        *(answer(name, status, period=1) for name, status in then.items()),
    ]
    return diagnose(EPISODE, rows)[0].stage


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
def test_the_probes_decide_the_stage(now: tuple[Status, Status], then: tuple[Status, Status], expected: Stage) -> None:
    assert stage(dict(zip((DIET, GOAL), now, strict=True)), dict(zip((DIET, GOAL), then, strict=True))) == expected


def test_right_and_unscored_answers_have_no_failure() -> None:
    for status in ("right", "unscored"):
        rows = [answer("q01", status, kind="question"), answer(DIET, "wrong"), answer(GOAL, "wrong")]
        found = diagnose(EPISODE, rows)[0]
        assert (found.failure, found.stage) == ("", "")


def test_a_probe_goes_with_the_question_that_it_was_asked_for() -> None:
    rows = [answer("q01", "wrong", kind="question"), answer(DIET, "right"), answer(GOAL, "right")]
    rows += [answer(name, "wrong", question="q02") for name in (DIET, GOAL)]
    rows += [answer(name, "wrong", period=1) for name in (DIET, GOAL)]
    found = diagnose(EPISODE, rows)[0]

    assert (found.stage, found.failure) == ("utilization", "not_recalled")


OLD_DIET, NEW_DIET = (f"user: {telling.event.text}" for telling in tellings(EPISODE, DIET, period=2))
EVENING = tellings(EPISODE, EVENINGS, period=2)[-1].event.text
NOTHING, BOTH = (), (OLD_DIET, NEW_DIET, EVENING)
Texts = tuple[str, ...]


def of_diet(
    recalled: Texts, now: Status, then: Status, *, probed: Texts = NOTHING, earlier: Texts = NOTHING, rewritten: int = 0
) -> AnswerRow:
    """The wrong answer to q02, whose evenings were told now and came back, and whose diet was told in period 1.

    `probed`: what came back for the probe; `earlier`: for the question in period 1.
    """
    found = answer("q02", "wrong", kind="question", recalled=(*recalled, EVENING)).model_copy(update={"rewritten": rewritten})
    rows = [
        found,
        answer("q02", "wrong", kind="question", period=1, recalled=earlier),
        answer(EVENINGS, "right", question="q02"),
    ]
    rows += [answer(DIET, now, question="q02", recalled=probed), answer(DIET, then, question="q02", period=1)]
    return diagnose(EPISODE, rows)[0]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (of_diet((NEW_DIET,), "right", "right"), "not_used"),
        (of_diet((NEW_DIET,), "wrong", "wrong"), "misread"),
        (of_diet((NEW_DIET,), "wrong", "right"), "misread"),
        (of_diet((OLD_DIET,), "wrong", "wrong"), "not_written"),
        (of_diet(NOTHING, "wrong", "right"), "not_recalled"),
        # That it was written shows in what came back elsewhere: when it was told, or for the probe.
        (of_diet(NOTHING, "wrong", "wrong", earlier=(NEW_DIET,)), "not_recalled"),
        (of_diet(NOTHING, "wrong", "wrong", probed=(NEW_DIET,)), "not_recalled"),
        (of_diet(NOTHING, "right", "right", probed=(NEW_DIET,)), "not_recalled"),
        # Known by luck or from other words: only words of the memory's own can have told the question's reader.
        (of_diet(NOTHING, "right", "wrong"), "not_recalled"),
        (of_diet(("She eats no meat.",), "right", "wrong", probed=(NEW_DIET,), rewritten=1), "not_used"),
    ],
)
def test_what_came_back_decides_the_failure(found: AnswerRow, expected: Failure) -> None:
    assert found.failure == expected


def test_the_value_that_the_chosen_option_has_wrong_decides_the_failure() -> None:
    """The diet was never known. An option with the right diet and other evenings lost the evenings, which came back."""
    [question] = [question for question in EPISODE.questions if question.question_id == "q02"]
    state = EPISODE.periods[2].state
    place = question.required_info.index(DIET)
    options = [option for option in question.answer_choices if option.choice_id != question.golden[2]]
    [chosen] = [option.choice_id for option in options if option.state[place] == state[DIET]]
    failures = list[str]()
    for given in (chosen, ""):
        asked = answer("q02", "wrong", kind="question", recalled=(EVENING,))
        rows = [
            asked.model_copy(update={"given": given, "expected": question.golden[2]}),
            answer(EVENINGS, "right", question="q02"),
            *(answer(DIET, "wrong", question="q02", period=period) for period in (1, 2)),
        ]
        failures.append(diagnose(EPISODE, rows)[0].failure)
    assert failures == ["not_used", "not_written"]


@pytest.mark.parametrize("recalled", [(NEW_DIET, OLD_DIET), (OLD_DIET, NEW_DIET)])
def test_a_misread_value_has_the_hint_that_an_older_one_stood_below_it(recalled: Texts) -> None:
    found = of_diet(recalled, "wrong", "wrong")
    assert (found.failure, found.against_time) == ("misread", recalled[1] == OLD_DIET)


def test_of_a_whole_agent_the_probes_alone_decide() -> None:
    rows = [answer("q01", "wrong", kind="question"), answer(DIET, "right", recalled=BOTH), answer(GOAL, "right")]
    assert diagnose(EPISODE, rows, sees_recall=False)[0].failure == "not_used"


def test_what_was_not_probed_is_unknown() -> None:
    [found] = diagnose(EPISODE, [answer("q01", "wrong", kind="question")])
    assert (found.stage, found.failure) == ("undiagnosed", "undiagnosed")
