"""What must hold of the state schemas."""

from collections import Counter
from collections.abc import Iterator

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.question import QuestionSet
from assets.amemgym.records.state import StateSchema
from assets.amemgym.state_schema import originals_of
from assets.llm.text import alike, spells
from validation.rules import Rule, expect, invariants


def every_original_type_is_mapped_once(schema: StateSchema, questions: QuestionSet, _: AMemGymRecipe) -> Iterator[str]:
    """Every drafted info type is merged into exactly one variable."""
    mapped = Counter(name for variable in schema.variables for name in variable.merged_from)
    drafted = originals_of(questions)
    for name in drafted:
        yield from expect(mapped[name] == 1, f"maps the drafted type {name!r} {mapped[name]} times")
    yield from (f"maps {name!r}, which nobody drafted" for name in mapped if name not in drafted)


def questions_are_rewritten(schema: StateSchema, questions: QuestionSet, _: AMemGymRecipe) -> Iterator[str]:
    """Each question keeps its id and words, and requires the variables that its types were merged into."""
    drafted, present = {one.question_id: one.text for one in questions.questions}, {one.question_id for one in schema.questions}
    yield from (f"question {name} is missing" for name in drafted if name not in present)
    wanted: dict[str, list[str]] = {name: [] for name in drafted}
    variable_of = {key: variable.name for variable in schema.variables for key in variable.merged_from}
    for key, original in originals_of(questions).items():
        wanted[original.question_id].append(variable_of.get(key, ""))
    for question in schema.questions:
        name = question.question_id
        yield from expect(question.text == drafted.get(name), f"question {name} does not have its drafted words")
        right = list(question.required_info) == wanted.get(name)
        yield from expect(right, f"question {name} requires {list(question.required_info)}, its types are {wanted.get(name)}")


def schema_has_the_recipes_choices(schema: StateSchema, recipe: AMemGymRecipe) -> Iterator[str]:
    """Every variable has the recipe's number of choices."""
    for variable in schema.variables:
        count = len(variable.choices)
        yield from expect(count == recipe.num_choices_per_state, f"{variable.name} has {count} choices")


def names_and_choices_differ(schema: StateSchema, _: AMemGymRecipe) -> Iterator[str]:
    """Two variables, or two choices of one, differ by more than case, spaces and underscores."""
    yield from (f"the variables {group} read the same" for group in alike(one.name for one in schema.variables))
    for variable in schema.variables:
        yield from (f"the choices {group} of {variable.name!r} read the same" for group in alike(variable.choices))


def question_spells_no_value(schema: StateSchema, _: AMemGymRecipe) -> Iterator[str]:
    """A question that states a value can be answered without memory of it."""
    for question in schema.questions:
        for value in (value for name in question.required_info for value in schema.choices.get(name, [])):
            yield from expect(not spells(question.text, value), f"{question.question_id} gives {value!r} away")


RULES = (
    Rule(
        "types_mapped_once",
        "Every drafted type maps to exactly one variable.",
        every_original_type_is_mapped_once,
        reads=("questions",),
    ),
    Rule(
        "questions_rewritten",
        "Questions keep their words and require the variables of their types.",
        questions_are_rewritten,
        reads=("questions",),
    ),
    Rule("choice_counts", "Every variable has the recipe's number of choices.", schema_has_the_recipes_choices),
    Rule("schema_agrees", "Variables and choices differ, each serves a question, and questions name known ones.", invariants),
    Rule("told_apart", "Variables and choices differ by more than case and spacing.", names_and_choices_differ),
    Rule("no_value_given_away", "No question spells a value of its variables.", question_spells_no_value, blocking=False),
)
