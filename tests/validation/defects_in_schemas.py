"""Defects in personas, user profiles, drafted questions and state schemas."""

from collections.abc import Mapping
from typing import Any

from assets.amemgym.records.state import StateVariable
from tests.validation.defects import Defect, Spoil, at, changed, doubled, edited, lacking, of_another, swapped, twice
from tests.validation.defects_in_texts import CONTACTS, LANGUAGES, faulty, plain_prose

EVEN = ("tea", "Tea", "coffee")
ORPHAN = StateVariable(name="orphan", choices=("a", "b", "c"), merged_from=("nobody",))
CHOICE_TOLD = edited("questions", 0, edit=lambda q: {"text": f"Why {q.required_info[0].info_choices[0].replace('_', ' ')}?"})


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


IN_SCHEMAS: Mapping[str, tuple[Defect, ...]] = {
    "stage personas": (
        Defect("an excluded persona", "no_excluded_persona", at(user_id="excluded"), "exclude_ids"),
        Defect(
            "a persona without words", "personas_tell_something", at(persona="", professional_persona=""), "no persona text"
        ),
        Defect("a duplicated user", "one_row_per_user", twice, "has 2 rows"),
        Defect("one person under two ids", "personas_differ", of_another, "same texts as"),
    ),
    "stage user_profiles": (
        Defect("an empty field", "no_empty_field", at(formatted_str="Education: some_college ()"), "'()'"),
        Defect("a null shown as text", "no_empty_field", at(formatted_str="Hobbies: None"), "'Hobbies: None'"),
        Defect("not a number, shown as text", "no_empty_field", at(formatted_str="Hobbies: nan"), "'Hobbies: nan'"),
        Defect("a field without value", "no_empty_field", at(formatted_str="Hobbies:\nAge: 3"), "'Hobbies:'"),
        Defect("a long paragraph", "short_paragraph", at(complementary_info="word " * 500), "has 500 words"),
        *faulty((*CONTACTS, *LANGUAGES), lambda text: at(complementary_info=text)),
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
        Defect("an orphan variable", "no_orphans", changed("variables", to=lambda v: (*v, ORPHAN)), "needs 'orphan'"),
        Defect("an unknown variable", "schema_agrees", at("questions", 0, required_info=("x", "y")), "variables ['x', 'y']"),
        Defect("a variable twice", "schema_agrees", doubled("variables"), "twice"),
        Defect("a variable twice in a question", "variables_differ", doubled("questions", 0, "required_info"), "twice"),
        Defect("values that differ by case only", "told_apart", at("variables", 0, choices=EVEN), "['tea', 'Tea'] of"),
        Defect("variables that differ by spacing only", "told_apart", like_the_first, "read the same"),
        Defect("a question that tells a value", "no_value_given_away", value_told, "q01 gives"),
    ),
}
