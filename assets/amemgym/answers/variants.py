"""The state variants of a question that get an answer: those the user lives through, topped up to the minimum (App. C.3)."""

import itertools
from dataclasses import dataclass

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.question import ChoiceType
from assets.amemgym.records.state import SchemaQuestion, StateSchema, StateTrajectory
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import VoteContext
from assets.llm.ports import LanguageModel


@dataclass(frozen=True)
class Variant:
    """One assignment of a question's variables, in the order of its `required_info`."""

    names: tuple[str, ...]
    values: tuple[str, ...]
    type: ChoiceType

    @property
    def assignment(self) -> dict[str, str]:
        return dict(zip(self.names, self.values, strict=True))


def lived_variants(question: SchemaQuestion, trajectory: StateTrajectory) -> list[tuple[str, ...]]:
    """The variant at the end of each period, from period 0 on."""
    return [tuple(period.state[name] for name in question.required_info) for period in trajectory.periods]


def variants_of(
    question: SchemaQuestion, schema: StateSchema, trajectory: StateTrajectory, *, recipe: AMemGymRecipe
) -> list[Variant]:
    """Lived variants in order of first occurrence, then seeded random ones up to `min_variants_per_question`."""
    experienced = list(dict.fromkeys(lived_variants(question, trajectory)))
    missing = recipe.min_variants_per_question - len(experienced)
    others = [
        values
        for values in itertools.product(*(schema.choices[name] for name in question.required_info))
        if values not in experienced
    ]
    rng = SeededRandom(recipe.seed, schema.user_id, "variants", question.question_id)
    added = rng.sample(others, max(0, missing))
    return [
        *(Variant(question.required_info, values, "experience") for values in experienced),
        *(Variant(question.required_info, values, "random") for values in added),
    ]


@dataclass(frozen=True)
class QuestionVariants:
    """One question with the variants to answer for, and what the calls about it need."""

    question: SchemaQuestion
    schema: StateSchema
    variants: list[Variant]
    recipe: AMemGymRecipe
    model: LanguageModel

    def item_id(self, variant: Variant) -> str:
        """The name of a variant's answer in the gate records."""
        return f"{self.question.question_id}-v{self.variants.index(variant) + 1}"

    def shuffled(self, gate: str, *, item_id: str, vote: VoteContext) -> list[Variant]:
        """The variants in the order in which this vote shows them or their answers."""
        return SeededRandom(self.recipe.seed, self.schema.user_id, gate, item_id, vote.number).shuffled(self.variants)
