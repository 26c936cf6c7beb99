"""Stage 2: from a persona, its name and a short profile for role-play (section 3.1; App. C.3, user profile sampling)."""

import re

from pydantic import BaseModel

from assets.amemgym.personas.stage import PERSONAS
from assets.amemgym.records.persona import Animal, Cast, Companion, Persona, UserProfile
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import PromptCalls, Stage
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ask_structured
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import Name, Prose, duplicates
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription
from assets.text.kinship import SPOUSES, sex_of_relation
from assets.text.text_checks import StyleCheck, TextInContext
from prompts.catalogue import load_prompt

PROFILE_WORD_LIMIT = 500  # of the paper's prompt; every later call reads the paragraph
EMPTY_FIELD = re.compile(r"\(\s*\)|^[^:\n]*:[ \t]*(?:None|nan|null)?[ \t]*$", re.MULTILINE)
FEWEST_PEOPLE = 2
MOST_PEOPLE = 8
# After "my", as in "my old friend Ruth": no clause, and nothing that says of whom.
RELATION = re.compile(r"(?!.*\b(?:she|he|they|who|whom|that|her|his|their|my|at|from|of|the)\b)\S+(?: \S+){0,2}", re.IGNORECASE)
UNMARRIED = ("never married", "divorced", "widowed")  # as the census has it
COMPLEMENTARY = (
    "persona",
    "professional_persona",
    "cultural_background",
    "skills_and_expertise",
    "hobbies_and_interests",
    "career_goals_and_ambitions",
    "sports_persona",
    "arts_persona",
    "travel_persona",
    "culinary_persona",
)

# Codes of the census columns that read badly when only their underscores are taken away.
PLAIN_WORDS = {
    "married_present": "married",
    "less_than_9th": "less than ninth grade",
    "9th_12th_no_diploma": "some high school, no diploma",
    "high_school": "high school diploma",
    "associates": "associate's degree",
    "bachelors": "bachelor's degree",
    "graduate": "graduate degree",
    "arts_humanities": "arts and humanities",
    "stem": "STEM",
    "stem_related": "related to STEM",
}

# A strong model left alone gives everybody the same voice: witty, tidy and without a slip.
VOICES = (
    "I type fast, in short sentences and fragments, and don't read it over.",
    "I type on my phone: mostly small letters, few commas, no greeting.",
    "I'm polite: please and thanks, whole sentences, now and then a greeting.",
    "I think while I type, with dashes and afterthoughts; the question can come anywhere.",
    "I ask first, then say what one has to know for it.",
    "I chat as with a friend: oh well, honestly, you know.",
    "I worry a bit, and say what I've tried already.",
    "I'm matter-of-fact: numbers, times, names of things.",
    "I make typing mistakes and leave them in: a letter missing, two words run together.",
    "I'm brief, even blunt, and don't explain why I ask.",
    "I grumble a little before I ask.",
    "I tell it in the order in which it happened, then I ask.",
)


class ProfileReply(BaseModel):
    """The paper's keys: the name found, and the condensed paragraph."""

    name: Prose
    profile: Prose


class CastReply(BaseModel):
    """The people and the setting, all of whose parts a writer has to give."""

    people: list[Companion]
    animals: list[Animal]
    home: Prose
    rooms: list[Name]
    work: Prose
    getting_about: Prose


class ProfileAndCastReply(ProfileReply):
    """The reply where the recipe wants a cast."""

    cast: CastReply


async def complete_profile(persona: Persona, *, recipe: AMemGymRecipe, model: LanguageModel) -> UserProfile:
    """Find the persona's name, condense its texts, and settle the cast where the recipe wants one.

    The name must occur in the texts, the paragraph stay under 500 words, and the cast agree with the persona.
    """
    fields = basic_fields(persona)
    info = complementary_info(persona)
    style = StyleCheck(recipe.gates.max_reasks, strict=True, noun="Profile")

    def convert(reply: ProfileReply) -> UserProfile:
        if not occurs(reply.name, info):
            raise ValueError(f"The name {reply.name!r} does not occur in the complementary information.")
        if empty_fields(format_fields({"Name": reply.name})):
            raise ValueError(f"{reply.name!r} is nobody's name; give the one that the complementary information has.")
        words = len(reply.profile.split())
        if words >= PROFILE_WORD_LIMIT:
            raise ValueError(f"The profile has {words} words; fewer than {PROFILE_WORD_LIMIT} are wanted.")
        style.check([profile_in_context(reply.profile, recipe=recipe)])
        cast = Cast()
        if isinstance(reply, ProfileAndCastReply):
            voice = SeededRandom(recipe.world_seed, persona.user_id, "voice").choice(VOICES)
            cast = Cast.model_validate({**reply.cast.model_dump(), "voice": voice})
            problems = cast_problems(cast, name=reply.name, marital_status=fields.get("Marital status", ""))
            if problems:
                raise ValueError(f"The cast cannot be used: {'; '.join(problems)}.")
        return _profile(persona, fields, reply, cast)

    prompt = load_prompt("user_profiles/complete").render(
        basic_profile=format_fields(fields), complementary_info=info, cast=recipe.cast, language=recipe.language_name
    )
    kind = ProfileAndCastReply if recipe.cast else ProfileReply
    return await ask_structured(model, prompt=prompt, reply=kind, convert=convert, settings=recipe.asking)


