"""What must hold of the drafted questions."""

from collections.abc import Iterator

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.question import QuestionSet
from assets.reporting.plurals import counted
from validation.amemgym.texts import prose_rules, question_texts
from validation.rules import Rule, expect, invariants


def questions_have_the_recipes_counts(record: QuestionSet, recipe: AMemGymRecipe) -> Iterator[str]:
    """Exactly the recipe's numbers of questions, info types and choices."""
    yield from expect(len(record.questions) == recipe.num_questions, f"has {counted(len(record.questions), 'question')}")
    for question in record.questions:
        infos = question.required_info
        yield from expect(
            len(infos) == recipe.num_states_per_question, f"{question.question_id} has {counted(len(infos), 'type')}"
        )
        for info in infos:
            count = len(info.info_choices)
            yield from expect(count == recipe.num_choices_per_state, f"{info.info_type} has {counted(count, 'choice')}")


RULES = (
    Rule("question_counts", "Questions, types and choices are as many as the recipe says.", questions_have_the_recipes_counts),
    Rule("questions_differ", "Questions of a user differ, types within a question, and choices within a type.", invariants),
    *prose_rules("Questions", "question", question_texts),
)
