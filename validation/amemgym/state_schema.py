"""Rules about the state schemas."""

from collections import Counter
from collections.abc import Iterator
from operator import attrgetter

from assets.amemgym.questions import find_choice_faults
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import QuestionSet
from assets.amemgym.records.state import JudgedSchema, StateSchema
from assets.amemgym.schema_gate import judged_text
from assets.amemgym.state_schema import originals_of
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import duplicates
from assets.reporting.plurals import counted
from assets.text.words import alike, spells
from validation.rules import AcceptingVotes, Rule, expect, invariants


def every_original_type_is_mapped_once(schema: StateSchema, questions: QuestionSet, _: AMemGymRecipe) -> Iterator[str]:
    mapped: Counter[str] = Counter()
    for variable in schema.variables:
        mapped.update(variable.merged_from)
    drafted = originals_of(questions)
    for name in drafted:
        yield from expect(mapped[name] == 1, f"maps the drafted type {name!r} {mapped[name]} times")
    for name in mapped:
        yield from expect(name in drafted, f"maps {name!r}, which nobody drafted")


def questions_are_rewritten(schema: StateSchema, questions: QuestionSet, _: AMemGymRecipe) -> Iterator[str]:
    drafted = {question.question_id: question.text for question in questions.questions}
    present = {question.question_id for question in schema.questions}
    wanted: dict[str, list[str]] = {}
    for name in drafted:
        yield from expect(name in present, f"question {name} is missing")
        wanted[name] = []
    variable_of: dict[str, str] = {}
    for variable in schema.variables:
        variable_of.update(dict.fromkeys(variable.merged_from, variable.name))
    for key, original in originals_of(questions).items():
        wanted[original.question_id].append(variable_of.get(key, ""))
    for question in schema.questions:
        name = question.question_id
        # Judges may have had a question worded anew; then its words are those that passed their gate.
        as_drafted = question.text == drafted.get(name) or (isinstance(schema, JudgedSchema) and schema.gate_records)
        yield from expect(bool(as_drafted), f"question {name} does not have its drafted words")
        right = list(question.required_info) == wanted.get(name)
        yield from expect(right, f"question {name} requires {list(question.required_info)}, its types are {wanted.get(name)}")


def schema_has_the_recipes_choices(schema: StateSchema, recipe: AMemGymRecipe) -> Iterator[str]:
    for variable in schema.variables:
        count = len(variable.choices)
        yield from expect(count == recipe.num_choices_per_state, f"{variable.name} has {counted(count, 'choice')}")


def choices_can_be_mentioned(schema: StateSchema, profile: UserProfile, recipe: AMemGymRecipe) -> Iterator[str]:
    for variable in schema.variables:
        yield from find_choice_faults(variable.name, variable.choices, profile=profile, recipe=recipe)


def schema_passed_its_gate(schema: StateSchema, recipe: AMemGymRecipe) -> Iterator[str]:
    if not recipe.gates.consistency or not isinstance(schema, JudgedSchema):
        return
    count = AcceptingVotes(schema.gate_records).too_few("schema", judged_text(schema), {}, policy=recipe.gates)
    if count is None:
        return
    refused = [vote for vote in schema.gate_records if not vote.accepted]
    found = f"; the last that refused found {refused[-1].reading}" if refused else ""
    yield f"choices and questions have {counted(count, 'accepting vote')}{found}"


def names_and_choices_differ(schema: StateSchema, _: AMemGymRecipe) -> Iterator[str]:
    for group in alike(map(attrgetter("name"), schema.variables)):
        yield f"the variables {group} read the same"
    for variable in schema.variables:
        for group in alike(variable.choices):
            yield f"the choices {group} of {variable.name!r} read the same"


def every_variable_serves_a_question(schema: StateSchema, _: AMemGymRecipe) -> Iterator[str]:
    """A variable that no question asks for is told in vain."""
    for variable in schema.variables:
        yield from expect(variable.name in schema.used, f"no question needs {variable.name!r}")


def questions_name_variables_once(schema: StateSchema, _: AMemGymRecipe) -> Iterator[str]:
    """A question needs different variables: two of its own information types were not merged into one."""
    for question in schema.questions:
        repeated = duplicates(question.required_info)
        yield from expect(not repeated, f"{question.question_id} names {repeated} twice")


def question_spells_no_value(schema: StateSchema, _: AMemGymRecipe) -> Iterator[str]:
    """A question that states a value can be answered without memory of it."""
    for question in schema.questions:
        for name in question.required_info:
            for value in schema.choices.get(name, []):
                if spells(question.text, value):
                    yield f"{question.question_id} gives {value!r} away"


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
    Rule(
        "choices_mentioned",
        "Choices are what a person would mention: no absence, no bare level, nothing that the profile says.",
        choices_can_be_mentioned,
        reads=("user_profiles",),
    ),
    Rule("schema_agrees", "Variables and choices differ, and questions name known ones.", invariants),
    Rule("no_orphans", "Every variable serves a question.", every_variable_serves_a_question),
    Rule("variables_differ", "A question names a variable once.", questions_name_variables_once),
    Rule(
        "schema_passed_gate",
        "Enough judges found each question decided by its variables, no choice that fails, no contradiction in the profile.",
        schema_passed_its_gate,
        of_votes=True,
    ),
    Rule("told_apart", "Variables and choices differ by more than case and spacing.", names_and_choices_differ),
    Rule("no_value_given_away", "No question spells a value of its variables.", question_spells_no_value, blocking=False),
)
