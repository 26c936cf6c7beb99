"""Lives of facts, the states that follow, and what readers of parts of them answer."""

from collections import Counter
from dataclasses import replace
from datetime import date

import pytest
from pydantic import ValidationError

from assets.llm.ports import ModelReply, ModelRequest
from assets.text.words import spells
from assets.user_facts.records import FactStatement, RuleCase
from assets.user_facts.sessions import READ, TELL, tell_life
from assets.user_facts.states import Dated, course_of, state_on
from assets.user_facts.users import EVERYTHING, LATEST_MENTION, NOTHING
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.user_facts import facts_recipe, made_facts, make_facts

# What a store must miss that believes whatever was mentioned last.
MISSED_BY_LATEST = ("current, as before", "current, withdrawn", "current, until", "deleted")
DAYS = [date(2031, 1, day) for day in range(1, 10)]


def said(shape: str, matter: str = "gym", **fields: object) -> FactStatement:
    return FactStatement.model_validate({"matter": matter, "label": matter, "shape": shape, **fields})


def told_in_turn(*statements: FactStatement) -> list[Dated]:
    return [Dated(day, [one]) for day, one in zip(DAYS, statements, strict=False)]


def gym_after(*statements: FactStatement) -> str | None:
    return state_on(told_in_turn(*statements), DAYS[-1]).get("gym")


def test_a_fact_is_as_its_last_correction_left_it() -> None:
    first = said("told", value="A")
    assert gym_after(first, said("replaced", value="B")) == "B"
    assert gym_after(first, said("replaced", value="B"), said("as_before")) == "A"
    assert gym_after(first, said("withdrawn")) is None
    assert gym_after(first, said("forget"), said("refed", value="A")) is None
    assert gym_after(said("refed", value="A")) == "A"  # nobody asked to forget it
    assert gym_after(said("until", value="A", until=DAYS[2])) is None
    assert gym_after(first, said("other", value="C", other="sister")) == "A"


def test_a_value_follows_through_two_rules_and_is_unknown_once_what_decides_it_is() -> None:
    to_b = said("rule", "line", other_matter="gym", cases=(RuleCase(given="A", then="L"), RuleCase(given="B", then="M")))
    to_c = said("rule", "stop", other_matter="line", cases=(RuleCase(given="M", then="S"),))
    dated = told_in_turn(to_c, to_b, said("told", value="A"), said("replaced", value="B"), said("withdrawn"))
    assert state_on(dated, DAYS[2]) == {"gym": "A", "line": "L"}
    assert state_on(dated, DAYS[3]) == {"gym": "B", "line": "M", "stop": "S"}
    assert state_on(dated, DAYS[4]) == {}


def test_a_value_that_comes_back_is_in_the_course_twice() -> None:
    dated = told_in_turn(said("told", value="A"), said("replaced", value="B"), said("as_before"))
    assert course_of(dated, "gym") == ["A", "B", "A"]


def test_lives_have_every_fate_as_often_as_the_recipe_says() -> None:
    recipe = facts_recipe()
    counts = recipe.dynamics.counts(recipe.num_facts)
    for position in range(3):
        life = made_facts(position).life
        shapes = Counter(one.shape for session in life.sessions for one in session.statements)
        assert shapes["forget"] == shapes["refed"] == counts["forgotten"]
        assert shapes["withdrawn"] == counts["withdrawn"]
        assert shapes["rule"] == counts["dependent"]
        assert shapes["told"] + shapes["until"] == recipe.num_facts - counts["dependent"]


def test_a_recipe_that_changes_every_fact_is_refused() -> None:
    with pytest.raises(ValidationError, match="1 at least has to stay"):
        facts_recipe(dynamics={"replaced": 0.8, "merged": 0})


def test_a_limit_below_what_guessing_gives_is_refused_before_anything_is_made() -> None:
    with pytest.raises(ValidationError, match=r"max_not_known is 0\.1, and a guess is right in about 0\.25 of"):
        facts_recipe(max_not_known=0.1)
    with pytest.raises(ValidationError, match=r"right in about 0\.5\d of the questions: set it higher or let fewer facts be"):
        facts_recipe(dynamics={"forgotten": 0.5, "as_before": 0, "dependent": 0, "replaced": 0.1}, num_unsaid=4)


