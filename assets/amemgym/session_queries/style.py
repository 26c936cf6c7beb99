"""How a person's own words sound: they speak as the person, and hint at values rather than spell them (section 3.1)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assets.llm.text_matching import spells

ABOUT_ME = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)


@dataclass
class Voice:
    """Listens to the replies of one call: queries of the person of this name, in whose schema are these choices.

    After `patience` replies with a fault it lets them pass, because a query that sounds wrong is worth more than no user;
    of values that are spelled the asset's checks tell then.
    """

    name: str
    choices: Mapping[str, Sequence[str]]
    patience: int

    def check(self, queries: Sequence[str]) -> None:
        """Raise ValueError with what is wrong, while there is patience."""
        faults = [f"Query {number} {fault}" for number, query in enumerate(queries, start=1) for fault in self._faults(query)]
        if faults and self.patience > 0:
            self.patience -= 1
            raise ValueError(" ".join(faults))

    def _faults(self, query: str) -> Iterator[str]:
        if spells(query, self.name) or (self._called(query) and not ABOUT_ME.search(query)):
            yield "speaks of its own writer by name; say I and my, and ask for help with something."
        copied = [value for values in self.choices.values() for value in values if "_" in value and spells(query, value)]
        if copied:
            yield f"spells the values {copied}; let circumstances show them, in other words."

    def _called(self, query: str) -> bool:
        """Whether the query has the first name, as it is written: some are ordinary words in small letters."""
        return re.search(rf"(?<!\w){re.escape(self.name.split()[0])}(?!\w)", query) is not None
