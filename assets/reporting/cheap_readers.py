"""A panel of cheap readers: what they keep of a history in a share of its length, and whether it holds what an answer needs.

No reader has a model or vectors. An item whose needed texts a cheap reader finds is not hard because of memory.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from assets.records.report import STANDARD_SHARE, CheapReaderLine
from assets.reporting.statistic import UserShare
from assets.text.bm25 import rank_texts, searched_words
from assets.text.words import count_tokens, spells

SHARES = {"2.5 %": 0.025, "5 %": 0.05, STANDARD_SHARE: 0.1, "20 %": 0.2}  # of a history's tokens
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
NEEDED = "the needed texts themselves"
BY_WORDS = "the question's words (BM25)"
BY_NAMES = "the question's names (string search)"
WINDOW = "the newest texts"
SUMMARY = "a summary that never saw the question"
BY_TWO_SEARCHES = "the question's words, then the name that they find"


class History:
    """The texts that a memory receives, in order of time, for readers who may keep a share of them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = list(texts)
        self._tokens = list(map(count_tokens, texts))
        self._counts = [Counter(searched_words(text)) for text in texts]
        self._newest = list(reversed(range(len(texts))))

    def readers_that_find(
        self,
        needed: Mapping[int, Iterable[str]],
        *,
        question: str,
        names: Iterable[str],
        told_names: Mapping[int, str] | None = None,
    ) -> Mapping[str, Sequence[str]]:
        """Return by reader the shares of the history in which it keeps all that is needed.

        `needed`: by the place of a text the words of it that have to be kept. `names`: those that the question tells.
        `told_names`: by the place of a text the name for which one searches next who has found it.
        """
        found: dict[str, list[str]] = {}
        for reader, order in self._orders(needed, question=question, names=names).items():
            found[reader] = [share for share, part in SHARES.items() if needed.keys() <= self._first_places(order, part)]
        found[SUMMARY] = [share for share, kept in self._summaries.items() if _holds_all(kept, needed)]
        if told_names:
            kept = {share: self._search_twice(question, told_names, part) for share, part in SHARES.items()}
            found[BY_TWO_SEARCHES] = [share for share in SHARES if needed.keys() <= kept[share]]
        return found

    def _search_twice(self, question: str, told_names: Mapping[int, str], share: float) -> set[int]:
        """Return the places of texts that two searches keep, each in half of a share of the history."""
        first = self._first_places(rank_texts(self._counts, question), share / 2)
        names = {name for place, name in told_names.items() if place in first}
        named = [place for place in self._newest if any(spells(self._texts[place], name) for name in names)]
        return first | self._first_places(named, share / 2)

    def _orders(
        self, needed: Mapping[int, Iterable[str]], *, question: str, names: Iterable[str]
    ) -> Mapping[str, Iterable[int]]:
        """Return by reader the places of texts in the order in which it keeps them."""
        named = Counter[int]()
        for name in names:
            named.update(place for place in self._newest if spells(self._texts[place], name))
        return {
            NEEDED: needed,
            BY_WORDS: rank_texts(self._counts, question),
            BY_NAMES: sorted(named, key=lambda place: (-named[place], -place)),
            WINDOW: self._newest,
        }

    def _first_places(self, order: Iterable[int], share: float) -> set[int]:
        """Return the first of these places whose texts fit into a share of the history."""
        room = round(sum(self._tokens) * share)
        kept: set[int] = set()
        for place in order:
            room -= self._tokens[place]
            if room < 0:
                break
            kept.add(place)
        return kept

    @cached_property
    def _summaries(self) -> Mapping[str, Mapping[int, str]]:
        """Return by share the sentences of each text that a summary keeps: those whose words are the most common ones."""
        common = Counter[str]()
        for counts in self._counts:
            common.update(counts)
        sentences: list[tuple[float, int, str]] = []
        for place, text in enumerate(self._texts):
            for sentence in SENTENCE_END.split(text):
                words = list(searched_words(sentence))
                if words:
                    sentences.append((-sum(common[word] for word in words) / len(words), place, sentence))
        sentences.sort()
        summaries: dict[str, dict[int, str]] = {}
        for share, part in SHARES.items():
            room = round(sum(self._tokens) * part)
            kept: defaultdict[int, str] = defaultdict(str)
            for _, place, sentence in sentences:
                room -= count_tokens(sentence)
                if room < 0:
                    break
                kept[place] += f"{sentence}\n"
            summaries[share] = kept
        return summaries


def _holds_all(kept: Mapping[int, str], needed: Mapping[int, Iterable[str]]) -> bool:
    missing = [place for place, words in needed.items() if not all(spells(kept.get(place, ""), word) for word in words)]
    return not missing


class CheapReaders:
    """Count over items how often each reader finds what is needed, in each share of the history."""

    def __init__(self) -> None:
        self._shares: defaultdict[str, dict[str, UserShare]] = defaultdict(lambda: {share: UserShare() for share in SHARES})

    def add(self, found: Sequence[Mapping[str, Sequence[str]]]) -> None:
        """Take one item with what was found for each of its questions, at each of its lengths."""
        for reader in found[0]:
            for share, counted in self._shares[reader].items():
                counted.add(sum(share in readers[reader] for readers in found), len(found))

    def lines(self) -> tuple[CheapReaderLine, ...]:
        """Return a line per reader, the needed texts themselves first."""
        lines: list[CheapReaderLine] = []
        for reader, shares in self._shares.items():
            found = {share: counted.estimate() for share, counted in shares.items()}
            lines.append(CheapReaderLine(reader=reader, cheap=reader != NEEDED, found=found))
        return tuple(lines)