def test_all_kinds_are_asked_and_only_a_reader_of_everything_is_always_right() -> None:
    by_reader: dict[str, dict[str, tuple[int, int]]] = {}
    for one in made_facts().user.outcomes:
        by_reader.setdefault(one.reader, {})[one.group] = (one.right, one.questions)
    kinds = {question.kind for question in made_facts().user.questions}
    assert len(kinds) == 8
    assert all(right == asked for right, asked in by_reader[EVERYTHING].values())
    assert all(by_reader[LATEST_MENTION][group][0] == 0 for group in MISSED_BY_LATEST)
    assert by_reader[LATEST_MENTION]["current, replaced"] == by_reader[EVERYTHING]["current, replaced"]
    assert by_reader[NOTHING]["current, replaced"][0] == 0


def test_premises_hold_about_as_often_as_they_fail() -> None:
    kinds = Counter(question.kind for position in range(3) for question in made_facts(position).user.questions)
    assert abs(kinds["false_premise"] - kinds["true_premise"]) <= 3
    for question in made_facts().user.questions:
        if question.form == "premise":
            assert question.right.text.startswith("Yes, ") == (question.kind == "true_premise")


def test_no_day_gone_by_is_asked_of_what_was_mistaken() -> None:
    questions = made_facts().user.questions
    assert {question.kind for question in questions if question.last_change == "withdrawn"} >= {"current"}
    assert not [question for question in questions if question.last_change == "withdrawn" and question.day]


class ReadsInOwnWords(EmbeddedModel):
    """Judges copy articles of what is told. The first that reads of told matters says that they were replaced."""

    def __init__(self) -> None:
        super().__init__()
        self.misread = ""
        self.redrafts = list[str]()

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await super().complete(request)
        if request.labels.prompt == TELL and "<reading>" in request.messages[-1].content:
            self.redrafts.append(request.messages[-1].content.partition("<reading>")[2])
        if request.labels.prompt != READ:
            return reply
        text = reply.text.replace('"told ', '"told: the ')
        if text != reply.text and not self.misread:
            self.misread = text = text.replace('"told: ', '"replaced: ')
        return replace(reply, text=text)


def test_an_article_makes_no_other_reading_and_only_what_was_misread_goes_back_to_the_writer() -> None:
    model = ReadsInOwnWords()
    told = run(tell_life(made_facts().life, recipe=facts_recipe(), model=model))
    refused = [vote for vote in told.gate_records if not vote.accepted]
    assert len(refused) == len(model.redrafts) == 1
    [vote] = refused
    assert {label for label in vote.target if label in model.redrafts[0]} == {
        label for label, read in vote.target.items() if read.startswith("told ")
    }


def test_noise_is_in_every_session_and_changes_no_fact() -> None:
    noisy = run(make_facts(recipe=facts_recipe(others_per_session=3, talk_per_session=2)))
    for session in noisy.sessions.sessions:
        assert sum(statement.shape == "other" for statement in session.statements) >= 3
    assert {question.kind for question in noisy.questions.questions} == {one.kind for one in made_facts().questions.questions}


def test_requests_stand_alone_and_name_the_matter_only() -> None:
    made = made_facts()
    forgotten = [question for question in made.user.questions if question.kind == "deleted"]
    for question in forgotten:
        assert question.forgotten_at is not None
        assert question.refed_at is not None
        session = made.sessions.sessions[question.forgotten_at]
        [statement] = [one for one in session.statements if one.matter == question.matter and one.shape == "forget"]
        assert spells(session.request, statement.label)
        assert not spells(session.request, question.deleted_value)
        assert spells(made.sessions.sessions[question.refed_at].mail, question.deleted_value)


def test_a_question_names_the_sessions_that_it_needs() -> None:
    for question in made_facts().user.questions:
        assert question.needed or not question.right.value
        assert set(question.needed) <= set(question.bearing)
        if question.kind == "consequence" and question.right.value:
            assert len(question.needed) > 1
