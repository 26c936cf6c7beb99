"""Which sections of real documents a task is about: one drawn at random, and those that share rare names with it."""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from assets.deep_research.corpus.reading import corpus_digest, read_documents
from assets.deep_research.corpus.sections import sections_of
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.world import Section, TaskWorld
from assets.engine.seeded_random import SeededRandom
from assets.llm.text import count_tokens
from assets.memory_items.world.positions import num_hops, task_id
from assets.recipe.loading import RecipeError, Unit

NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[._][A-Za-z0-9]+)+|[A-Z][a-z]+[A-Z]\w+|[A-Z][A-Za-z]{4,}")
MOST_SECTIONS_OF_A_NAME = 12  # a name that is in more says little about what belongs together
SPARE_TOKENS = 4000


class Corpus(NamedTuple):
    """All sections, and for each the places of those that share a rare name with it."""

    sections: tuple[Section, ...]
    tokens: tuple[int, ...]
    linked: Mapping[int, Sequence[int]]


def with_corpus_digest(recipe: DeepResearchRecipe) -> DeepResearchRecipe:
    """The recipe with the digest of its documents. Raises RecipeError for documents that cannot be read."""
    if recipe.source.kind != "documents":
        return recipe
    content = corpus_digest(read_documents(recipe.source.paths, recipe.source.license))
    return recipe.model_copy(update={"source": recipe.source.model_copy(update={"content": content})})


def corpus_worlds(recipe: DeepResearchRecipe, unit: Unit) -> Iterator[tuple[int, TaskWorld]]:
    """The unit's tasks by position. Raises RecipeError for too few documents, and for others than the recipe was made with."""
    resolved = with_corpus_digest(recipe).source
    if recipe.source.content and resolved.content != recipe.source.content:
        raise RecipeError("The documents of source.paths have changed since the recipe was resolved; materialize it again.")
    corpus = read_corpus(recipe.source.paths, recipe.source.license)
    wanted = round(1.1 * recipe.lengths[-1]) + SPARE_TOKENS
    if sum(corpus.tokens) < wanted:
        raise RecipeError(
            f"A task of {recipe.lengths[-1]} tokens takes documents of {wanted}, and source.paths has {sum(corpus.tokens)}."
        )
    for position in unit.positions:
        places = _connected(corpus, wanted, SeededRandom(recipe.seed, "sections", position))
        sections = tuple(corpus.sections[place] for place in places)
        yield position, TaskWorld(task_id=task_id(recipe, position), hops=num_hops(recipe, position), sections=sections)


@lru_cache(maxsize=2)
def read_corpus(paths: tuple[str, ...], license_name: str) -> Corpus:
    """The sections of all documents, and how they hang together. Raises RecipeError."""
    sections = tuple(section for document in read_documents(paths, license_name) for section in sections_of(document))
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, section in enumerate(sections):
        for name in sorted(set(NAME.findall(section.text))):
            places[name].append(place)
    linked: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for there in places.values():
        if 1 < len(there) <= MOST_SECTIONS_OF_A_NAME:
            for place in there:
                linked[place].update(dict.fromkeys(one for one in there if one != place))
    for place, (before, after) in enumerate(pairwise(sections)):
        if before.source == after.source:
            linked[place][place + 1] = linked[place + 1][place] = None
    return Corpus(sections, tuple(count_tokens(one.text) for one in sections), {key: list(one) for key, one in linked.items()})


def _connected(corpus: Corpus, wanted: int, rng: SeededRandom) -> list[int]:
    """Places of sections around one drawn at random, until they have as many tokens as wanted; then in order."""
    found: dict[int, None] = {}
    tokens = 0
    waiting: deque[int] = deque()
    everywhere = iter(rng.shuffled(range(len(corpus.sections))))
    while tokens < wanted:
        place = waiting.popleft() if waiting else next(everywhere)
        if place in found:
            continue
        found[place] = None
        tokens += corpus.tokens[place]
        waiting.extend(one for one in rng.shuffled(corpus.linked.get(place, ())) if one not in found)
    return sorted(found)
