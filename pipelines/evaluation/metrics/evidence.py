"""Evidence: the messages or documents that state the needed values, looked for word for word in what a memory gave back."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from pipelines.memories.contract import MemoryEvent

FEWEST_WORDS = 4  # fewer stand in many texts by chance


def plain_text(text: str) -> str:
    """Return the text in one case with single spaces, as memories that keep words may still change these."""
    return " ".join(text.split()).casefold()


@dataclass
class PerceivedTexts:
    """All that was perceived, to be found in recalled texts. `parts`: pieces of an event's text, each of which shows the event.

    Events of the same words are one.
    """

    parts: Sequence[Sequence[str]]
    lines: Mapping[str, int]
    _found: dict[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])

    @classmethod
    def of(cls, events: Iterable[MemoryEvent], *, parts: Mapping[str, Sequence[str]] | None = None) -> "PerceivedTexts":
        """Return those of the events; `parts` by the text of an event, else each text is one."""
        numbers = dict[str, int]()
        lines = dict[str, int]()
        for event in events:
            number = numbers.setdefault(event.text, len(numbers))
            lines[plain_text(event.line)] = number
        every = list[list[str]]()
        for text in numbers:
            every.append([plain_text(part) for part in (parts[text] if parts else [text])])
        times = Counter(chain.from_iterable(map(set, every)))
        looked_for = list[Sequence[str]]()
        for own in every:
            # A sentence of several documents shows none of them.
            looked_for.append([part for part in own if times[part] == 1 and part.count(" ") >= FEWEST_WORDS - 1])
        return cls(looked_for, lines)

    def found_in(self, text: str) -> frozenset[int]:
        """Return the numbers of the events of which a plain text holds a part."""
        # Most memories give back whole lines, again and again.
        if text in self.lines:
            return frozenset((self.lines[text],))
        if text not in self._found:
            found = [number for number, parts in enumerate(self.parts) if any(part in text for part in parts)]
            self._found[text] = frozenset(found)
        return self._found[text]

    def has_beginning(self, text: str) -> bool:
        """Return True where an event's line begins with the plain text, as the one does that the budget cut."""
        return any(line.startswith(text) for line in self.lines)


@dataclass(frozen=True)
class Evidence:
    """What a question needs. `needed`: for each message or document that told a needed value, the words that told it."""

    perceived: PerceivedTexts
    needed: Sequence[Sequence[str]]

    def columns(self, recalled: Sequence[str]) -> dict[str, int]:
        """Return the fields of an answer's row that say how much of it these texts hold."""
        texts = list(map(plain_text, recalled))
        found = set[int]()
        rewritten = 0
        for text in texts:
            own = self.perceived.found_in(text)
            found |= own
            rewritten += not own and not self.perceived.has_beginning(text)
        held = 0
        for words in self.needed:
            held += all(any(part in text for text in texts) for part in map(plain_text, words))
        return {
            "told": len(self.perceived.parts),
            "evidence": len(self.needed),
            "evidence_recalled": held,
            # Short messages are looked for as evidence alone.
            "recalled_events": max(held, len(found)),
            "rewritten": rewritten,
        }
