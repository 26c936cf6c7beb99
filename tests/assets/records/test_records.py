"""Records are frozen and known by their content; a wrong schema, question, option or session cannot be built."""

from datetime import date

import pytest
from pydantic import ValidationError

from assets.amemgym.records.question import AnswerChoice, Question, QuestionAnswers, QuestionSet, RequiredInfo
from assets.amemgym.records.state import PeriodSessions, SchemaQuestion, Session, StateSchema, StateUpdate, StateVariable
from tests.assets.records.defects import Defect
from tests.support import scenario
from tests.support.scenario import DIET, varied


def test_records_are_frozen_and_refuse_unknown_fields() -> None:
    update = StateUpdate(variable="a", old="x", new="y")
    with pytest.raises(ValidationError, match="frozen"):
        update.new = "z"
    with pytest.raises(ValidationError, match="Extra inputs"):
        StateUpdate.model_validate({**update.model_dump(), "why": "so"})


def test_equal_records_have_equal_digests_and_others_do_not() -> None:
    assert scenario.episode().sha256() == scenario.episode().sha256() != scenario.episode(start_date=date(2020, 10, 2)).sha256()


# StateSchema and QuestionSet


def schema_with(*variables: str, required: tuple[str, ...] = ("a",)) -> StateSchema:
    made = tuple(StateVariable(name=name, choices=("x", "y"), merged_from=(name,)) for name in variables)
    return StateSchema(
        user_id="u", variables=made, questions=(SchemaQuestion(question_id="q1", text="?", required_info=required),)
    )


def info(name: str, *choices: str) -> RequiredInfo:
    return RequiredInfo(info_type=name, info_choices=choices)


def asked(text: str, *infos: RequiredInfo) -> Question:
    return Question(question_id="q", text=text, required_info=infos)


def variable(*choices: str) -> StateVariable:
    return StateVariable(name="a", choices=choices, merged_from=("a",))


WORD_DEFECTS: dict[str, tuple[Defect, str]] = {
    "variable named twice": (lambda: schema_with("a", "a"), r"names \['a'\] twice"),
    "question without variable": (lambda: schema_with("a", required=("a", "b")), r"unknown variables \['b'\]"),
    "equal choices": (lambda: variable("x", "x"), "two or more different choices"),
    "a single choice": (lambda: variable("x"), "two or more different choices"),
    "choices differ in case only": (lambda: info("a", "Vegan", "vegan"), "read the same"),
    "types of one question read the same": (lambda: asked("?", info("a", "x", "y"), info("a", "v", "w")), "'a'.* twice"),
    "questions differ in case and space only": (
        lambda: QuestionSet(user_id="u", questions=(asked("What now?"), asked("what  NOW?"))),
        "occur twice",
    ),
}


@pytest.mark.parametrize(("build", "told"), WORD_DEFECTS.values(), ids=WORD_DEFECTS)
def test_ambiguous_variables_and_questions_cannot_be_built(build: Defect, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        build()


# QuestionAnswers and PeriodSessions


def option(choice_id: str, value: str, answer: str) -> AnswerChoice:
    return AnswerChoice(choice_id=choice_id, state=(value,), answer=answer, type="experience")


def options(*choices: AnswerChoice, golden: tuple[str, ...] = ("c1",)) -> QuestionAnswers:
    return QuestionAnswers(question_id="q1", choices=choices, golden=golden)


FIRST = option("c1", "x", "Run.")
ANSWER_DEFECTS: dict[str, tuple[Defect, str]] = {
    "equal ids": (lambda: options(FIRST, option("c1", "y", "Rest.")), r"equal choice ids: \['c1'\]"),
    "equal variants": (lambda: options(FIRST, option("c2", "x", "Rest.")), "equal variants"),
    "answers differ in case and space only": (lambda: options(FIRST, option("c2", "y", " RUN. ")), "equal answers"),
    "golden choice does not exist": (lambda: options(FIRST, golden=("c1", "c9")), r"do not exist: \['c9'\]"),
}


@pytest.mark.parametrize(("build", "told"), ANSWER_DEFECTS.values(), ids=ANSWER_DEFECTS)
def test_options_that_cannot_be_told_apart_cannot_be_built(build: Defect, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        build()


def sessions(second: Session) -> PeriodSessions:
    return PeriodSessions(index=1, sessions=(scenario.sessions()[1][0], second))


def test_sessions_stand_in_strictly_increasing_order_of_time() -> None:
    first, last = scenario.sessions()[1][0], scenario.sessions()[2][0]
    assert sessions(last).sessions == (first, last)
    with pytest.raises(ValidationError, match="sessions of period 1 are not in strictly increasing order"):
        sessions(varied(last, session_time=first.session_time))


def test_a_value_is_exposed_in_one_session_only() -> None:
    with pytest.raises(ValidationError, match=r"Period 1 exposes \['diet'\] in more than one session"):
        sessions(varied(scenario.sessions()[2][0], exposed_states={DIET: "vegetarian"}))


def test_a_session_exposes_something_unless_it_is_noise_and_mentions_what_its_kind_says() -> None:
    session = scenario.sessions()[1][0]
    with pytest.raises(ValidationError, match="A session of the kind 'tells' does not expose"):
        varied(session, exposed_states={})
    with pytest.raises(ValidationError, match="A session of the kind 'of_another' does not mention"):
        varied(session, exposed_states={}, kind="of_another")
    assert varied(session, exposed_states={}, kind="unrelated").is_noise
