"""Defects in personas, user profiles, drafted questions and state schemas."""

from collections.abc import Mapping
from typing import Any

from assets.amemgym.records.persona import Cast
from assets.amemgym.records.state import StateVariable
from tests.validation.defects import Defect, Spoil, at, changed, doubled, edited, lacking, of_another, spoiled, swapped, twice
from tests.validation.defects_in_texts import CONTACTS, LANGUAGES, faulty, plain_prose

EVEN = ("tea", "Tea", "coffee")
ORPHAN = StateVariable(name="orphan", choices=("a", "b", "c"), merged_from=("nobody",))
CHOICE_TOLD = edited("questions", 0, edit=lambda q: {"text": f"Why {q.required_info[0].info_choices[0].replace('_', ' ')}?"})


# Choices of a question with three, by what is wrong with the first.
UNMENTIONED = {
    "a choice of absence": (("no_knee_treatment", "wears_a_brace", "sees_a_therapist"), "'no_knee_treatment' of"),
    "a choice that all is well": (("home_oven_works", "small_toaster_oven", "bread_machine"), "'home_oven_works' of"),
    "a choice that all is as usual": (("usual_work_hours", "night_shifts", "weekend_shifts"), "'usual_work_hours' of"),
    "a choice that is a bare level": (("very_often", "every_monday", "before_each_trip"), "'very_often' of"),
}


def unmentioned(*path: str | int, field: str) -> tuple[Defect, ...]:
    """Defects of the choices in the field at the path, and one that the profile tells."""
    told = changed(*path, field, to=lambda choices: ("hobbies_and_interests", *choices[1:]))  # as each profile has them
    defects = [Defect("a choice that the profile tells", "choices_mentioned", told, "stands in the profile")]
    for kind, (choices, message) in UNMENTIONED.items():
        defects.append(Defect(kind, "choices_mentioned", at(*path, **{field: choices}), message))
    return tuple(defects)


def value_told(rows: list[Any]) -> list[Any]:
    """The first question spells a value of its first variable."""
    value = rows[0].variables[0].choices[0].replace("_", " ")
    return at("questions", 0, text=f"As one with {value}, what now?")(rows)


def asked_again(rows: list[Any]) -> list[Any]:
    """Two questions of many words, of which one has a word more."""
    asked = "What should I begin with when it comes to the garden that I have behind the house"
    first = at("questions", 0, text=f"{asked}?")(rows)
    return at("questions", 1, text=f"{asked} now?")(first)


def reworded(**changes: object) -> Spoil:
    """The first question has other words."""
    return lambda rows: at(**changes)(at("questions", 0, text="Is the sky blue?")(rows))


def like_the_first(rows: list[Any]) -> list[Any]:
    """A second variable that differs from the first by spacing."""
    first = rows[0].variables[0]
    return at("variables", 1, name=first.name.replace("_", " "))(rows)


def of_the_same_cloth(rows: list[Any]) -> list[Any]:
    """Two users of whom one sentence says the same, by name and by pronoun."""
    said = "guards quiet mornings and answers messages after ten."
    return [
        spoiled(rows[0], sports_persona=f"Ada Smith {said}"),
        spoiled(rows[1], travel_persona=f"She likes trains. He {said}"),
        *rows[2:],
    ]


