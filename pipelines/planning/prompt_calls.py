"""The counts of a recipe that decide how many calls a user of AMemGym takes, and what each prompt took."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from assets.amemgym.pipeline import AMEMGYM
from assets.engine.stage import PromptCalls
from assets.recipe.amemgym import MAX_STATES_PER_QUERY, AMemGymRecipe
from assets.recipe.policies import AuditPolicy, GatePolicy
from assets.records.base import Record
from prompts.catalogue import load_prompt


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
    min_periods_held: int | None = None
    max_states_per_query: int = MAX_STATES_PER_QUERY
    gates: GatePolicy
    audit: AuditPolicy = AuditPolicy()

    @classmethod
    def of(cls, recipe: AMemGymRecipe) -> "RecipeSize":
        fields = {name: getattr(recipe, name) for name in cls.model_fields}
        audit = recipe.audit.model_copy(update={"model": None, "decoys": recipe.num_decoys})
        return cls.model_validate({**fields, "audit": audit})

    @property
    def without_decoys(self) -> "RecipeSize":
        """The size but for the decoys, of which the same recipe for more users has fewer."""
        return self.model_copy(update={"audit": self.audit.model_copy(update={"decoys": None})})

    def distance(self, other: "RecipeSize") -> float:
        """Return how different two sizes are: the sum of the logarithms of their counts' ratios."""
        distance = 0.0
        for name, info in type(self).model_fields.items():
            if info.annotation is int:
                distance += abs(math.log(getattr(self, name) / getattr(other, name)))
        return distance


@dataclass(frozen=True)
class PromptUsage:
    """The calls of one prompt for one user; tokens are those of all its calls.

    `cached_tokens` are those of the input that a provider has in its prefix cache.
    """

    calls: float
    input_tokens: float
    output_tokens: float
    cached_tokens: float = 0.0

    def __add__(self, other: "PromptUsage") -> "PromptUsage":
        return PromptUsage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )

    def times(self, taken: "PromptUsage", *, over: "PromptUsage") -> "PromptUsage":
        """Return this times what was taken over what was expected; what nobody expected changes nothing.

        Of the input as much is cached as was of what was taken.
        """
        input_tokens = self.input_tokens * _ratio(taken.input_tokens, over.input_tokens)
        return PromptUsage(
            self.calls * _ratio(taken.calls, over.calls),
            input_tokens,
            self.output_tokens * _ratio(taken.output_tokens, over.output_tokens),
            input_tokens * taken.cached_tokens / max(taken.input_tokens, 1.0),
        )


def _ratio(taken: float, expected: float) -> float:
    return taken / expected if expected else 1.0


NOTHING_USED = PromptUsage(0.0, 0.0, 0.0)
UserUsage = Mapping[str, PromptUsage]  # by prompt


# What the stages say, by prompt. A size has the fields of a recipe that they read.
PROMPT_CALLS: dict[str, PromptCalls] = {}
STAGE_OF: dict[str, str] = {}
for _stage in AMEMGYM.stages:
    PROMPT_CALLS.update(_stage.calls)
    STAGE_OF.update(dict.fromkeys(_stage.calls, _stage.name))
ALWAYS_CALLED = frozenset(name for name, calls in PROMPT_CALLS.items() if calls.always)


def fingerprints() -> dict[str, str]:
    """Return the present fingerprint of every prompt that generation uses."""
    return {name: load_prompt(name).fingerprint for name in PROMPT_CALLS}
