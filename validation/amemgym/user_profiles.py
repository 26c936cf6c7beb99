"""What must hold of the user profiles."""

import re
from collections.abc import Iterator

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import Persona, UserProfile
from assets.amemgym.user_profiles import PROFILE_WORD_LIMIT, complementary_info, occurs
from validation.amemgym.texts import profile_texts, text_rules
from validation.rules import Rule, expect

EMPTY_FIELD = re.compile(r"\(\s*\)|^[^:\n]*:[ \t]*(?:None|nan|null)?[ \t]*$", re.MULTILINE)


def profile_has_no_empty_field(profile: UserProfile, _: AMemGymRecipe) -> Iterator[str]:
    """The profile leaves out what a persona lacks; its last paragraph is free text."""
    fields = profile.formatted_str.partition("\nAbout: ")[0]
    for match in EMPTY_FIELD.finditer(fields):
        yield f"the formatted profile shows an empty field at {match.group(0)!r}"


def profile_is_short(profile: UserProfile, _: AMemGymRecipe) -> Iterator[str]:
    """The paragraph stays under its limit."""
    words = len(profile.complementary_info.split())
    yield from expect(words < PROFILE_WORD_LIMIT, f"the paragraph has {words} words")


def name_occurs_in_persona(profile: UserProfile, persona: Persona, _: AMemGymRecipe) -> Iterator[str]:
    """A name is found in the persona's texts, never made up."""
    yield from expect(occurs(profile.name, complementary_info(persona)), f"{profile.name!r} is no name in the persona's texts")


def profile_agrees_with_persona(profile: UserProfile, persona: Persona, _: AMemGymRecipe) -> Iterator[str]:
    """The basic facts are the persona's."""
    for name, value, right in (("age", profile.age, persona.age), ("gender", profile.gender, persona.sex.lower())):
        yield from expect(value == right, f"has the {name} {value!r}, the persona {right!r}")


def profile_is_shown_whole(profile: UserProfile, _: AMemGymRecipe) -> Iterator[str]:
    """The text that every prompt reads names the user and holds the paragraph."""
    for part, text in (("name", profile.name), ("paragraph", profile.complementary_info)):
        yield from expect(text in profile.formatted_str, f"the formatted profile lacks the {part}")


RULES = (
    Rule("no_empty_field", "Profiles leave out what a persona lacks.", profile_has_no_empty_field),
    Rule("short_paragraph", f"The paragraph has fewer than {PROFILE_WORD_LIMIT} words.", profile_is_short),
    *text_rules("Profiles", "profile", profile_texts),
    Rule("shown_whole", "The formatted profile holds name and paragraph.", profile_is_shown_whole),
    Rule("name_from_persona", "The name occurs in the persona's texts.", name_occurs_in_persona, reads=("personas",)),
    Rule("facts_of_persona", "Age and gender are the persona's.", profile_agrees_with_persona, reads=("personas",)),
)
