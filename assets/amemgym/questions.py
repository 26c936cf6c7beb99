"""Stage 3: from the profile, the questions that the user may ask at any time, and what their answers depend on (App. C.3)."""

from collections import defaultdict
from collections.abc import Awaitable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import ceil
from typing import Any

from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import Question, QuestionSet, RequiredInfo
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import PromptCalls, Stage
from assets.llm.async_calls import gather_all
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
from assets.reporting.asset_description import AssetDescription, Row
from assets.text.languages import FORMS, common_words
from assets.text.text_checks import SENTENCE_END, StyleCheck, TextInContext, blocking_faults, near_duplicates
from assets.text.words import folded, words_of
from prompts.catalogue import load_prompt

# A call writes few questions, each call about its own areas of life: several write at once, and nobody waits for a long reply.
QUESTIONS_PER_CALL = 5
MOST_CALLS = 4  # so that each has two areas to choose from
AREAS = (
    "work and duties",
    "the home and the household",
    "health, sleep and sport",
    "money and what to buy",
    "nature and journeys",
    "family, friends and company",
    "learning and plans",
    "crafts, music and other things to do at home",
)


async def draft_questions(profile: UserProfile, *, recipe: AMemGymRecipe, model: LanguageModel) -> QuestionSet:
    """Draft exactly `num_questions` questions with exactly the recipe's numbers of info types and choices.

    Questions with a fault are drafted anew, and only these.
    """
    calls = _draft_calls(recipe)
    drafting: list[Awaitable[tuple[Question, ...]]] = []
    for number in range(calls):
        first = recipe.num_questions * number // calls
        end = recipe.num_questions * (number + 1) // calls
        areas = "; ".join(AREAS[number::calls]) if calls > 1 else ""
        drafting.append(_draft(profile, range(first, end), areas=areas, recipe=recipe, model=model))
    questions = tuple(chain.from_iterable(await gather_all(*drafting)))
    faults = find_question_faults(questions, profile=profile, recipe=recipe)
    if faults:
        questions = await redraft_questions(profile, questions, faults, recipe=recipe, model=model)
    return QuestionSet(user_id=profile.user_id, questions=questions)


def _draft_calls(recipe: AMemGymRecipe) -> int:
    return min(ceil(recipe.num_questions / QUESTIONS_PER_CALL), MOST_CALLS)


async def _draft(
    profile: UserProfile, places: range, *, areas: str, recipe: AMemGymRecipe, model: LanguageModel
) -> tuple[Question, ...]:
    """Draft the user's questions at these places, from 0, in one call. `areas`: what they are about; "" for all of life."""
    count = len(places)
    prompt = load_prompt("questions/draft").render(num_questions=count, areas=areas, **_common_data(profile, recipe))

    def convert(reply: dict[str, list[dict[str, Any]]]) -> tuple[Question, ...]:
        replies = zip(places, reply["questions"], strict=True)
        return tuple(_question(f"q{place + 1:02d}", drafted) for place, drafted in replies)

    # The paper's keys, with the recipe's numbers of everything.
    schema: ReplySchema[dict[str, list[dict[str, Any]]]] = ReplySchema(
        object_of({"questions": _exactly(count, _question_part(recipe))})
    )
    return await ask_structured(model, prompt=prompt, reply=schema, convert=convert, settings=recipe.asking)


