"""Choosing from written lines so that the pool wears all of them evenly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tests.support.persona_pool.chance import Chance


def allowed(lines: Iterable[str], traits: frozenset[str]) -> list[str]:
    """The lines whose tags suit the traits, without the tags."""
    return [text for tags, text in map(_split, lines) if _suits(tags, traits)]


def _split(line: str) -> tuple[list[str], str]:
    if "|" not in line:
        return [], line
    tags, text = line.split("|", 1)
    return tags.split(","), text.removeprefix(" ")


def _suits(tags: list[str], traits: frozenset[str]) -> bool:
    return all(_tag_holds(tag.strip(), traits) for tag in tags)


def _tag_holds(tag: str, traits: frozenset[str]) -> bool:
    if tag.startswith("-"):
        return tag[1:] not in traits
    return tag in traits


class Deck:
    """Remembers what the pool has used and offers the least used again."""

    def __init__(self) -> None:
        self._uses: Counter[str] = Counter()

    def pick(self, options: Sequence[str], purpose: str, chance: Chance) -> str:
        """One of the least used options; the draw breaks ties."""
        if not options:
            raise ValueError(f"nothing to pick from: {purpose}")
        fewest = min(self._uses[option] for option in options)
        fresh = [option for option in options if self._uses[option] == fewest]
        choice = fresh[chance.below(len(fresh), purpose)]
        self._uses[choice] += 1
        return choice
