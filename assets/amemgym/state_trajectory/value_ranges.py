"""Choose which values each variable may take in a life, so that no single value tells the right option (`balanced_options`).

The options of a question are all combinations of its variables' values. Then each value stands in as many options as another
of its variable, and whoever knows one value still has to choose among several. Few values keep the options few.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from statistics import fmean

from assets.amemgym.records.state import StateSchema
from assets.engine.seeded_random import SeededRandom
from assets.recipe.amemgym import AMemGymRecipe

FEWEST_VALUES = 2  # a variable of one value never changes


def value_ranges(schema: StateSchema, first: Mapping[str, str], *, recipe: AMemGymRecipe) -> dict[str, list[str]]:
    """Return the values that each variable may take in a life that begins in the state `first`; all without `balanced_options`.

    A second value may exclude values of the ranges so far, if all do; a third may not. Options that nobody can live are left
    out, and a value that few options have tells the right one.
    """
    if recipe.balanced_options is None:
        return schema.choices
    rng = SeededRandom(recipe.world_seed, schema.user_id, "ranges")
    sizes = _range_sizes(schema, rng, most_options=recipe.balanced_options)
    excluded = Counter[tuple[str, str]]()
    for pair in schema.never_together:
        excluded.update(pair.items())
    ranges = {name: [first[name]] for name in schema.choices}

    def count_exclusions(name: str, value: str) -> tuple[int, int]:
        chosen = 0
        for pair in schema.never_together:
            if pair.get(name) == value:
                chosen += all(said in ranges[other] for other, said in pair.items() if other != name)
        return chosen, excluded[name, value]

    for name, choices in schema.choices.items():
        others = [value for value in rng.shuffled(choices) if value != first[name]]
        others.sort(key=lambda value, name=name: count_exclusions(name, value))
        together = [value for value in others if not count_exclusions(name, value)[0]]
        ranges[name] += together[: sizes[name] - 1] or others[: FEWEST_VALUES - 1]
    return ranges


def _range_sizes(schema: StateSchema, rng: SeededRandom, *, most_options: float) -> dict[str, int]:
    """Return how many values each variable may take, as many as leave questions `most_options` options on average."""
    sizes = {name: min(FEWEST_VALUES, len(choices)) for name, choices in schema.choices.items()}
    questions = [question.required_info for question in schema.questions]
    order = rng.shuffled(list(sizes))

    def fewest_options(name: str) -> int:
        return min([_count_options(question, sizes) for question in questions if name in question], default=0)

    while True:
        wider: list[str] = []
        for name in order:
            grown = {**sizes, name: sizes[name] + 1}
            options = [_count_options(question, grown) for question in questions]
            if grown[name] <= len(schema.choices[name]) and fmean(options) <= most_options:
                wider.append(name)
        if not wider:
            return sizes
        # Questions with the fewest options come first, so that all have nearly the same number.
        sizes[min(wider, key=fewest_options)] += 1


def _count_options(question: Sequence[str], sizes: Mapping[str, int]) -> int:
    return prod([sizes[name] for name in question])
