"""Stage 2: from a persona, its name and a short profile for role-play (section 3.1; App. C.3, user profile sampling)."""

import re

from pydantic import BaseModel

from assets.amemgym import stage_summaries
from assets.amemgym.personas.stage import PERSONAS
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import Persona, UserProfile
from assets.amemgym.text_checks import StyleCheck, TextInContext
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import ask_structured
from assets.records.base import Text
from assets.reporting.asset_description import AssetDescription, Row
from prompts.catalogue import load_prompt

PROFILE_WORD_LIMIT = 500
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

    name: Text
    profile: Text


async def complete_profile(persona: Persona, *, recipe: AMemGymRecipe, model: LanguageModel) -> UserProfile:
    """Find the persona's name and condense its texts. The name must occur in them, the paragraph stay under 500 words."""
    fields = basic_fields(persona)
    info = complementary_info(persona)

    style = StyleCheck(recipe.gates.max_reasks, strict=True, noun="Profile")

    def convert(reply: ProfileReply) -> UserProfile:
        if not occurs(reply.name, info):
            raise ValueError(f"The name {reply.name!r} does not occur in the complementary information.")
        if len(reply.profile.split()) >= PROFILE_WORD_LIMIT:
            raise ValueError(f"The profile has {len(reply.profile.split())} words; fewer than 500 are wanted.")
        style.check([profile_in_context(reply.profile, recipe=recipe)])
        return _profile(persona, fields, reply)

    prompt = load_prompt("user_profiles/complete").render(
        basic_profile=formatted(fields), complementary_info=info, language=recipe.language_name
    )
    return await ask_structured(model, prompt=prompt, reply=ProfileReply, convert=convert, recipe=recipe)


def profile_in_context(paragraph: str, *, recipe: AMemGymRecipe) -> TextInContext:
    """The paragraph as the style check sees it."""
    return TextInContext("profile", paragraph, recipe.language, finder=recipe.gates.contact_data)


def basic_fields(persona: Persona) -> dict[str, str]:
    """Label to value of the basic profile; what the persona lacks is left out, never shown empty."""
    level, subject = _words(persona.education_level), _words(persona.bachelors_field)
    place = ", ".join(part for part in (persona.city, persona.state, persona.country) if part)
    fields = {
        "Age": str(persona.age),
        "Gender": persona.sex.lower(),
        "Marital status": _words(persona.marital_status),
        "Education": f"{level} ({subject})" if level and subject else level or subject,
        "Occupation": _words(persona.occupation),
        "Lives in": place,
        "Hobbies and interests": ", ".join(persona.hobbies_and_interests_list),
        "Skills and expertise": ", ".join(persona.skills_and_expertise_list),
    }
    return {label: value for label, value in fields.items() if value}


def complementary_info(persona: Persona) -> str:
    """The persona's texts, one per line, without empty ones."""
    texts = [str(getattr(persona, name)) for name in COMPLEMENTARY]
    return "\n".join(text for text in dict.fromkeys(texts) if text)


def occurs(name: str, text: str) -> bool:
    """Whether the text has the name as whole words, in any case."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def formatted(fields: dict[str, str]) -> str:
    """One `label: value` line per field."""
    return "\n".join(f"{label}: {value}" for label, value in fields.items())


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


def _rows(profile: UserProfile) -> list[Row]:
    return [{"name": profile.name, "age": profile.age, "occupation": profile.occupation, "about": profile.complementary_info}]


USER_PROFILES = Stage(
    name="user_profiles",
    record=UserProfile,
    make=complete_profile,
    needs=(PERSONAS,),
    prompts=("user_profiles/complete",),
    description=AssetDescription(
        group="sampling",
        description="Personas made ready for role-play: name, basic facts and a condensed paragraph (paper section 3.1, App. "
        "C.3). Every later prompt reads the formatted profile.",
        rows=_rows,
        summary=stage_summaries.summarize_profiles,
    ),
)
