"""Samples of real documents: the sections of a task are one drawn at random, and those that share rare names with it."""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from assets.deep_research.corpus.reading import corpus_digest, read_documents
from assets.deep_research.corpus.sections import sections_of
from assets.deep_research.records import Section, TaskWorld
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.lengths import tokens_to_draw
from assets.memory_items.tasks import num_hops_at, task_id_at
from assets.recipe.deep_research import DeepResearchRecipe
from assets.recipe.recipe import RecipeError, Unit
from assets.text.words import count_tokens

NAME = re.compile(
    r"[A-Za-z][A-Za-z0-9]*(?:[._][A-Za-z0-9]+)+|[A-Z][a-z]+[A-Z]\w+|[A-Z][A-Za-z]{4,}|(?:Name|Requires-Dist): [\w-]+"
)
MOST_SECTIONS_OF_A_NAME = 12  # a name that is in more says little about what belongs together


class Corpus(NamedTuple):
    """All sections, and for each the places of those that share a rare name with it."""

    sections: tuple[Section, ...]
    tokens: tuple[int, ...]
    linked: Mapping[int, Sequence[int]]


def with_corpus_digest(recipe: DeepResearchRecipe) -> DeepResearchRecipe:
    """Return the recipe with the digest of its documents. Raises RecipeError for documents that cannot be read."""
    if recipe.source.kind != "documents":
        return recipe
    content = corpus_digest(read_documents(recipe.source.paths, recipe.source.license))
    return recipe.model_copy(update={"source": recipe.source.model_copy(update={"content": content})})


def corpus_worlds(recipe: DeepResearchRecipe, unit: Unit) -> Iterator[tuple[int, TaskWorld]]:
    """Yield the unit's tasks by position. Raises RecipeError for too few documents, or others than the recipe was made with."""
    resolved = with_corpus_digest(recipe).source
    if recipe.source.content and resolved.content != recipe.source.content:
        raise RecipeError("The documents of source.paths have changed since the recipe was resolved; materialize it again.")
    corpus = read_corpus(recipe.source.paths, recipe.source.license)
    wanted = tokens_to_draw(recipe)
    if sum(corpus.tokens) < wanted:
        raise RecipeError(
            f"A task of {recipe.lengths[-1]} tokens takes documents of {wanted}, and source.paths has {sum(corpus.tokens)}."
        )
    for position in unit.positions:
        places = _draw_connected(corpus, wanted, SeededRandom(recipe.world_seed, "sections", position))
        sections = tuple(corpus.sections[place] for place in places)
        hops = num_hops_at(position, recipe)
        yield position, TaskWorld(task_id=task_id_at(position, recipe), hops=hops, sections=sections)


@lru_cache(maxsize=2)
def read_corpus(paths: tuple[str, ...], license_name: str) -> Corpus:
    """Return the sections of all documents, and how they hang together. Raises RecipeError."""
    sections: list[Section] = []
    for document in read_documents(paths, license_name):
        sections += sections_of(document)
    places_by_name: defaultdict[str, list[int]] = defaultdict(list)
    for place, section in enumerate(sections):
        for name in sorted(set(NAME.findall(section.text))):
            # A package is linked with those that need it.
            places_by_name[name.rpartition(": ")[2]].append(place)
    linked: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for places in places_by_name.values():
        if len(places) <= MOST_SECTIONS_OF_A_NAME:
            for place in places:
                for other in places:
                    if other != place:
                        linked[place][other] = None
    for place, (before, after) in enumerate(pairwise(sections)):
        if before.source == after.source:
            linked[place][place + 1] = None
            linked[place + 1][place] = None
    tokens = tuple(count_tokens(section.text) for section in sections)
    return Corpus(tuple(sections), tokens, {place: list(others) for place, others in linked.items()})


def _draw_connected(corpus: Corpus, wanted: int, rng: SeededRandom) -> list[int]:
    """Return places of sections around one drawn at random, until they have as many tokens as wanted; then in order."""
    found: set[int] = set()
    tokens = 0
    waiting: deque[int] = deque()
    everywhere = iter(rng.shuffled(range(len(corpus.sections))))
    while tokens < wanted:
        place = waiting.popleft() if waiting else next(everywhere)
        if place not in found:
            found.add(place)
            tokens += corpus.tokens[place]
            # Those found already are passed over when their turn comes.
            waiting.extend(rng.shuffled(corpus.linked.get(place, ())))
    return sorted(found)
