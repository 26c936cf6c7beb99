"""Memories that lose something on purpose: what one recalls is damaged in one of seven ways, by its setting `perturbed`.

Each is a memory of its own with a known fault. Evaluated beside the whole one, it gives a reward model rows with both outcomes.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from assets.engine.seeded_random import SeededRandom
from assets.text.words import words_of

PERTURBED = "perturbed"
SENTENCE = re.compile(r"(?<=[.!?])\s+")
NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+\b")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
GONE = "___"
NEWEST_PART = 3  # of what was written, the newest one of so many parts is forgotten
SAME_WORDS = 0.8  # share of an event's words in a text that tells it

Texts = Sequence[str]
Perturbation = Callable[[Texts, Texts, SeededRandom], list[str]]


def _half(texts: Texts, written: Texts, chance: SeededRandom) -> list[str]:
    return list(texts[: (len(texts) + 1) // 2]) if len(texts) > 1 else [text[: len(text) // 2] for text in texts]


def _by_chance(texts: Texts, written: Texts, chance: SeededRandom) -> list[str]:
    return [text for text in texts if chance.integer_below(2)]


def _oldest_first(texts: Texts, written: Texts, chance: SeededRandom) -> list[str]:
    """Keep the first half of what was written: a window that never moves on."""
    old = [set(words_of(event)) for event in written[: len(written) // 2]]
    return [text for text in texts if any(_tells(text, event) for event in old)]


def _without_names(texts: Texts, written: Texts, chance: SeededRandom) -> list[str]:
    return [NAME.sub(GONE, text) for text in texts]


def _without_numbers(texts: Texts, written: Texts, chance: SeededRandom) -> list[str]:
    return [NUMBER.sub(GONE, text) for text in texts]


def _shuffle_sentences(texts: Texts, written: Texts, chance: SeededRandom) -> list[str]:
    """Shuffle the sentences of all texts, so that no text says any longer what belongs together."""
    sentences = [sentence for text in texts for sentence in SENTENCE.split(text)]
    return chance.shuffled(sentences)


def _stale(texts: Texts, written: Texts, chance: SeededRandom) -> list[str]:
    """Forget the newest third of what was written, so that older values stand alone."""
    newest = [set(words_of(event)) for event in written[len(written) - len(written) // NEWEST_PART :]]
    return [text for text in texts if not any(_tells(text, event) for event in newest)]


PERTURBATIONS: Mapping[str, Perturbation] = {
    "half": _half,
    "chance": _by_chance,
    "oldest": _oldest_first,
    "names": _without_names,
    "numbers": _without_numbers,
    "shuffled": _shuffle_sentences,
    "stale": _stale,
}


def perturb(name: str, texts: Texts, *, written: Texts, query: str) -> list[str]:
    """Return recalled texts after one perturbation; the same for the same query, texts and name."""
    return PERTURBATIONS[name](texts, written, SeededRandom(name, query, len(written), *texts))


def _tells(text: str, event: set[str]) -> bool:
    return bool(event) and len(event & set(words_of(text))) >= SAME_WORDS * len(event)