def cast_problems(cast: Cast, *, name: str, marital_status: str) -> list[str]:
    """Return what is wrong with the cast of the user of this name, each as a clause."""
    problems: list[str] = []
    if not FEWEST_PEOPLE <= len(cast.people) <= MOST_PEOPLE:
        problems.append(f"it has {len(cast.people)} people, and {FEWEST_PEOPLE} to {MOST_PEOPLE} are wanted")
    called = [full.split()[0] for full in (name, *(person.name for person in cast.people), *(own.name for own in cast.animals))]
    if duplicates(called):
        problems.append(f"{duplicates(called)} are each the first name of two")
    spouses = 0
    for person in cast.people:
        if not RELATION.fullmatch(person.relation):
            problems.append(f"{person.relation!r} is not what the person says after my, in one to three words, such as boss")
        sex = sex_of_relation(person.relation)
        if sex and sex != person.sex:
            problems.append(f"{person.name} is a {person.relation}, and {person.sex}")
        spouses += person.relation.lower() in SPOUSES
    if marital_status in UNMARRIED and spouses:
        problems.append(f"somebody who is {marital_status} has no husband or wife")
    if spouses > 1:
        problems.append("nobody has two husbands or wives")
    return problems


def profile_in_context(paragraph: str, *, recipe: AMemGymRecipe) -> TextInContext:
    """Return the paragraph as the style check sees it."""
    return TextInContext("profile", paragraph, recipe.language)


def basic_fields(persona: Persona) -> dict[str, str]:
    """Return label and value of the basic profile's fields; those that the persona lacks are left out."""
    level = _words(persona.education_level)
    subject = _words(persona.bachelors_field)
    home = ", ".join(filter(None, (persona.city, persona.state, persona.country)))
    fields = {
        "Age": str(persona.age),
        "Gender": persona.sex.lower(),
        "Marital status": _words(persona.marital_status),
        "Education": f"{level} ({subject})" if level and subject else level or subject,
        "Occupation": _words(persona.occupation),
        "Lives in": home,
        "Hobbies and interests": ", ".join(persona.hobbies_and_interests_list),
        "Skills and expertise": ", ".join(persona.skills_and_expertise_list),
    }
    return {label: value for label, value in fields.items() if value}


def complementary_info(persona: Persona) -> str:
    """Return the persona's texts, one per line, without empty ones."""
    texts = dict.fromkeys(str(getattr(persona, name)) for name in COMPLEMENTARY)
    return "\n".join(filter(None, texts))


def empty_fields(formatted_profile: str) -> list[str]:
    """Return the lines of a formatted profile, without its last paragraph, that show a label and no value."""
    return EMPTY_FIELD.findall(formatted_profile)


def occurs(name: str, text: str) -> bool:
    """Return True if the text has the name as whole words, in any case."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def format_fields(fields: dict[str, str]) -> str:
    """Return one `label: value` line per field."""
    return "\n".join(map(": ".join, fields.items()))


def _profile(persona: Persona, fields: dict[str, str], reply: ProfileReply, cast: Cast) -> UserProfile:
    return UserProfile(
        user_id=persona.user_id,
        name=reply.name,
        age=persona.age,
        gender=fields.get("Gender", ""),
        marital_status=fields.get("Marital status", ""),
        education_level=fields.get("Education", ""),
        occupation=fields.get("Occupation", ""),
        hobbies_and_interests=fields.get("Hobbies and interests", ""),
        skills_and_expertise=fields.get("Skills and expertise", ""),
        complementary_info=reply.profile,
        formatted_str=format_fields({"Name": reply.name, **fields, "About": reply.profile}),
        cast=cast,
    )


def _words(code: str) -> str:
    return PLAIN_WORDS.get(code) or " ".join(code.replace("_", " ").split())


USER_PROFILES = Stage(
    name="user_profiles",
    record=UserProfile,
    make=complete_profile,
    needs=(PERSONAS,),
    prompts=("user_profiles/complete",),
    calls={"user_profiles/complete": PromptCalls()},
    version=4,
    passed_by_spares=True,
    description=AssetDescription(
        group="states",
        description="Personas made ready for role-play: name, basic facts and a condensed paragraph (paper section 3.1, App. "
        "C.3), and the people, animals, setting and voice of the life. Every later prompt reads all of it.",
        rows=preview_rows("", "name age occupation about=complementary_info cast=cast.lines"),
    ),
)
