"""Rules about the answers and their keys."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from operator import contains

from assets.amemgym.answers.variants import lived_variants
from assets.amemgym.records.question import AnswerSet, QuestionAnswers
from assets.amemgym.records.state import SchemaQuestion, StateSchema, StateTrajectory
from assets.recipe.amemgym import AMemGymRecipe
from assets.reporting.plurals import counted
from validation.amemgym.texts import ANSWERS, PLAIN_PROSE, options_are_told_apart, text_rules
from validation.rules import AcceptingVotes, Rule, SetRule, Violation, expect, invariants

# A stop inside a number or an abbreviation has no space after it.
SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)")
# In standard deviations. By chance one position in some 30,000 lies beyond.
FAVOUR_LIMIT = 4.0


def _questions_with_answers(record: AnswerSet, schema: StateSchema) -> Iterator[tuple[SchemaQuestion, QuestionAnswers]]:
    """Yield each of the schema's questions that has answers, with its answers."""
    answers = {question.question_id: question for question in record.questions}
    for question in schema.questions:
        # A question without answers breaks a rule of its own.
        if question.question_id in answers:
            yield question, answers[question.question_id]


def every_question_is_answered(record: AnswerSet, schema: StateSchema, _: AMemGymRecipe) -> Iterator[str]:
    answered = [question.question_id for question in record.questions]
    asked = [question.question_id for question in schema.questions]
    yield from expect(answered == asked, f"answers the questions {answered}, the schema has {asked}")


def questions_have_enough_options(record: AnswerSet, recipe: AMemGymRecipe) -> Iterator[str]:
    for question in record.questions:
        count = len(question.choices)
        golden = len(question.golden)
        yield from expect(count >= recipe.min_variants_per_question, f"{question.question_id} has {counted(count, 'option')}")
        yield from expect(golden == recipe.num_periods + 1, f"{question.question_id} has {counted(golden, 'golden choice')}")


def variants_are_legal(record: AnswerSet, schema: StateSchema, _: AMemGymRecipe) -> Iterator[str]:
    for question, answers in _questions_with_answers(record, schema):
        choices = [schema.choices.get(name, []) for name in question.required_info]
        for option in answers.choices:
            # A variant of the wrong length is none either, so the values are compared as far as they go.
            fits = all(map(contains, choices, option.state))
            if len(option.state) != len(choices) or not fits:
                yield f"{option.choice_id} is for {list(option.state)}, which is no variant of its question"


def golden_options_are_right(
    record: AnswerSet, schema: StateSchema, trajectory: StateTrajectory, _: AMemGymRecipe
) -> Iterator[str]:
    for question, answers in _questions_with_answers(record, schema):
        fitting: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for option in answers.choices:
            fitting[option.state].append(option.choice_id)
        lived = lived_variants(question, trajectory)
        # Keys that are too few or too many break a rule of their own.
        for period, (variant, golden) in enumerate(zip(lived, answers.golden, strict=False)):
            if fitting[variant] != [golden]:
                yield f"in period {period} the key of {question.question_id} is {golden}, right is {fitting[variant]}"


def types_say_what_occurred(
    record: AnswerSet, schema: StateSchema, trajectory: StateTrajectory, _: AMemGymRecipe
) -> Iterator[str]:
    """An option is "experience" when the user lived through its variant, else "random"."""
    for question, answers in _questions_with_answers(record, schema):
        states = set(lived_variants(question, trajectory))
        for option in answers.choices:
            right = "experience" if option.state in states else "random"
            if option.type != right:
                yield f"{option.choice_id} has the type {option.type!r}, it is {right!r}"


def answers_passed_their_gates(record: AnswerSet, schema: StateSchema, recipe: AMemGymRecipe) -> Iterator[str]:
    gates: tuple[str, ...] = ("recovery", "choice") if recipe.gates.reverse else ("recovery",)
    votes = AcceptingVotes(record.gate_records)
    for question, answers in _questions_with_answers(record, schema):
        for option in answers.choices:
            variant = dict(zip(question.required_info, option.state, strict=False))
            for gate in gates:
                count = votes.too_few(gate, option.answer, variant, policy=recipe.gates)
                if count is not None:
                    yield f"{option.choice_id} has {counted(count, 'accepting vote')} of the {gate} gate"


def answers_are_a_few_sentences(record: AnswerSet, _: AMemGymRecipe) -> Iterator[str]:
    """An answer has two or three sentences; one more or fewer is accepted."""
    for question in record.questions:
        for choice in question.choices:
            count = len(SENTENCE_END.findall(choice.answer))
            if not 1 <= count <= 4:
                yield f"{choice.choice_id} has {count} sentences"


@dataclass
class PositionCount:
    """Options shown and right at one position, how many chance explains, and the first user with one that was right."""

    shown: int = 0
    right: int = 0
    expected: float = 0.0
    variance: float = 0.0
    first: str = ""


class NoPositionIsFavoured:
    """Accumulator of the rule that no position has the option that is right at first more often than a shuffle would."""

    def __init__(self) -> None:
        self._positions: defaultdict[int, PositionCount] = defaultdict(PositionCount)

    def add(self, record: AnswerSet) -> None:
        for question in record.questions:
            # Later keys depend on the first one, so they are no further draws.
            if not question.golden:
                continue
            chance = 1 / len(question.choices)
            for number, choice in enumerate(question.choices):
                position = self._positions[number]
                right = choice.choice_id == question.golden[0]
                position.shown += 1
                position.right += right
                position.expected += chance
                position.variance += chance * (1 - chance)
                if right and not position.first:
                    position.first = record.user_id

    def violations(self) -> Iterator[Violation]:
        for number, position in sorted(self._positions.items()):
            if position.right - position.expected > FAVOUR_LIMIT * math.sqrt(position.variance):
                times = f"in {position.right} of {counted(position.shown, 'question')}, {position.expected:.1f} were expected"
                yield Violation(position.first, f"option {number + 1} is right at first {times}")


RULES = (
    Rule("options_differ", "Options of a question differ in id, variant and words, and golden ones exist.", invariants),
    Rule("all_answered", "Every question is answered.", every_question_is_answered, reads=("state_schema",)),
    Rule("enough_options", "Questions have enough options and a golden one per period.", questions_have_enough_options),
    Rule("legal_variants", "Options are for variants of their question.", variants_are_legal, reads=("state_schema",)),
    Rule(
        "golden_is_right",
        "In every period exactly one option matches the state, and it is the golden one.",
        golden_options_are_right,
        reads=("state_schema", "state_trajectory"),
    ),
    Rule(
        "types_are_right",
        "Options say whether the user lived through their variant.",
        types_say_what_occurred,
        reads=("state_schema", "state_trajectory"),
    ),
    Rule(
        "answers_passed_gates",
        "Enough judges read the variant out of every answer, and chose the answer for its variant.",
        answers_passed_their_gates,
        reads=("state_schema",),
        of_votes=True,
    ),
    Rule(
        "a_few_sentences",
        "Answers have two or three sentences.",
        answers_are_a_few_sentences,
        blocking=False,
        check=PLAIN_PROSE,
    ),
    *text_rules("Answers", ANSWERS),
    Rule("options_apart", "Options of a question differ in more than a few words.", options_are_told_apart),
    SetRule("no_favoured_position", "No position is right more often than by chance.", NoPositionIsFavoured, blocking=False),
)
