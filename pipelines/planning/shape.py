"""What decides how much a variant asks: the recipe's counts, and how each prompt's calls follow from them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from assets.recipe.audit_policy import AuditPolicy
from assets.recipe.gate_policy import GatePolicy
from assets.recipe.recipe import MAX_STATES_PER_QUERY, Recipe
from assets.records.base import Record
from prompts.catalogue import load_prompt


class Shape(Record):
    """The fields of a recipe that decide how many calls and tokens a user takes; not which words, users or models."""

    language: str
    num_questions: int
    num_states_per_question: int
    num_choices_per_state: int
    num_periods: int
    num_changes_per_period: int
    max_changes_per_state: int
    min_variants_per_question: int
    max_states_per_query: int = MAX_STATES_PER_QUERY
    gates: GatePolicy
    audit: AuditPolicy = AuditPolicy()

    @classmethod
    def of(cls, recipe: Recipe) -> "Shape":
        """The shape of a recipe."""
        return cls.model_validate({name: getattr(recipe, name) for name in cls.model_fields})

    def distance(self, other: "Shape") -> float:
        """How unlike two shapes are: the sum of the logarithms of their counts' ratios."""
        counts = (name for name, info in type(self).model_fields.items() if info.annotation is int)
        return sum(abs(math.log(getattr(self, name) / getattr(other, name))) for name in counts)


@dataclass(frozen=True)
class Habit:
    """How a prompt is used for one user. Calls grow with `driver`; in sequence where each call needs the one before.

    `always`: a user who is finished has asked it at least once.
    """

    driver: Callable[[Shape], float]
    in_sequence: bool = False
    always: bool = True


def _once(_: Shape) -> float:
    return 1.0


def _per_group_told(shape: Shape) -> float:
    """Once for all initial states, or for each group where the recipe wants fewer in a query."""
    grouped = shape.max_states_per_query < MAX_STATES_PER_QUERY
    return shape.num_questions * shape.num_states_per_question / shape.max_states_per_query if grouped else 1.0


def _per_period(shape: Shape) -> float:
    return float(shape.num_periods)


def _per_question(shape: Shape) -> float:
    return float(shape.num_questions)


def _per_session(shape: Shape) -> float:
    """Events of all periods, and initial sessions that cover all states."""
    return float(shape.num_periods * shape.num_changes_per_period + shape.num_questions * shape.num_states_per_question)


def _per_session_vote(shape: Shape) -> float:
    return _per_session(shape) * shape.gates.votes_needed


def _per_answer_vote(shape: Shape) -> float:
    return _per_question(shape) * shape.gates.votes_needed


def _per_choice_vote(shape: Shape) -> float:
    return _per_answer_vote(shape) * shape.gates.reverse


def _per_guess(shape: Shape) -> float:
    return _per_question(shape) * shape.audit.guesses * shape.audit.enabled


HABITS = {
    "user_profiles/complete": Habit(_once),
    "questions/draft": Habit(_once),
    "state_schema/refine": Habit(_once),
    "state_schema/unify": Habit(_once, always=False),
    "state_trajectory/initial": Habit(_once),
    "state_trajectory/update": Habit(_per_period, in_sequence=True),
    "events/elaborate": Habit(_per_period),
    "session_queries/initial": Habit(_per_group_told),
    "session_queries/update": Habit(_per_period),
    "session_queries/check_exposure": Habit(_per_session_vote),
    "session_queries/refine": Habit(_per_session, always=False),
    "answers/draft": Habit(_per_question),
    "answers/check": Habit(_per_answer_vote),
    "answers/choose": Habit(_per_choice_vote, always=False),
    "answers/refine": Habit(_per_question, always=False),
    "audits/options_only": Habit(_per_guess, always=False),
    "audits/question_only": Habit(_per_guess, always=False),
    "audits/profile_only": Habit(_per_guess, always=False),
}
ALWAYS = frozenset(name for name, habit in HABITS.items() if habit.always)


def calls_per_user(recipe: Recipe, stage: str) -> float:
    """About how many calls a user takes at a stage, if each of its prompts is asked for all that it may be asked for."""
    shape = Shape.of(recipe)
    return sum(habit.driver(shape) for prompt, habit in HABITS.items() if stage_of(prompt) == stage)


def fingerprints() -> dict[str, str]:
    """The present fingerprint of every prompt that generation uses."""
    return {name: load_prompt(name).fingerprint for name in HABITS}


def stage_of(prompt: str) -> str:
    """The stage a prompt belongs to."""
    return prompt.partition("/")[0]


STAGES = tuple(dict.fromkeys(map(stage_of, HABITS)))
