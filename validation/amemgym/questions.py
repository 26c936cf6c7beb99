"""What must hold of the drafted questions."""

from collections.abc import Iterator

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.question import QuestionSet
from assets.llm.text import spells
from validation.rules import Rule, expect, invariants


def questions_have_the_recipes_counts(record: QuestionSet, recipe: AMemGymRecipe) -> Iterator[str]:
    """Exactly the recipe's numbers of questions, info types and choices."""
    yield from expect(len(record.questions) == recipe.num_questions, f"has {len(record.questions)} questions")
    for question in record.questions:
        infos = question.required_info
        yield from expect(len(infos) == recipe.num_states_per_question, f"{question.question_id} has {len(infos)} types")
        for info in infos:
            count = len(info.info_choices)
            yield from expect(count == recipe.num_choices_per_state, f"{info.info_type} has {count} choices")


def question_spells_no_choice(record: QuestionSet, _: AMemGymRecipe) -> Iterator[str]:
    """A question that states a value can be answered without memory of it."""
    for question in record.questions:
        for choice in (choice for info in question.required_info for choice in info.info_choices):
            yield from expect(not spells(question.text, choice), f"{question.question_id} gives {choice!r} away")


RULES = (
    Rule("question_counts", "Questions, types and choices are as many as the recipe says.", questions_have_the_recipes_counts),
    Rule("questions_differ", "Questions of a user differ, types within a question, and choices within a type.", invariants),
    Rule("no_choice_given_away", "No question spells a choice.", question_spells_no_choice, blocking=False),
)
