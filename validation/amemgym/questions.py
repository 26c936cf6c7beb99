"""Rules about the drafted questions."""

from collections.abc import Iterator

from assets.amemgym.questions import find_choice_faults
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import QuestionSet
from assets.recipe.amemgym import AMemGymRecipe
from assets.reporting.plurals import counted
from assets.text.text_checks import near_duplicates
from validation.amemgym.texts import DRAFTED_QUESTIONS, prose_rules
from validation.rules import Rule, expect, invariants


def questions_have_the_recipes_counts(record: QuestionSet, recipe: AMemGymRecipe) -> Iterator[str]:
    yield from expect(len(record.questions) == recipe.num_questions, f"has {counted(len(record.questions), 'question')}")
    for question in record.questions:
        types = len(question.required_info)
        yield from expect(types == recipe.num_states_per_question, f"{question.question_id} has {counted(types, 'type')}")
        for info in question.required_info:
            count = len(info.info_choices)
            yield from expect(count == recipe.num_choices_per_state, f"{info.info_type} has {counted(count, 'choice')}")


def questions_are_told_apart(record: QuestionSet, _: AMemGymRecipe) -> Iterator[str]:
    for first, second in near_duplicates([question.text for question in record.questions]):
        question_ids = (record.questions[first].question_id, record.questions[second].question_id)
        yield f"{' and '.join(question_ids)} share nearly all their words"


def choices_can_be_mentioned(record: QuestionSet, profile: UserProfile, recipe: AMemGymRecipe) -> Iterator[str]:
    for info in record.infos:
        yield from find_choice_faults(info.info_type, info.info_choices, profile=profile, recipe=recipe)


RULES = (
    Rule("question_counts", "Questions, types and choices are as many as the recipe says.", questions_have_the_recipes_counts),
    Rule("questions_differ", "Questions of a user differ, types within a question, and choices within a type.", invariants),
    Rule(
        "choices_mentioned",
        "Choices are what a person would mention: no absence, no bare level, nothing that the profile says.",
        choices_can_be_mentioned,
        reads=("user_profiles",),
    ),
    Rule("told_apart", "No two questions of a user share nearly all their words.", questions_are_told_apart),
    *prose_rules("Questions", DRAFTED_QUESTIONS),
)
