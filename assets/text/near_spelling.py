"""Find a value that a text spells nearly: a word between its words, in another order, inflected, misspelled, by initials.

Such a text gives the value away to whoever compares words, as much as one that spells it (`assets.text.words.spells`).
"""

import re
from collections.abc import Collection, Container, Sequence

from rapidfuzz.distance import OSA, Prefix

from assets.text.words import UNSPACED_WORD, spells, words_of

WORDS_BETWEEN = 1  # that may stand among a value's words
ENDING = 3  # letters in which two forms of a word may differ at their end
STEM = 4  # letters that two forms of a word share at least
LONE_STEM = 6  # the same for a value of one word, which hardly anything else confirms
MISSPELLED_FROM = 4  # letters; shorter words are other words when a letter is missing
LONE_MISSPELLED_FROM = 7


def nearly_spells(text: str, value: str, *, ignored: Container[str] = frozenset(), between: int = WORDS_BETWEEN) -> bool:
    """Return True where the text has the value's words nearly as they are, or its initials.

    `ignored`: words such as "the", which are left out of value and text. `between`: further words that may stand among the
    value's. Scripts without spaces are not looked at.
    """
    words = words_of(value)
    if not words or any(map(UNSPACED_WORD.match, words)):
        return False
    content = [word for word in words if word not in ignored]
    if len(content) > 1:
        read = [word for word in words_of(text) if word not in ignored]
        return _within_reach(read, content, reach=len(content) + between) or _has_initials(text, words)
    return len(content) == 1 and any(_lone_form(word, content[0]) for word in words_of(text))


def copies_value(text: str, value: str, *, ignored: Container[str] = frozenset()) -> bool:
    """Return True where a search for the value's words finds the text: it has all of them side by side, in whatever order.

    A single word is an ordinary word, which people use and many texts have; also where it is the value's only one.
    """
    words = words_of(value)
    if len(words) == 1 and not UNSPACED_WORD.match(words[0]):
        return False
    content = [word for word in words if word not in ignored]
    return spells(text, value) or (len(content) > 1 and nearly_spells(text, value, ignored=ignored, between=0))


def _within_reach(words: Sequence[str], wanted: Sequence[str], *, reach: int) -> bool:
    """Return True where so many words in a row have all that are wanted, whatever their order."""
    different = frozenset(words)
    # Most texts have no form of the first.
    if not all(_has_form(different, other) for other in wanted):
        return False
    # For each word of the text the index of the wanted word that it is a form of, or -1.
    meant = [_index_of_form(word, wanted) for word in words]
    needed = frozenset(range(len(wanted)))
    for start, index in enumerate(meant):
        if index < 0:
            continue
        if needed <= frozenset(meant[start : start + reach]) and not _ends_sentence(words[start : start + reach - 1]):
            return True
    return False


def _index_of_form(word: str, wanted: Sequence[str]) -> int:
    return next((index for index, other in enumerate(wanted) if _is_form(word, other)), -1)


def _has_form(words: Collection[str], wanted: str) -> bool:
    # Two forms begin with the same letter, or one of them with the other's second; most words are told apart by that.
    begin = wanted[:2]
    first = wanted[0]
    return any(_is_form(word, wanted) for word in words if word[0] in begin or first in word[:2])


def _ends_sentence(words: Sequence[str]) -> bool:
    return any(word in ".!?" for word in words)


def _is_form(word: str, wanted: str) -> bool:
    """Return True for the word itself, another ending of it, or a slip in it. Numbers and short words have no other form."""
    if word == wanted:
        return True
    if not (word.isalpha() and wanted.isalpha()):
        return False
    return _inflects(word, wanted, stem=STEM) or _misspells(word, wanted, least=MISSPELLED_FROM)


def _lone_form(word: str, wanted: str) -> bool:
    """Return True for another form of a long word; the word itself is for `spells` to find."""
    if word == wanted or not (word.isalpha() and wanted.isalpha()):
        return False
    return _inflects(word, wanted, stem=LONE_STEM) or _misspells(word, wanted, least=LONE_MISSPELLED_FROM)


def _inflects(word: str, wanted: str, *, stem: int) -> bool:
    shared = Prefix.similarity(word, wanted)
    return shared >= stem and max(len(word), len(wanted)) - shared <= ENDING


def _misspells(word: str, wanted: str, *, least: int) -> bool:
    """Return True where one letter is missing or added, or two neighbours are swapped."""
    if len(wanted) < least or OSA.distance(word, wanted, score_cutoff=1) != 1:
        return False
    # One letter in place of another is another word: late, lake.
    return len(word) != len(wanted) or sorted(word) == sorted(wanted)


def _has_initials(text: str, words: Sequence[str]) -> bool:
    """Return True for capitals such as W.F.H., or WFH from three letters, which hardly stand there by chance."""
    initials = [word[0].upper() for word in words]
    # Hardly any text has all of these capitals, and a pattern takes long to compile.
    if not all(initial.isalpha() and initial in text for initial in initials):
        return False
    dotted = r"\.\s?".join(initials) + r"\.?"
    alternatives = [dotted]
    if len(initials) > 2:
        alternatives.append("".join(initials))
    return re.search(rf"(?<!\w)(?:{'|'.join(alternatives)})(?!\w)", text) is not None
