"""Faults planted into a finished user's facts: each is caught by the rule that is there for it."""

from typing import Any

import pytest

from assets.records.base import Record
from assets.user_facts.records import FactSession, FactStatement
from tests.support.applied_rules import apply_rules
from tests.support.user_facts import facts_recipe, made_facts
from validation.user_facts.benchmark import USER_FACTS_VALIDATION, matters_are_enough

RULES = USER_FACTS_VALIDATION.rules


def broken(stage: str, record: Record | None = None) -> set[str]:
    """Return the stage's rules that are broken, once its record is another one."""
    records = dict(made_facts().records)
    if record is not None:
        records[stage] = {made_facts().life.user_id: record}  # pyright: ignore[reportArgumentType]
    outcomes = apply_rules(RULES[stage], list(records[stage].values()), recipe=facts_recipe(), others=records)
    return {outcome.rule.name for outcome in outcomes if not outcome.passed}


def session_with(shape: str) -> FactSession:
    sessions = made_facts().sessions.sessions
    return next(one for one in sessions if any(statement.shape == shape for statement in one.statements))


def statement_of(session: FactSession, shape: str) -> FactStatement:
    return next(one for one in session.statements if one.shape == shape)


def broken_by_text(session: FactSession, **changes: Any) -> set[str]:
    made = made_facts().sessions
    sessions = list(made.sessions)
    sessions[session.number] = session.model_copy(update=changes)
    return broken("facts_sessions", made.model_copy(update={"sessions": tuple(sessions)}))


def broken_by_plan(at: int, statement: FactStatement) -> set[str]:
    life = made_facts().life
    sessions = list(life.sessions)
    sessions[at] = sessions[at].model_copy(update={"statements": (*sessions[at].statements, statement)})
    return broken("facts_lives", life.model_copy(update={"sessions": tuple(sessions)}))


@pytest.mark.parametrize("stage", RULES)
def test_nothing_is_wrong_with_a_user_as_it_was_made(stage: str) -> None:
    assert broken(stage) == set()


def test_a_state_that_does_not_follow_is_caught() -> None:
    life = made_facts().life
    states = (*life.states[:-1], life.states[0])
    assert broken("facts_lives", life.model_copy(update={"states": states})) == {"states_follow"}


def test_rules_in_a_circle_are_caught() -> None:
    rule = statement_of(session_with("rule"), "rule")
    back = rule.model_copy(update={"matter": rule.other_matter, "other_matter": rule.matter})
    assert "rules_make_no_circle" in broken_by_plan(0, back)


def test_a_fact_that_is_spoken_of_after_the_request_to_forget_it_is_caught() -> None:
    session = session_with("forget")
    again = statement_of(session, "forget").model_copy(update={"shape": "replaced", "value": "X Bank"})
    assert "forgotten_is_not_spoken_of" in broken_by_plan(session.number + 1, again)


def test_a_request_that_tells_the_value_is_caught() -> None:
    session = session_with("forget")
    value = statement_of(session, "forget").unspoken[0]
    found = broken_by_text(session, request=f"{session.request} It was {value}.")
    assert found >= {"requests_name_no_value", "texts_make_the_statements"}


def test_a_return_to_what_was_before_that_tells_the_value_is_caught() -> None:
    session = session_with("as_before")
    value = statement_of(session, "as_before").unspoken[0]
    assert "texts_make_the_statements" in broken_by_text(session, message=f"{session.message} So it is {value}.")


def test_a_mail_without_the_value_is_caught() -> None:
    assert broken_by_text(session_with("refed"), mail="The list is done.") == {"mails_tell_what_was_forgotten"}


def test_a_message_that_no_judge_read_is_caught() -> None:
    session = session_with("replaced")
    assert broken_by_text(session, message=f"{session.message} It rains.") == {"judges_read_them_back"}


def test_a_question_whose_right_choice_does_not_follow_is_caught() -> None:
    asked = made_facts().questions
    first, *others = asked.questions
    swapped = {"right": "invented", "invented": "right"}
    wrong_one = next(one for one in first.choices if one.outcome == "invented")
    choices = [
        one.model_copy(update={"outcome": swapped.get(one.outcome, one.outcome)}) if one in (first.right, wrong_one) else one
        for one in first.choices
    ]
    changed = asked.model_copy(update={"questions": (first.model_copy(update={"choices": tuple(choices)}), *others)})
    assert "right_choices_follow" in broken("facts_questions", changed)


def test_a_leak_that_is_called_something_else_is_caught() -> None:
    asked = made_facts().questions
    questions = list(asked.questions)
    place = next(number for number, one in enumerate(questions) if one.kind == "deleted")
    choices = list(questions[place].choices)
    leak = next(number for number, one in enumerate(choices) if one.outcome == "leaked")
    choices[leak] = choices[leak].model_copy(update={"outcome": "invented"})
    questions[place] = questions[place].model_copy(update={"choices": tuple(choices)})
    assert broken("facts_questions", asked.model_copy(update={"questions": tuple(questions)})) == {"outcomes_are_true"}


def test_a_certificate_of_other_bytes_is_caught() -> None:
    user = made_facts().user
    first, *others = user.sessions
    sessions = (first.model_copy(update={"message": f"{first.message} It rains."}), *others)
    assert broken("facts_users", user.model_copy(update={"sessions": sessions})) == {"certificate_is_of_these_bytes"}


@pytest.mark.parametrize(
    ("facts", "passed", "said"),
    [(18, True, "which is enough"), (99, False, "The recipe takes 101 matters of ")],
)
def test_a_recipe_that_takes_more_matters_than_there_are_is_blocked(facts: int, passed: bool, said: str) -> None:
    # A recipe that was resolved by another version may hold any number.
    found: Any = matters_are_enough(facts_recipe().model_copy(update={"num_facts": facts}))
    assert found.passed is passed
    assert said in found.description
