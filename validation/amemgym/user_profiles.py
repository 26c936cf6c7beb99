"""Rules about the user profiles."""

from collections.abc import Iterator

from assets.amemgym.records.persona import Persona, UserProfile
from assets.amemgym.user_profiles import PROFILE_WORD_LIMIT, cast_problems, complementary_info, empty_fields, occurs
from assets.recipe.amemgym import AMemGymRecipe
from validation.amemgym.texts import PROFILES, text_rules
from validation.rules import Rule, expect


def profile_has_no_empty_field(profile: UserProfile, _: AMemGymRecipe) -> Iterator[str]:
    # The last paragraph is free text, in which anything may stand.
    for field in empty_fields(profile.formatted_str.partition("\nAbout: ")[0]):
        yield f"the formatted profile shows an empty field at {field!r}"


def profile_is_short(profile: UserProfile, _: AMemGymRecipe) -> Iterator[str]:
    words = len(profile.complementary_info.split())
    yield from expect(words < PROFILE_WORD_LIMIT, f"the paragraph has {words} words")


def name_occurs_in_persona(profile: UserProfile, persona: Persona, _: AMemGymRecipe) -> Iterator[str]:
    yield from expect(occurs(profile.name, complementary_info(persona)), f"{profile.name!r} is no name in the persona's texts")


def profile_agrees_with_persona(profile: UserProfile, persona: Persona, _: AMemGymRecipe) -> Iterator[str]:
    gender = persona.sex.lower()
    yield from expect(profile.age == persona.age, f"has the age {profile.age!r}, the persona {persona.age!r}")
    yield from expect(profile.gender == gender, f"has the gender {profile.gender!r}, the persona {gender!r}")


def profile_is_shown_whole(profile: UserProfile, _: AMemGymRecipe) -> Iterator[str]:
    yield from expect(profile.name in profile.formatted_str, "the formatted profile lacks the name")
    yield from expect(profile.complementary_info in profile.formatted_str, "the formatted profile lacks the paragraph")


def cast_is_as_the_recipe_wants(profile: UserProfile, recipe: AMemGymRecipe) -> Iterator[str]:
    yield from expect(bool(profile.cast.lines) == recipe.cast, f"{'has no' if recipe.cast else 'has a'} cast")
    if recipe.cast:
        yield from cast_problems(profile.cast, name=profile.name, marital_status=profile.marital_status)


RULES = (
    Rule("no_empty_field", "Profiles leave out what a persona lacks.", profile_has_no_empty_field),
    Rule("short_paragraph", f"The paragraph has fewer than {PROFILE_WORD_LIMIT} words.", profile_is_short),
    *text_rules("Profiles", PROFILES),
    Rule("cast", "The people around the user agree with the profile and one another.", cast_is_as_the_recipe_wants),
    Rule("shown_whole", "The formatted profile holds name and paragraph.", profile_is_shown_whole),
    Rule("name_from_persona", "The name occurs in the persona's texts.", name_occurs_in_persona, reads=("personas",)),
    Rule("facts_of_persona", "Age and gender are the persona's.", profile_agrees_with_persona, reads=("personas",)),
)
