"""Stage 3: what the user may ask at any time, and what the answers hinge on (section 3.1; App. C.3, questions)."""

from pydantic import BaseModel, Field

from assets.asking import Ask, ask
from assets.ports import LanguageModel
from assets.records.base import Name, Text
from assets.records.profile import UserProfile
from assets.records.question import Question, QuestionSet, RequiredInfo
from assets.records.recipe import Recipe
from assets.stage import Face, Row, stage_asset
from assets.stage_kind import Stage
from assets.user_profiles import USER_PROFILES
from prompts.catalogue import load_prompt


class InfoReply(BaseModel):
    """One piece of required information."""

    info_type: Name
    info_choices: list[Name] = Field(min_length=2)


class QuestionReply(BaseModel):
    """One question with its required information."""

    question: Text
    required_info: list[InfoReply] = Field(min_length=1)


class QuestionsReply(BaseModel):
    """The paper's key."""

    questions: list[QuestionReply]


async def draft_questions(profile: UserProfile, *, recipe: Recipe, model: LanguageModel) -> QuestionSet:
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

    def read(reply: QuestionsReply) -> QuestionSet:
        _check_counts(reply, recipe)
        return QuestionSet(
            user_id=profile.user_id, questions=tuple(map(_question, range(recipe.num_questions), reply.questions))
        )

    return await ask(model, Ask(prompt, QuestionsReply, read), recipe=recipe)


def _check_counts(reply: QuestionsReply, recipe: Recipe) -> None:
    if len(reply.questions) != recipe.num_questions:
        raise ValueError(f"There are {len(reply.questions)} questions; exactly {recipe.num_questions} are wanted.")
    for question in reply.questions:
        if len(question.required_info) != recipe.num_states_per_question:
            raise ValueError(
                f"{question.question!r} lists {len(question.required_info)} pieces of required information; "
                f"exactly {recipe.num_states_per_question} are wanted."
            )
        for info in question.required_info:
            if len(info.info_choices) != recipe.num_choices_per_state:
                raise ValueError(
                    f"{info.info_type!r} has {len(info.info_choices)} choices; "
                    f"exactly {recipe.num_choices_per_state} are wanted."
                )


def _question(index: int, reply: QuestionReply) -> Question:
    infos = tuple(RequiredInfo(info_type=info.info_type, info_choices=tuple(info.info_choices)) for info in reply.required_info)
    return Question(question_id=f"q{index + 1:02d}", text=reply.question, required_info=infos)


def _rows(record: QuestionSet) -> list[Row]:
    return [
        {
            "question": question.text,
            "required_info": {info.info_type: list(info.info_choices) for info in question.required_info},
        }
        for question in record.questions
    ]


QUESTIONS = Stage(
    name="questions", record=QuestionSet, make=draft_questions, needs=(USER_PROFILES,), prompts=("questions/draft",)
)
questions = stage_asset(
    QUESTIONS,
    Face(
        group="schema",
        description="Questions the user may ask at any time, each with the information types its answer depends on and their "
        "choices (paper section 3.1, App. C.3). Each user has exactly num_questions of them.",
        rows=_rows,
    ),
)
