"""The state variants of a question that get an answer: those the user lives through, topped up to the minimum (App. C.3)."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.question import ChoiceType
from assets.amemgym.records.state import SchemaQuestion, StateSchema, StateTrajectory
from assets.amemgym.text_checks import TextInContext
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
    """Lived variants in order of first occurrence, then seeded random ones up to `min_variants_per_question`.

    Variants that nobody can live, for their values exclude each other, are added only where there are no others.
    """
    experienced = list(dict.fromkeys(lived_variants(question, trajectory)))
    missing = recipe.min_variants_per_question - len(experienced)
    others = [
        values
        for values in itertools.product(*(schema.choices[name] for name in question.required_info))
        if values not in experienced
    ]
    rng = SeededRandom(recipe.seed, schema.user_id, "variants", question.question_id)
    impossible = [values for values in others if schema.excluded(dict(zip(question.required_info, values, strict=True)))]
    possible = [values for values in others if values not in impossible]
    added = rng.sample(possible, max(0, missing))
    added += rng.sample(impossible, max(0, missing - len(added)))
    return [
        *(Variant(question.required_info, values, "experience") for values in experienced),
        *(Variant(question.required_info, values, "random") for values in added),
    ]


def answer_in_context(answer: str, state: Sequence[str], choices: Sequence[str], *, recipe: AMemGymRecipe) -> TextInContext:
    """The answer for a variant, among all choices of its question's variables."""
    return TextInContext("answer", answer, recipe.language, state, choices, finder=recipe.gates.contact_data)


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

    def in_context(self, variant: Variant, answer: str) -> TextInContext:
        """A variant's answer as the style check sees it."""
        choices = [value for name in variant.names for value in self.schema.choices[name]]
        return answer_in_context(answer, variant.values, choices, recipe=self.recipe)

    def shuffled(self, gate: str, *, item_id: str, vote: VoteContext) -> list[Variant]:
        """The variants in the order in which this vote shows them or their answers."""
        return SeededRandom(self.recipe.seed, self.schema.user_id, gate, item_id, vote.number).shuffled(self.variants)
