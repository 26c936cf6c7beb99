"""The variants of a question that get an answer: those the user lives through, topped up to the minimum (App. C.3)."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import ne
from statistics import pvariance

from assets.amemgym.records.question import ChoiceType
from assets.amemgym.records.state import SchemaQuestion, StateSchema, StateTrajectory
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import VoteContext
from assets.llm.ports import LanguageModel
from assets.recipe.amemgym import AMemGymRecipe
from assets.text.text_checks import TextInContext

DRAWS = 300  # of variants to add; those of two variables of three values have at most 128 selections


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
    """Return lived variants in order of first occurrence, then seeded random ones up to `min_variants_per_question`.

    Variants that nobody can live, for their values exclude each other, are added only where there are no others. Where the
    recipe has values held (`min_periods_held`), as many are added as make all variants alike.
    """
    names = question.required_info
    experienced = list(dict.fromkeys(lived_variants(question, trajectory)))
    possible: list[tuple[str, ...]] = []
    impossible: list[tuple[str, ...]] = []
    for values in itertools.product(*(schema.choices[name] for name in names)):
        if values in experienced:
            continue
        excluded = schema.excluded(dict(zip(names, values, strict=True)))
        (impossible if excluded else possible).append(values)
    rng = SeededRandom(recipe.world_seed, schema.user_id, "variants", question.question_id)
    missing = max(0, recipe.min_variants_per_question - len(experienced))
    if recipe.min_periods_held is None:
        added = rng.sample(possible, missing)
    else:
        added = _evenly_alike(experienced, possible, missing=missing, rng=rng)
    added += rng.sample(impossible, max(0, missing - len(added)))
    variants = [Variant(names, values, "experience") for values in experienced]
    variants += [Variant(names, values, "random") for values in added]
    return variants


def _evenly_alike(
    experienced: Sequence[tuple[str, ...]], possible: Sequence[tuple[str, ...]], *, missing: int, rng: SeededRandom
) -> list[tuple[str, ...]]:
    """Return variants to add, `missing` or more, with which each variant shares as many values with the others as another does.

    Variants lived through share the values that were held. With few others beside them, the held values would not be needed to
    find the right option, which would be the one most like the others.
    """
    best: list[tuple[str, ...]] = []
    least = (float("inf"), 0.0, 0)
    fewest = min(missing, len(possible))
    most = min(len(possible), max(missing, len(experienced)))
    for _ in range(DRAWS):
        added = rng.sample(possible, fewest + rng.integer_below(most - fewest + 1))
        variants = [*experienced, *added]
        unevenness = (_needless_values(experienced, variants), pvariance(_shared_values(variants)), len(added))
        if unevenness < least:
            best = added
            least = unevenness
    return best


def _needless_values(experienced: Sequence[tuple[str, ...]], variants: Sequence[tuple[str, ...]]) -> int:
    """Return how many values of those lived through are not needed to tell one from all variants, if its others are known."""
    with_one_left_out = Counter[tuple[int, tuple[str, ...]]]()
    for values in variants:
        with_one_left_out.update(_one_left_out(values))
    needless = 0
    for values in experienced:
        needless += sum(with_one_left_out[others] == 1 for others in _one_left_out(values))
    return needless


def _one_left_out(values: tuple[str, ...]) -> list[tuple[int, tuple[str, ...]]]:
    """Return for each position the other values."""
    return [(position, values[:position] + values[position + 1 :]) for position in range(len(values))]


def _shared_values(variants: Sequence[tuple[str, ...]]) -> list[int]:
    """Return for each variant how many values of the variants, its own included, are the same as its own."""
    counts = Counter[tuple[int, str]]()
    for values in variants:
        counts.update(enumerate(values))
    return [sum(map(counts.__getitem__, enumerate(values))) for values in variants]


def answer_in_context(answer: str, state: Sequence[str], choices: Sequence[str], *, recipe: AMemGymRecipe) -> TextInContext:
    """Return the answer for a variant as the style check sees it, among all choices of its question's variables."""
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
