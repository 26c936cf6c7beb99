"""Rules about questions: what is right follows from the sessions, and every other choice is what it is said to be."""

from collections.abc import Iterator

from assets.recipe.user_facts import CHOICES, UserFactsRecipe
from assets.user_facts.questions import WORDINGS, Reader, dated_sessions
from assets.user_facts.records import FactQuestions, FactSessions
from validation.rules import Rule, expect


def right_choices_follow(asked: FactQuestions, told: FactSessions, _: UserFactsRecipe) -> Iterator[str]:
    dated = dated_sessions(told.sessions)
    reader = Reader(dated, dated[-1].day)
    for question in asked.questions:
        known = reader.known_value(question.matter, question.form, question.day)
        yield from expect(
            known == question.right.value, f"{question.question_id}: {question.right.value!r} is right, and {known!r} follows"
        )


def outcomes_are_true(asked: FactQuestions, told: FactSessions, _: UserFactsRecipe) -> Iterator[str]:
    said: dict[str, set[str]] = {}
    forgotten: set[str] = set()
    for session in told.sessions:
        for statement in session.statements:
            own = said.setdefault(statement.matter, set())
            if statement.shape == "forget":
                forgotten.add(statement.matter)
            elif statement.shape == "rule":
                own.update(case.then for case in statement.cases)
            elif statement.value and statement.shape != "other":
                own.add(statement.value)
    for statement in asked.questions:
        for choice in statement.choices:
            was_said = choice.value in said.get(statement.matter, set())
            # A course is made of several values, and its parts are checked where they are asked alone.
            if statement.form != "over_time" and choice.outcome in ("stale", "leaked"):
                yield from expect(
                    was_said, f"{statement.question_id}: {choice.value!r} is {choice.outcome}, and was never said"
                )
            leaks = choice.outcome == "leaked"
            yield from expect(
                leaks == (statement.matter in forgotten and was_said),
                f"{statement.question_id}: {choice.value!r} is {choice.outcome}",
            )


def values_need_a_session(asked: FactQuestions, _: UserFactsRecipe) -> Iterator[str]:
    for question in asked.questions:
        needed = question.needed or not question.right.value
        yield from expect(
            bool(needed), f"{question.question_id}: {question.right.value!r} is right, and no session is needed for it"
        )


def not_known_is_a_choice(asked: FactQuestions, _: UserFactsRecipe) -> Iterator[str]:
    for question in asked.questions:
        unknown = [choice for choice in question.choices if not choice.value]
        yield from expect(len(unknown) == 1, f"{question.question_id}: {len(unknown)} choices say that it is not known")
        yield from expect(
            len(question.choices) == CHOICES, f"{question.question_id}: there are {len(question.choices)} choices"
        )


def words_follow_from_the_form(asked: FactQuestions, _: UserFactsRecipe) -> Iterator[str]:
    for question in asked.questions:
        # It begins as another of its form does, so that its kind does not show.
        alike = any(question.text.startswith(words.partition("{")[0]) for words in WORDINGS[question.form])
        yield from expect(alike, f"{question.question_id}: {question.text!r} is no wording of {question.form}")


RULES = (
    Rule("right_choices_follow", "What is right follows from the sessions.", right_choices_follow, reads=("sessions",)),
    Rule(
        "outcomes_are_true",
        "Stale and leaked values were values of the fact before.",
        outcomes_are_true,
        reads=("sessions",),
    ),
    Rule("values_need_a_session", "A reader who lacks a needed session does not know the value.", values_need_a_session),
    Rule("not_known_is_a_choice", "One choice of each question says that it is not known.", not_known_is_a_choice),
    Rule("words_follow_from_the_form", "A question's words do not tell its kind.", words_follow_from_the_form),
)
