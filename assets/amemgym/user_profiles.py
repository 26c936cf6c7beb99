"""Stage 2: from a persona, its name and a short profile for role-play (section 3.1; App. C.3, user profile sampling)."""

import re
from collections.abc import Sequence

from pydantic import BaseModel

from assets.amemgym.personas.stage import PERSONAS
from assets.amemgym.records.persona import Persona, UserProfile
from assets.engine.stage import PromptCalls, Stage
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ask_structured
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import Prose
from assets.reporting.asset_description import AssetDescription, Metadata, Row
from assets.reporting.histogram import histogram, rounded_mean
from assets.text.text_checks import StyleCheck, TextInContext
from prompts.catalogue import load_prompt

PROFILE_WORD_LIMIT = 500  # of the paper's prompt; every later call reads the paragraph
EMPTY_FIELD = re.compile(r"\(\s*\)|^[^:\n]*:[ \t]*(?:None|nan|null)?[ \t]*$", re.MULTILINE)
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


class ProfileReply(BaseModel):
    """The paper's keys: the name found, and the condensed paragraph."""

    name: Prose
    profile: Prose


async def complete_profile(persona: Persona, *, recipe: AMemGymRecipe, model: LanguageModel) -> UserProfile:
    """Find the persona's name and condense its texts. The name must occur in them, the paragraph stay under 500 words."""
    fields = basic_fields(persona)
    info = complementary_info(persona)
    style = StyleCheck(recipe.gates.max_reasks, strict=True, noun="Profile")

    def convert(reply: ProfileReply) -> UserProfile:
        if not occurs(reply.name, info):
            raise ValueError(f"The name {reply.name!r} does not occur in the complementary information.")
        if empty_fields(formatted({"Name": reply.name})):
            raise ValueError(f"{reply.name!r} is nobody's name; give the one that the complementary information has.")
        words = len(reply.profile.split())
        if words >= PROFILE_WORD_LIMIT:
            raise ValueError(f"The profile has {words} words; fewer than {PROFILE_WORD_LIMIT} are wanted.")
        style.check([profile_in_context(reply.profile, recipe=recipe)])
        return _profile(persona, fields, reply)

    prompt = load_prompt("user_profiles/complete").render(
        basic_profile=formatted(fields), complementary_info=info, language=recipe.language_name
    )
    return await ask_structured(model, prompt=prompt, reply=ProfileReply, convert=convert, settings=recipe.asking)


def profile_in_context(paragraph: str, *, recipe: AMemGymRecipe) -> TextInContext:
    """Return the paragraph as the style check sees it."""
    return TextInContext("profile", paragraph, recipe.language, finder=recipe.gates.contact_data)


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


def formatted(fields: dict[str, str]) -> str:
    """Return one `label: value` line per field."""
    return "\n".join(map(": ".join, fields.items()))


def _profile(persona: Persona, fields: dict[str, str], reply: ProfileReply) -> UserProfile:
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
        formatted_str=formatted({"Name": reply.name, **fields, "About": reply.profile}),
    )


def _words(code: str) -> str:
    return PLAIN_WORDS.get(code) or " ".join(code.replace("_", " ").split())


def summarize_profiles(profiles: Sequence[UserProfile]) -> Metadata:
    """Return the lengths of the complementary paragraphs, in words."""
    words = [len(one.complementary_info.split()) for one in profiles]
    return {"lengths": histogram(words, unit="words"), "mean_words": rounded_mean(words)}


def _rows(profile: UserProfile) -> list[Row]:
    return [{"name": profile.name, "age": profile.age, "occupation": profile.occupation, "about": profile.complementary_info}]


USER_PROFILES = Stage(
    name="user_profiles",
    record=UserProfile,
    make=complete_profile,
    needs=(PERSONAS,),
    prompts=("user_profiles/complete",),
    calls={"user_profiles/complete": PromptCalls()},
    description=AssetDescription(
        group="sampling",
        description="Personas made ready for role-play: name, basic facts and a condensed paragraph (paper section 3.1, App. "
        "C.3). Every later prompt reads the formatted profile.",
        rows=_rows,
        summary=summarize_profiles,
    ),
)