async def redraft_questions(
    profile: UserProfile,
    questions: Sequence[Question],
    faults: Mapping[str, Sequence[str]],
    *,
    recipe: AMemGymRecipe,
    model: LanguageModel,
    sample: int = 0,
) -> tuple[Question, ...]:
    """Return the questions with new ones in place of those with faults.

    `faults`: by question id, sentences for the writer. Where a new question has an info type that stands elsewhere, it has the
    same choices.
    """
    refused: dict[str, dict[str, object]] = {}
    others: dict[str, dict[str, list[str]]] = {}
    for question in questions:
        infos = {info.info_type: list(info.info_choices) for info in question.required_info}
        found = faults.get(question.question_id)
        if found:
            refused[question.question_id] = {"question": question.text, "required_info": infos, "faults": list(found)}
        else:
            others[question.text] = infos
    prompt = load_prompt("questions/redraft").render(questions=refused, other_questions=others, **_common_data(profile, recipe))
    style = StyleCheck(recipe.gates.max_reasks, strict=True, noun="Question")

    def convert(reply: dict[str, dict[str, Any]]) -> tuple[Question, ...]:
        redrafted = {question_id: _question(question_id, drafted) for question_id, drafted in reply.items()}
        after = tuple(redrafted.get(question.question_id, question) for question in questions)
        _check_types_agree(after, redrafted)
        check_room(len({info.info_type for question in after for info in question.required_info}), recipe)
        for first, second in near_duplicates([question.text for question in after]):
            raise ValueError(f"Questions {first + 1} and {second + 1} share nearly all their words; ask something else.")
        for question in redrafted.values():
            for info in question.required_info:
                check_choices(info.info_type, info.info_choices, profile=profile, recipe=recipe)
        style.check(question_in_context(question.text, choices_of(question), recipe=recipe) for question in redrafted.values())
        return after

    reply_schema: ReplySchema[dict[str, dict[str, Any]]] = ReplySchema(
        object_of(dict.fromkeys(refused, _question_part(recipe)))
    )
    return await ask_structured(
        model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, settings=recipe.asking
    )


def _common_data(profile: UserProfile, recipe: AMemGymRecipe) -> dict[str, object]:
    """Return what both prompts are given."""
    return {
        "user_profile": profile.in_prompt,
        "start_date": recipe.start_date.isoformat(),
        "num_states_per_question": recipe.num_states_per_question,
        "num_choices_per_state": recipe.num_choices_per_state,
        "num_total_months": recipe.num_total_months,
        "language": recipe.language_name,
    }


def find_question_faults(questions: Sequence[Question], *, profile: UserProfile, recipe: AMemGymRecipe) -> dict[str, list[str]]:
    """Return the questions that have to be drafted anew, by id, each with what is wrong with it."""
    faults: defaultdict[str, list[str]] = defaultdict(list)
    for question in questions:
        found = faults[question.question_id]
        for info in question.required_info:
            found.extend(find_choice_faults(info.info_type, info.info_choices, profile=profile, recipe=recipe))
        context = question_in_context(question.text, choices_of(question), recipe=recipe)
        found.extend(f"The question {fault}" for fault in blocking_faults(context))
    for first, second in near_duplicates([question.text for question in questions]):
        other = questions[first].text
        faults[questions[second].question_id].append(f"It shares nearly all its words with {other!r}; ask something else.")
    return {question_id: found for question_id, found in faults.items() if found}


def _check_types_agree(questions: Iterable[Question], redrafted: Mapping[str, Question]) -> None:
    """Raise ValueError where a new question has an info type of another question with other choices."""
    for question in questions:
        known = {folded(info.info_type): info for info in question.required_info}
        for question_id, new in redrafted.items():
            for info in new.required_info:
                if question_id != question.question_id and known.get(folded(info.info_type), info) != info:
                    raise ValueError(
                        f"{info.info_type!r} stands for information of another question; ask for other information, "
                        "or take its name and choices to the letter."
                    )


