"""Rules about questions: what is right follows from the sessions, and every other choice is what it is said to be."""

from collections.abc import Iterator

from assets.recipe.user_facts import CHOICES, UserFactsRecipe
from assets.user_facts.questions import WORDINGS, Reader, dated_sessions
from assets.user_facts.records import FactQuestion, FactQuestions, FactSessions
from validation.rules import Rule, expect


def right_choices_follow(asked: FactQuestions, told: FactSessions, _: UserFactsRecipe) -> Iterator[str]:
    dated = dated_sessions(told.sessions)
    reader = Reader(dated, dated[-1].day)
    for one in asked.questions:
        known = reader.known(one.matter, one.form, one.day)
        yield from expect(known == one.right.value, f"{one.question_id}: {one.right.value!r} is right, and {known!r} follows")


def outcomes_are_true(asked: FactQuestions, told: FactSessions, _: UserFactsRecipe) -> Iterator[str]:
    said: dict[str, set[str]] = {}
    forgotten: set[str] = set()
    for session in told.sessions:
        for one in session.statements:
            own = said.setdefault(one.matter, set())
            if one.shape == "forget":
                forgotten.add(one.matter)
            elif one.shape == "rule":
                own.update(case.then for case in one.cases)
            elif one.value and one.shape != "other":
                own.add(one.value)
    for one in asked.questions:
        for choice in one.choices:
            was_said = choice.value in said.get(one.matter, set())
            # A course is made of several values, and its parts are checked where they are asked alone.
            if one.form != "over_time" and choice.outcome in ("stale", "leaked"):
                yield from expect(was_said, f"{one.question_id}: {choice.value!r} is {choice.outcome}, and was never said")
            leaks = choice.outcome == "leaked"
            yield from expect(
                leaks == (one.matter in forgotten and was_said), f"{one.question_id}: {choice.value!r} is {choice.outcome}"
            )


def values_need_a_session(asked: FactQuestions, _: UserFactsRecipe) -> Iterator[str]:
    for one in asked.questions:
        needed = one.needed or not one.right.value
        yield from expect(bool(needed), f"{one.question_id}: {one.right.value!r} is right, and no session is needed for it")


def not_known_is_a_choice(asked: FactQuestions, _: UserFactsRecipe) -> Iterator[str]:
    for one in asked.questions:
        unknown = [choice for choice in one.choices if not choice.value]
        yield from expect(len(unknown) == 1, f"{one.question_id}: {len(unknown)} choices say that it is not known")
        yield from expect(len(one.choices) == CHOICES, f"{one.question_id}: there are {len(one.choices)} choices")


def words_follow_from_the_form(asked: FactQuestions, _: UserFactsRecipe) -> Iterator[str]:
    for one in asked.questions:
        yield from expect(_is_worded_alike(one), f"{one.question_id}: {one.text!r} is no wording of {one.form}")


def _is_worded_alike(one: FactQuestion) -> bool:
    """True where the question begins as one of its form does, so that its kind does not show."""
    return any(one.text.startswith(words.partition("{")[0]) for words in WORDINGS[one.form])


RULES = (
    Rule("right_choices_follow", "What is right follows from the sessions.", right_choices_follow, reads=("facts_sessions",)),
    Rule(
        "outcomes_are_true",
        "Stale and leaked values were values of the fact before.",
        outcomes_are_true,
        reads=("facts_sessions",),
    ),
    Rule("values_need_a_session", "A reader who lacks a needed session does not know the value.", values_need_a_session),
    Rule("not_known_is_a_choice", "One choice of each question says that it is not known.", not_known_is_a_choice),
    Rule("words_follow_from_the_form", "A question's words do not tell its kind.", words_follow_from_the_form),
)
