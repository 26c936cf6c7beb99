"""Real names replaced by invented ones, through one registry and in one pass, so that nothing that was learned elsewhere helps.

A package's name is replaced in every form that people write it in, also where it is meant as an ordinary word.

An invented name follows from the seed and the real one alone: a name has one replacement in all titles and texts of all tasks.
What is asked and answered is read from the renamed documents, so that no real name is left beside an invented one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from importlib.metadata import distribution
from typing import NamedTuple

from assets.deep_research.corpus.reading import PACKAGE
from assets.deep_research.records import Section, TaskSources, TaskWorld
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.facts import SourceDocument
from assets.memory_items.world.relations import CODAS, syllable
from assets.recipe.deep_research import DeepResearchRecipe

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A word is a name where it is joined to others, called, or capitalized within a sentence.
USED_AS_NAME = re.compile(r"(?<=\w\.)[A-Za-z_]\w*|[A-Za-z_]\w*(?=\.\w|\()|(?<=[a-z,] )[A-Z][a-z]\w+")
DECLARED = re.compile(r"^(?:Name|Requires-Dist): ([A-Za-z][\w.-]*\w)", re.MULTILINE)
ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+\w|(?:https?://|www\.)[^\s<>\"')\]]+[^\s<>\"')\].,;:]")
SEPARATOR = re.compile(r"[-_. ]+")
FEWEST_OF_STEM = 4  # letters of a name without its last digits, as jinja of jinja2
PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|_+")
# Parts of names that say what something is, which its text says as well.
KEPT_PARTS = frozenset(("error", "warning", "exception", "is", "to", "on", "in", "of", "at", "by", "max", "min"))
FEWEST_LETTERS = 4


class Registry(NamedTuple):
    """Invented names: of words as they are spelled, and of packages by their names in small letters, with hyphens."""

    words: Mapping[str, str]
    packages: Mapping[str, str]
    seed: int


def renamed_sources(world: TaskWorld, *, recipe: DeepResearchRecipe) -> TaskSources:
    """Return the task's sections under invented names. A part of them becomes its own documents, the rest is filler."""
    sections = world.sections if recipe.source.rename else ()
    registry = name_registry(sections, seed=recipe.world_seed, packages=packages_of(recipe.source.paths))
    rename = partial(rename_all, registry=registry) if recipe.source.rename else str
    documents: list[SourceDocument] = []
    for section in world.sections:
        document = SourceDocument(
            document_id=section.document_id,
            title=rename(section.title),
            text=rename(section.text),
            role="filler",
            source=section.source,
            license=section.license,
        )
        documents.append(document)
    return TaskSources(
        task_id=world.task_id, documents=tuple(documents), filler=(), renamed=len(registry.words) + len(registry.packages)
    )


@lru_cache(maxsize=2)
def packages_of(paths: tuple[str, ...]) -> frozenset[str]:
    """Return the names of the packages that are read, and of what is imported from them."""
    names: set[str] = set()
    for path in paths:
        if path.startswith(PACKAGE):
            name = path.removeprefix(PACKAGE).partition("==")[0]
            names.add(hyphened(name))
            for file in distribution(name).files or ():
                module = file.parts[0].partition(".")[0]
                if file.suffix == ".py" and module[:1].isalpha():
                    names.add(hyphened(module))
    return with_stems(names)


def with_stems(names: Iterable[str]) -> frozenset[str]:
    """Return the names, and those that end in digits also without them."""
    stems = {name.rstrip("0123456789") for name in names}
    return frozenset(names) | {stem for stem in stems if len(stem) >= FEWEST_OF_STEM}


def hyphened(name: str) -> str:
    """Return the name in the one spelling that all its forms share."""
    return SEPARATOR.sub("-", name.lower()).strip("-")


@lru_cache(maxsize=64)
def any_form_of(packages: frozenset[str]) -> re.Pattern[str]:
    """Return what finds these names in any form, the longest first, and never within a word."""
    forms: list[str] = []
    for name in sorted(packages, key=lambda name: (-len(name), name)):
        forms.append("[-_. ]?".join(map(re.escape, name.split("-"))))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(forms) or '(?!)'})(?![A-Za-z0-9])", re.IGNORECASE)


def rename_all(text: str, registry: Registry) -> str:
    """Return the text with every name of the registry and every address replaced, all in one pass."""
    form = any_form_of(frozenset(registry.packages))
    by_letters = {name.replace("-", ""): invented for name, invented in registry.packages.items()}

    def invent_package(found: re.Match[str]) -> str:
        return _in_form(found[0], by_letters[SEPARATOR.sub("", found[0].lower())])

    def invent(found: re.Match[str]) -> str:
        if found["address"]:
            host = _invented_part("host", SeededRandom(registry.seed, "address", found[0]))
            return f"https://{host}.example" if "/" in found[0] else f"mail@{host}.example"
        if found["package"]:
            return invent_package(found)
        return registry.words.get(found[0]) or form.sub(invent_package, found[0])

    anything = rf"(?P<address>{ADDRESS.pattern})|(?P<package>(?<!_)(?i:{form.pattern})(?!_))|{WORD.pattern}"
    return re.sub(anything, invent, text)


def _in_form(found: str, invented: str) -> str:
    """Return the invented name with the capitals and between its parts what is between those of the real one."""
    separators = SEPARATOR.findall(found)
    old = SEPARATOR.split(found)
    new = invented.split("-")
    if len(old) != len(new):
        old = [found]
        new = ["".join(new)]
        separators = []
    told = ""
    for real, part, separator in zip(old, new, [*separators, ""], strict=True):
        capitals = str.upper if real.isupper() else str.capitalize
        told += (capitals(part) if real[0].isupper() else part) + separator
    return told


def name_registry(sections: Iterable[Section], *, seed: int, packages: frozenset[str] = frozenset()) -> Registry:
    """Return every name in these sections with its invented one, no two alike."""
    texts = [f"{section.title}\n{section.text}" for section in sections]
    words = Counter[str]()
    names = Counter[str]()
    declared: set[str] = set()
    for text in texts:
        words.update(WORD.findall(text))
        names.update(USED_AS_NAME.findall(text))
        declared.update(map(hyphened, DECLARED.findall(text)))
    known = packages | with_stems(declared)
    form = any_form_of(known)
    letters = {SEPARATOR.sub("", found.lower()) for text in texts for found in form.findall(text)}
    found_packages = sorted(name for name in known if name.replace("-", "") in letters)
    taken = {word.lower() for word in words}.union(words, known)
    parts: dict[str, str] = {}
    for name in found_packages:
        for part in name.split("-"):
            if part not in parts:
                parts[part] = _untaken(part, taken, seed)
    invented_packages = {name: "-".join(map(parts.__getitem__, name.split("-"))) for name in found_packages}
    registry: dict[str, str] = {}
    for word in sorted(words):
        # A name of parts that are kept alone stays as it is.
        if _is_name(word, words, names) and not form.fullmatch(word) and invented_name(word, seed=seed) != word:
            registry[word] = _untaken(word, taken, seed)
    return Registry(registry, invented_packages, seed)


def _untaken(name: str, taken: set[str], seed: int) -> str:
    """Return an invented name that no other has, and take it."""
    again = 0
    invented = invented_name(name, seed=seed)
    while invented in taken and invented != name:
        again += 1
        invented = invented_name(name, seed=seed, again=again)
    taken.add(invented)
    return invented


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