def check_room(types: int, recipe: AMemGymRecipe) -> None:
    """Raise ValueError, with a sentence for the model, where so few different info types leave no room for the changes."""
    # A variable changes at most once in a period.
    per_variable = min(recipe.max_changes_per_state, recipe.num_periods)
    if types * per_variable < recipe.fewest_changes * recipe.num_periods:
        needed = -(-recipe.fewest_changes * recipe.num_periods // per_variable)
        raise ValueError(f"{types} variables are too few for the changes to come; keep at least {needed} apart.")


def check_choices(name: str, values: Sequence[str], *, profile: UserProfile, recipe: AMemGymRecipe) -> None:
    """Raise ValueError, with sentences for the model, where values of a variable are such as `find_choice_faults` finds."""
    found = list(find_choice_faults(name, values, profile=profile, recipe=recipe))
    if found:
        raise ValueError(" ".join(found))


def find_choice_faults(name: str, values: Sequence[str], *, profile: UserProfile, recipe: AMemGymRecipe) -> Iterator[str]:
    """Yield a sentence for each value that only says how much there is, that something is not so, or what the profile says.

    Nobody mentions such a value, or no message is needed to know it, so that the user would be lost at a gate much later.
    """
    forms = FORMS.get(recipe.language)
    for value in values:
        if forms and forms.absence and forms.absence.search(value.replace("_", " ")):
            yield (
                f"{value!r} of {name!r} says that something is not so or is as always, which nobody mentions; "
                "write what the person does, uses or has instead."
            )
        elif forms and forms.degrees and _is_bare_level(value, name, forms.degrees):
            yield (
                f"{value!r} of {name!r} is a bare level, which no message can show without saying it; "
                "write in two to five words what is so in this person's life: who, where, when, with what."
            )
        elif is_told(value, profile.in_prompt, language=recipe.language):
            yield f"{value!r} of {name!r} stands in the profile; choose values that the profile leaves open."


def _is_bare_level(value: str, name: str, degrees: Container[str]) -> bool:
    """Return True for words of degree and numbers alone, beside words of the variable's name: 12 hours of work_hours."""
    telling = set(words_of(value)) - set(words_of(name))
    return all(word in degrees or word.isdigit() for word in telling)


def is_told(value: str, profile: str, *, language: str) -> bool:
    """Return True where one sentence of the profile has all of the value's words that tell something, if these are several."""
    telling = set(words_of(value)) - common_words(language)
    if len(telling) < 2:
        return False
    return any(telling.issubset(words_of(sentence)) for sentence in SENTENCE_END.split(profile))


def choices_of(question: Question) -> list[str]:
    """Return the choices of all information types of a drafted question."""
    choices: list[str] = []
    for info in question.required_info:
        choices.extend(info.info_choices)
    return choices


def question_in_context(text: str, choices: Sequence[str], *, recipe: AMemGymRecipe) -> TextInContext:
    """Return a question as the style check sees it, with the choices that would give its answer away."""
    return TextInContext("question", text, recipe.language, others=choices)


def _question_part(recipe: AMemGymRecipe) -> SchemaPart:
    info = object_of({"info_type": SHORT_NAME, "info_choices": _exactly(recipe.num_choices_per_state, choice_part(recipe))})
    return object_of({"question": PROSE, "required_info": _exactly(recipe.num_states_per_question, info)})


def _exactly(count: int, item: SchemaPart) -> SchemaPart:
    return list_of(item, min_items=count, max_items=count)


def choice_part(recipe: AMemGymRecipe) -> SchemaPart:
    """Return the schema of one choice: in English of two to six words; other languages write several words as one."""
    return PHRASE if recipe.language == "en" else VALUE


def _question(question_id: str, reply: dict[str, Any]) -> Question:
    infos: list[RequiredInfo] = []
    for info in reply["required_info"]:
        infos.append(RequiredInfo(info_type=info["info_type"], info_choices=info["info_choices"]))
    return Question(question_id=question_id, text=reply["question"], required_info=tuple(infos))


def _rows(record: QuestionSet) -> Iterator[Row]:
    for question in record.questions:
        infos = {info.info_type: list(info.info_choices) for info in question.required_info}
        yield {"question": question.text, "required_info": infos}


QUESTIONS = Stage(
    name="questions",
    record=QuestionSet,
    make=draft_questions,
    needs=(USER_PROFILES,),
    prompts=("questions/draft", "questions/redraft"),
    calls={"questions/draft": PromptCalls(_draft_calls), "questions/redraft": PromptCalls(always=False)},
    version=4,
    passed_by_spares=True,
    description=AssetDescription(
        group="states",
        description="Questions the user may ask at any time, each with the information types its answer depends on and their "
        "choices (paper section 3.1, App. C.3). Each user has exactly num_questions of them.",
        rows=_rows,
    ),
)
