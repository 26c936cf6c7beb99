"""Texts compared and measured: the same words without case, spacing and underscores, and an estimate of tokens."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache


@lru_cache(maxsize=4096)  # one text is looked through for many values
def folded(text: str) -> str:
    """The text in one case, with single spaces for underscores and white space."""
    return " ".join(text.replace("_", " ").casefold().split())


def spells(text: str, value: str) -> bool:
    """Whether the text has the value's words in one piece, as whole words."""
    words, whole = folded(value), folded(text)
    # Hardly any text has them, and to look for a part of a text is much quicker.
    return words in whole and re.search(rf"(?<!\w){re.escape(words)}(?!\w)", whole) is not None


def alike(texts: Iterable[str]) -> Iterator[list[str]]:
    """Groups of two or more texts that read the same, in order of their first."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for text in texts:
        groups[folded(text)].append(text)
    yield from (group for group in groups.values() if len(group) > 1)


PIECE = re.compile(r"[A-Za-z]{1,8}|\d{1,3}|[^\sA-Za-z\d]")


def count_tokens(text: str) -> int:
    """Estimated tokens of a text; within about a tenth of common tokenizers on English prose."""
    return len(PIECE.findall(text))
