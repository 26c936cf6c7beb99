"""Stage 3: from the profile, what the user may ask at any time and what the answers depend on (section 3.1; App. C.3)."""

import itertools
from typing import Any

from assets.amemgym import stage_summaries
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import Question, QuestionSet, RequiredInfo
from assets.amemgym.text_checks import StyleCheck, TextInContext
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import NAME, TEXT, ReplySchema, ask_structured, list_of, object_of
from assets.reporting.asset_description import AssetDescription, Row
from prompts.catalogue import load_prompt


async def draft_questions(profile: UserProfile, *, recipe: AMemGymRecipe, model: LanguageModel) -> QuestionSet:
    """Draft exactly `num_questions` questions with exactly the recipe's numbers of info types and choices."""
    prompt = load_prompt("questions/draft").render(
        user_profile=profile.formatted_str,
        start_date=recipe.start_date.isoformat(),
        num_questions=recipe.num_questions,
        num_states_per_question=recipe.num_states_per_question,
        num_choices_per_state=recipe.num_choices_per_state,
        num_total_months=recipe.num_total_months,
        language=recipe.language_name,
    )

    style = StyleCheck(recipe.gates.max_reasks, strict=True, noun="Question")

    def convert(reply: dict[str, list[dict[str, Any]]]) -> QuestionSet:
        drafted = QuestionSet(user_id=profile.user_id, questions=tuple(map(_question, itertools.count(1), reply["questions"])))
        style.check(question_in_context(one, recipe=recipe) for one in drafted.questions)
        return drafted

    return await ask_structured(model, prompt=prompt, reply=_reply_schema(recipe), convert=convert, recipe=recipe)


def question_in_context(question: Question, *, recipe: AMemGymRecipe) -> TextInContext:
    """A question as the style check sees it, with the choices that would give its answer away."""
    choices = [choice for info in question.required_info for choice in info.info_choices]
    return TextInContext("question", question.text, recipe.language, others=choices, finder=recipe.gates.contact_data)


def _reply_schema(recipe: AMemGymRecipe) -> ReplySchema[dict[str, list[dict[str, Any]]]]:
    """The paper's keys, with the recipe's numbers of everything."""
    choices, infos, wanted = recipe.num_choices_per_state, recipe.num_states_per_question, recipe.num_questions
    info = object_of({"info_type": NAME, "info_choices": list_of(NAME, min_items=choices, max_items=choices)})
    question = object_of({"question": TEXT, "required_info": list_of(info, min_items=infos, max_items=infos)})
    return ReplySchema(object_of({"questions": list_of(question, min_items=wanted, max_items=wanted)}))


def _question(number: int, reply: dict[str, Any]) -> Question:
    infos = tuple(RequiredInfo(info_type=one["info_type"], info_choices=one["info_choices"]) for one in reply["required_info"])
    return Question(question_id=f"q{number:02d}", text=reply["question"], required_info=infos)


def _rows(record: QuestionSet) -> list[Row]:
    return [
        {
            "question": question.text,
            "required_info": {info.info_type: list(info.info_choices) for info in question.required_info},
        }
        for question in record.questions
    ]


QUESTIONS = Stage(
    name="questions",
    record=QuestionSet,
    make=draft_questions,
    needs=(USER_PROFILES,),
    prompts=("questions/draft",),
    description=AssetDescription(
        group="schema",
        description="Questions the user may ask at any time, each with the information types its answer depends on and their "
        "choices (paper section 3.1, App. C.3). Each user has exactly num_questions of them.",
        rows=_rows,
        summary=stage_summaries.summarize_questions,
    ),
)
