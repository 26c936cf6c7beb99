"""Real names replaced by invented ones, through one registry and in one pass, so that nothing that was learned elsewhere helps.

An invented name follows from the seed and the real one alone: a name has one replacement in all titles and texts of all tasks.
What is asked and answered is read from the renamed documents, so that no real name is left beside an invented one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from assets.deep_research.records import Section, TaskSources, TaskWorld
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.facts import SourceDocument
from assets.memory_items.world.relations import CODAS, syllable
from assets.recipe.deep_research import DeepResearchRecipe

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A word is a name where it is joined to others, called, or capitalized within a sentence.
USED_AS_NAME = re.compile(r"(?<=\w\.)[A-Za-z_]\w*|[A-Za-z_]\w*(?=\.\w|\()|(?<=[a-z,] )[A-Z][a-z]\w+")
DECLARED = re.compile(r"^(?:Name|Requires-Dist): ([A-Za-z]\w*)", re.MULTILINE)  # names of packages, whatever their form
PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|_+")
# Parts of names that say what something is, which its text says as well.
KEPT_PARTS = frozenset(("error", "warning", "exception", "is", "to", "on", "in", "of", "at", "by", "max", "min"))
FEWEST_LETTERS = 4


def renamed_sources(world: TaskWorld, *, recipe: DeepResearchRecipe) -> TaskSources:
    """Return the task's sections under invented names. A part of them becomes its own documents, the rest is filler."""
    registry = name_registry(world.sections, seed=recipe.world_seed) if recipe.source.rename else {}
    documents: list[SourceDocument] = []
    for section in world.sections:
        document = SourceDocument(
            document_id=section.document_id,
            title=rename_all(section.title, registry),
            text=rename_all(section.text, registry),
            role="filler",
            source=section.source,
            license=section.license,
        )
        documents.append(document)
    return TaskSources(task_id=world.task_id, documents=tuple(documents), filler=(), renamed=len(registry))


def rename_all(text: str, registry: Mapping[str, str]) -> str:
    """Return the text with every name of the registry replaced, all in one pass."""
    return WORD.sub(lambda word: registry.get(word[0], word[0]), text)


def name_registry(sections: Iterable[Section], *, seed: int) -> dict[str, str]:
    """Return every name in these sections with its invented one, no two alike."""
    words = Counter[str]()
    names = Counter[str]()
    declared: set[str] = set()
    for section in sections:
        text = f"{section.title}\n{section.text}"
        words.update(WORD.findall(text))
        names.update(USED_AS_NAME.findall(text))
        declared.update(DECLARED.findall(text))
    registry: dict[str, str] = {}
    taken = set(words)
    for word in sorted(words):
        invented = invented_name(word, seed=seed)
        # A name of parts that are kept alone stays as it is.
        if invented == word or not (word in declared or _is_name(word, words, names)):
            continue
        again = 0
        while invented in taken:
            again += 1
            invented = invented_name(word, seed=seed, again=again)
        registry[word] = invented
        taken.add(invented)
    return registry


def _is_name(word: str, words: Counter[str], names: Counter[str]) -> bool:
    """Return True for a name, by its form or because it is mostly used as one. Abbreviations are none."""
    if "_" in word.strip("_"):
        return True
    if len(word.strip("_")) < FEWEST_LETTERS or word.isupper():
        return False
    if any(letter.isupper() for letter in word[1:]):
        return True
    if word[0].isupper():
        return names[word] > 0 and words[word.lower()] == 0
    return 2 * names[word] > words[word]


def invented_name(name: str, *, seed: int, again: int = 0) -> str:
    """Return a name of the same form: parts, capitals, digits and underscores."""
    invented = ""
    for part in PARTS.findall(name):
        kept = not part.isalpha() or part.lower() in KEPT_PARTS
        invented += part if kept else _invented_part(part, SeededRandom(seed, "name", part.lower(), again))
    return invented


def _invented_part(part: str, rng: SeededRandom) -> str:
    """Return one to three syllables, as the part is long, with its capitals."""
    invented = ""
    for _ in range(max(1, min(3, len(part) // 3))):
        invented += syllable(rng)
    invented += rng.choice(CODAS)
    if part.isupper():
        return invented.upper()
    return invented.capitalize() if part[0].isupper() else invented
