"""How many calls a user takes: the counts of a recipe, and how each prompt's calls follow from them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assets.amemgym.recipe import MAX_STATES_PER_QUERY, AMemGymRecipe
from assets.amemgym.session_queries.exposure_gate import queries_per_call
from assets.recipe.policies import AuditPolicy, GatePolicy
from assets.recipe.recipe import Recipe
from assets.records.base import Record
from prompts.catalogue import load_prompt

REWRITTEN_QUERIES = 0.1  # of all: 6.2 of a base user's 60, as in defaults.yaml


class RecipeSize(Record):
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
    def of(cls, recipe: AMemGymRecipe) -> "RecipeSize":
        fields = {name: getattr(recipe, name) for name in cls.model_fields}
        return cls.model_validate({**fields, "audit": recipe.audit.model_copy(update={"model": None})})

    def distance(self, other: "RecipeSize") -> float:
        """How different two sizes are: the sum of the logarithms of their counts' ratios."""
        counts = (name for name, info in type(self).model_fields.items() if info.annotation is int)
        return sum(abs(math.log(getattr(self, name) / getattr(other, name))) for name in counts)


@dataclass(frozen=True)
class PromptUsage:
    """What one prompt took for one user; tokens are those of all its calls."""

    calls: float
    input_tokens: float
    output_tokens: float


UserUsage = Mapping[str, PromptUsage]  # by prompt


@dataclass(frozen=True)
class PromptCalls:
    """How often a prompt is called for one user. Calls grow with `scale`; in sequence where each call needs the one before.

    `always`: a user who is finished has asked it at least once.
    """

    scale: Callable[[RecipeSize], float]
    in_sequence: bool = False
    always: bool = True


def _once(_: RecipeSize) -> float:
    return 1.0


def _per_initial_query(size: RecipeSize) -> float:
    """Once for all initial states, or for each group where the recipe wants fewer in a query."""
    grouped = size.max_states_per_query < MAX_STATES_PER_QUERY
    return size.num_questions * size.num_states_per_question / size.max_states_per_query if grouped else 1.0


def _per_period(size: RecipeSize) -> float:
    return float(size.num_periods)


def _per_question(size: RecipeSize) -> float:
    return float(size.num_questions)


def _per_session(size: RecipeSize) -> float:
    """Events of all periods, and initial sessions that cover all states."""
    return float(size.num_periods * size.num_changes_per_period + size.num_questions * size.num_states_per_question)


def _per_session_vote(size: RecipeSize) -> float:
    """Votes on all queries, which share calls, and on those that are written anew, which come too late to share many."""
    shared = max(1.0, _per_session(size) / queries_per_call(size.gates))
    return _votes(size, "exposure") * (shared + REWRITTEN_QUERIES * _per_session(size))


def _per_schema_vote(size: RecipeSize) -> float:
    return float(_votes(size, "schema") * size.gates.consistency)


def _per_story_vote(size: RecipeSize) -> float:
    """Votes on all summaries and all events."""
    shared = size.gates.texts_per_call * (size.num_changes_per_period + 1)
    texts = {"summary": size.num_periods, "event": size.num_periods * size.num_changes_per_period}
    return size.gates.consistency * sum(_votes(size, gate) * max(1.0, count / shared) for gate, count in texts.items())


def _per_answer_vote(size: RecipeSize) -> float:
    return _votes(size, "recovery") * _answer_calls(size)


def _per_choice_vote(size: RecipeSize) -> float:
    return _votes(size, "choice") * _answer_calls(size) * size.gates.reverse


def _votes(size: RecipeSize, gate: str) -> int:
    """The votes that accept a first draft."""
    return size.gates.votes_for(gate)[1]


def _answer_calls(size: RecipeSize) -> float:
    """Calls that read every answer once; answers to different questions share them."""
    shared = min(size.gates.texts_per_call, size.num_questions)
    return _per_question(size) * size.min_variants_per_question / shared


def _per_guess(size: RecipeSize) -> float:
    shared = min(size.gates.texts_per_call, size.num_questions)
    return _per_question(size) * size.audit.guesses * size.audit.enabled / shared


PROMPT_CALLS = {
    "user_profiles/complete": PromptCalls(_once),
    "questions/draft": PromptCalls(_once),
    "state_schema/refine": PromptCalls(_once),
    "state_schema/unify": PromptCalls(_once, always=False),
    "state_schema/check": PromptCalls(_per_schema_vote, always=False),
    "state_trajectory/initial": PromptCalls(_once),
    "state_trajectory/update": PromptCalls(_per_period, in_sequence=True),
    "state_trajectory/check": PromptCalls(_per_story_vote, always=False),
    "state_trajectory/retell": PromptCalls(_per_period, always=False),
    "events/elaborate": PromptCalls(_per_period),
    "events/refine": PromptCalls(_per_period, always=False),
    "session_queries/initial": PromptCalls(_per_initial_query),
    "session_queries/update": PromptCalls(_per_period),
    "session_queries/check_exposure": PromptCalls(_per_session_vote),
    "session_queries/refine": PromptCalls(_per_session, always=False),
    "answers/draft": PromptCalls(_per_question),
    "answers/check": PromptCalls(_per_answer_vote),
    "answers/choose": PromptCalls(_per_choice_vote, always=False),
    "answers/refine": PromptCalls(_per_question, always=False),
    "audits/options_only": PromptCalls(_per_guess, always=False),
    "audits/question_only": PromptCalls(_per_guess, always=False),
    "audits/profile_only": PromptCalls(_per_guess, always=False),
}
ALWAYS_CALLED = frozenset(name for name, calls in PROMPT_CALLS.items() if calls.always)


def calls_per_user(recipe: Recipe, stage: str) -> float:
    """About how many calls a user of AMemGym takes at a stage, if each prompt is asked for all that it may be asked for.

    Nothing is known here of other benchmarks' stages, which is 0.
    """
    if not isinstance(recipe, AMemGymRecipe):
        return 0.0
    size = RecipeSize.of(recipe)
    return sum(calls.scale(size) for prompt, calls in PROMPT_CALLS.items() if stage_of(prompt) == stage)


def fingerprints() -> dict[str, str]:
    """The present fingerprint of every prompt that generation uses."""
    return {name: load_prompt(name).fingerprint for name in PROMPT_CALLS}


def stage_of(prompt: str) -> str:
    """The stage a prompt belongs to."""
    return prompt.partition("/")[0]


STAGES = tuple(dict.fromkeys(map(stage_of, PROMPT_CALLS)))