IN_SCHEMAS: Mapping[str, tuple[Defect, ...]] = {
    "stage personas": (
        Defect("an excluded persona", "no_excluded_persona", at(user_id="excluded"), "exclude_ids"),
        Defect(
            "a persona without words", "personas_tell_something", at(persona="", professional_persona=""), "no persona text"
        ),
        Defect("a duplicated user", "one_row_per_user", twice, "has 2 rows"),
        Defect("one person under two ids", "personas_differ", of_another, "shares a sentence with"),
        Defect("a sentence told of two people", "personas_differ", of_the_same_cloth, "shares a sentence with"),
    ),
    "stage user_profiles": (
        Defect("an empty field", "no_empty_field", at(formatted_str="Education: some_college ()"), "'()'"),
        Defect("a null shown as text", "no_empty_field", at(formatted_str="Hobbies: None"), "'Hobbies: None'"),
        Defect("not a number, shown as text", "no_empty_field", at(formatted_str="Hobbies: nan"), "'Hobbies: nan'"),
        Defect("a field without value", "no_empty_field", at(formatted_str="Hobbies:\nAge: 3"), "'Hobbies:'"),
        Defect("a long paragraph", "short_paragraph", at(complementary_info="word " * 500), "has 500 words"),
        *faulty((*CONTACTS, *LANGUAGES), lambda text: at(complementary_info=text)),
        Defect("a profile without its cast", "cast", at(cast=Cast()), "has no cast"),
        Defect("a profile without its name", "shown_whole", at(formatted_str="Age: 3"), "lacks the name"),
        Defect("a name made up", "name_from_persona", at(name="Xaver Yps"), "'Xaver Yps' is no name"),
        Defect("a profile that nobody sampled", "name_from_persona", of_another, "no record of personas"),
        Defect("another age", "facts_of_persona", at(age=5), "has the age 5"),
    ),
    "stage questions": (
        Defect("a missing question", "question_counts", lacking("questions"), "has 2 questions"),
        Defect("a missing type", "question_counts", lacking("questions", 0, "required_info"), "q01 has 1 type"),
        Defect(
            "a missing choice", "question_counts", lacking("questions", 0, "required_info", 0, "info_choices"), "has 2 choices"
        ),
        *unmentioned("questions", 0, "required_info", 0, field="info_choices"),
        Defect("a question asked again with a word more", "told_apart", asked_again, "q01 and q02 share"),
        Defect("a question asked twice", "questions_differ", doubled("questions"), "occur twice"),
        Defect("a type twice in a question", "questions_differ", doubled("questions", 0, "required_info"), "must differ"),
        Defect(
            "a choice twice",
            "questions_differ",
            at("questions", 0, "required_info", 0, info_choices=EVEN),
            "read the same",
        ),
        Defect(
            "a type called like a choice",
            "questions_differ",
            at("questions", 0, "required_info", 0, info_choices=("tea", "mate", "coffee"), info_type="Tea"),
            "is one of its own choices",
        ),
        Defect("a question that tells a choice", "plain_prose", CHOICE_TOLD, "q01 spells"),
        *plain_prose(lambda text: at("questions", 0, text=text)),
    ),
    "stage state_schema": (
        Defect("a type lost in merging", "types_mapped_once", at("variables", 0, merged_from=()), "0 times"),
        Defect("a type that nobody drafted", "types_mapped_once", at("variables", 0, merged_from=("x",)), "nobody drafted"),
        Defect("a type mapped twice", "types_mapped_once", doubled("variables"), "2 times"),
        Defect("a question lost in merging", "questions_rewritten", lacking("questions"), "q01 is missing"),
        Defect("a question reworded unread", "questions_rewritten", reworded(gate_records=()), "not have its drafted words"),
        Defect("a question that no judge read", "schema_passed_gate", reworded(), "have 0 accepting votes"),
        Defect("variables out of order", "questions_rewritten", swapped("questions", 0, "required_info"), "q01 requires"),
        Defect("choices that nobody judged", "schema_passed_gate", at(gate_records=()), "have 0 accepting votes"),
        Defect("a value lost", "choice_counts", lacking("variables", 0, "choices"), "has 2 choices"),
        *unmentioned("variables", 0, field="choices"),
        Defect("an orphan variable", "no_orphans", changed("variables", to=lambda v: (*v, ORPHAN)), "needs 'orphan'"),
        Defect("an unknown variable", "schema_agrees", at("questions", 0, required_info=("x", "y")), "variables ['x', 'y']"),
        Defect("a variable twice", "schema_agrees", doubled("variables"), "twice"),
        Defect("a variable twice in a question", "variables_differ", doubled("questions", 0, "required_info"), "twice"),
        Defect("values that differ by case only", "told_apart", at("variables", 0, choices=EVEN), "['tea', 'Tea'] of"),
        Defect("variables that differ by spacing only", "told_apart", like_the_first, "read the same"),
        Defect("a question that tells a value", "no_value_given_away", value_told, "q01 gives"),
    ),
}
