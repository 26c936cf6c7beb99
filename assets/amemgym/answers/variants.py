"""The variants of a question that get an answer: those the user lives through, topped up to the minimum (App. C.3)."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from operator import ne

from assets.amemgym.records.question import ChoiceType
from assets.amemgym.records.state import SchemaQuestion, StateSchema, StateTrajectory
from assets.amemgym.state_trajectory.value_ranges import value_ranges
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import VoteContext
from assets.llm.ports import LanguageModel
from assets.recipe.amemgym import AMemGymRecipe
from assets.text.text_checks import TextInContext


@dataclass(frozen=True)
class Variant:
    """One assignment of a question's variables, in the order of its `required_info`."""

    names: tuple[str, ...]
    values: tuple[str, ...]
    type: ChoiceType

    @property
    def assignment(self) -> dict[str, str]:
        return dict(zip(self.names, self.values, strict=True))

    def distance(self, values: Sequence[str]) -> int:
        """Return in how many variables these values differ from the variant's."""
        return sum(map(ne, self.values, values))


def lived_variants(question: SchemaQuestion, trajectory: StateTrajectory) -> list[tuple[str, ...]]:
    """Return the variant at the end of each period, from period 0 on."""
    lived: list[tuple[str, ...]] = []
    for period in trajectory.periods:
        lived.append(tuple(period.state[name] for name in question.required_info))
    return lived


def variants_of(
    question: SchemaQuestion, schema: StateSchema, trajectory: StateTrajectory, *, recipe: AMemGymRecipe
) -> list[Variant]:
    """Return the lived variants, and seeded others up to `min_variants_per_question`.

    With `balanced_options` these are all that the values of a life leave, in an order that is known before it is lived.
    Variants that nobody can live, for their values exclude each other, are added only where there are too few others.
    """
    names = question.required_info
    ranges = value_ranges(schema, trajectory.periods[0].state, recipe=recipe)
    possible: list[tuple[str, ...]] = []
    impossible: list[tuple[str, ...]] = []
    for values in itertools.product(*(ranges[name] for name in names)):
        excluded = schema.excluded(dict(zip(names, values, strict=True)))
        (impossible if excluded else possible).append(values)
    rng = SeededRandom(recipe.world_seed, schema.user_id, "variants", question.question_id)
    seeded = [*rng.shuffled(possible), *rng.shuffled(impossible)]
    fewest = recipe.min_variants_per_question
    known = [] if recipe.balanced_options is None else seeded[: max(fewest, len(possible))]
    lived = lived_variants(question, trajectory)
    needed = dict.fromkeys([*known, *lived])
    chosen = list(dict.fromkeys([*needed, *seeded]))[: max(fewest, len(needed))]
    return [Variant(names, values, "experience" if values in lived else "random") for values in chosen]


def answer_in_context(answer: str, state: Sequence[str], choices: Sequence[str], *, recipe: AMemGymRecipe) -> TextInContext:
    """Return the answer for a variant as the style check sees it, among all choices of its question's variables."""
    return TextInContext("answer", answer, recipe.language, state, choices)


@dataclass(frozen=True)
class QuestionVariants:
    """One question with the variants to answer for, and what the calls about it need."""

    question: SchemaQuestion
    schema: StateSchema
    variants: list[Variant]
    recipe: AMemGymRecipe
    model: LanguageModel

    def item_id(self, variant: Variant) -> str:
        """Return the name of a variant's answer in the gate records."""
        return f"{self.question.question_id}-v{self.variants.index(variant) + 1}"

    def in_context(self, variant: Variant, answer: str) -> TextInContext:
        """Return a variant's answer as the style check sees it."""
        choices: list[str] = []
        for name in variant.names:
            choices.extend(self.schema.choices[name])
        return answer_in_context(answer, variant.values, choices, recipe=self.recipe)

    def shuffled(self, gate: str, *, item_id: str, vote: VoteContext) -> list[Variant]:
        """Return the variants in the order in which this vote shows them or their answers."""
        # Another order for each vote, so that a judge's liking for a position is no agreement between votes.
        return SeededRandom(self.recipe.world_seed, self.schema.user_id, gate, item_id, vote.number).shuffled(self.variants)
