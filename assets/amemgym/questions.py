"""Stage 3: from the profile, the questions that the user may ask at any time, and what their answers depend on (App. C.3)."""

import itertools
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import Question, QuestionSet, RequiredInfo
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import PromptCalls, Stage
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import (
    PHRASE,
    PROSE,
    SHORT_NAME,
    VALUE,
    ReplySchema,
    SchemaPart,
    ask_structured,
    list_of,
    object_of,
)
from assets.recipe.amemgym import AMemGymRecipe
from assets.reporting.asset_description import AssetDescription, Metadata, Row
from assets.reporting.histogram import histogram
from assets.text.languages import FORMS
from assets.text.text_checks import StyleCheck, TextInContext, near_duplicates
from assets.text.words import count_tokens, words_of
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
        questions = tuple(map(_question, itertools.count(1), reply["questions"]))
        drafted = QuestionSet(user_id=profile.user_id, questions=questions)
        check_questions_apart(one.text for one in questions)
        check_choices_can_show(((info.info_type, info.info_choices) for info in drafted.infos), recipe=recipe)
        style.check(question_in_context(one.text, choices_of(one), recipe=recipe) for one in questions)
        return drafted

    return await ask_structured(model, prompt=prompt, reply=_reply_schema(recipe), convert=convert, settings=recipe.asking)


def check_questions_apart(texts: Iterable[str]) -> None:
    """Raise ValueError, with a sentence for the model, where two questions of a user ask nearly the same."""
    for first, second in near_duplicates(list(texts)):
        raise ValueError(f"Questions {first + 1} and {second + 1} share nearly all their words; ask something else.")


def check_choices_can_show(choices: Iterable[tuple[str, Sequence[str]]], *, recipe: AMemGymRecipe) -> None:
    """Raise ValueError, with a sentence for the model, where choices of a variable only say how much of it there is.

    No message could show such a value without saying it, so that the user would be lost at a gate much later. `choices`:
    those of each variable, with its name.
    """
    forms = FORMS.get(recipe.language)
    degrees = forms.degrees if forms else frozenset[str]()
    found: list[str] = []
    for name, values in choices:
        bare = [value for value in values if degrees and _is_bare_level(value, name, degrees)]
        # One of them may stand for nothing at all, as in none, dog, cat.
        if len(bare) > 1:
            found.append(f"{bare} of {name!r}")
    if found:
        raise ValueError(
            f"The choices {' and '.join(found)} are bare levels, which no message can show without saying them. "
            "In place of each name in two to five words what is so in this person's life: who, where, when, with what."
        )


def _is_bare_level(value: str, name: str, degrees: Container[str]) -> bool:
    """Return True for words of degree and numbers alone, beside words of the variable's name: 12 hours of work_hours."""
    telling = set(words_of(value)) - set(words_of(name))
    return all(word in degrees or word.isdigit() for word in telling)


def choices_of(question: Question) -> list[str]:
    """Return the choices of all information types of a drafted question."""
    choices: list[str] = []
    for info in question.required_info:
        choices.extend(info.info_choices)
    return choices


def question_in_context(text: str, choices: Sequence[str], *, recipe: AMemGymRecipe) -> TextInContext:
    """Return a question as the style check sees it, with the choices that would give its answer away."""
    return TextInContext("question", text, recipe.language, others=choices, finder=recipe.gates.contact_data)


def _reply_schema(recipe: AMemGymRecipe) -> ReplySchema[dict[str, list[dict[str, Any]]]]:
    """Return the paper's keys, with the recipe's numbers of everything."""

    def exactly(count: int, item: SchemaPart) -> SchemaPart:
        return list_of(item, min_items=count, max_items=count)

    info = object_of({"info_type": SHORT_NAME, "info_choices": exactly(recipe.num_choices_per_state, choice_part(recipe))})
    question = object_of({"question": PROSE, "required_info": exactly(recipe.num_states_per_question, info)})
    return ReplySchema(object_of({"questions": exactly(recipe.num_questions, question)}))


def choice_part(recipe: AMemGymRecipe) -> SchemaPart:
    """Return the schema of one choice: in English of two to six words; other languages write several words as one."""
    return PHRASE if recipe.language == "en" else VALUE


def _question(number: int, reply: dict[str, Any]) -> Question:
    infos: list[RequiredInfo] = []
    for info in reply["required_info"]:
        infos.append(RequiredInfo(info_type=info["info_type"], info_choices=info["info_choices"]))
    return Question(question_id=f"q{number:02d}", text=reply["question"], required_info=tuple(infos))


def summarize_questions(sets: Sequence[QuestionSet]) -> Metadata:
    """Return how many questions, and of how many different information types."""
    tokens: list[int] = []
    types: set[str] = set()
    for one in sets:
        for question in one.questions:
            tokens.append(count_tokens(question.text))
            types.update(info.info_type for info in question.required_info)
    return {
        "questions": len(tokens),
        "information_types": len(types),
        "lengths": histogram(tokens, unit="tokens"),
    }


def _rows(record: QuestionSet) -> Iterator[Row]:
    for question in record.questions:
        infos = {info.info_type: list(info.info_choices) for info in question.required_info}
        yield {"question": question.text, "required_info": infos}


QUESTIONS = Stage(
    name="questions",
    record=QuestionSet,
    make=draft_questions,
    needs=(USER_PROFILES,),
    prompts=("questions/draft",),
    calls={"questions/draft": PromptCalls()},
    version=2,
    description=AssetDescription(
        group="schema",
        description="Questions the user may ask at any time, each with the information types its answer depends on and their "
        "choices (paper section 3.1, App. C.3). Each user has exactly num_questions of them.",
        rows=_rows,
        summary=summarize_questions,
    ),
)
