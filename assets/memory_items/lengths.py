"""A task at a length: filler is added to its turns until the memory receives as many tokens as wanted."""

import hashlib
from collections.abc import Iterable, Sequence, Set

from assets.engine.seeded_random import SeededRandom
from assets.llm.text import folded, spells
from assets.memory_items.answers import read_date
from assets.memory_items.documents import ItemDocument, SizedItem, Turn, tokens_of
from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.world.dates import spoken
from assets.records.base import ItemFailed
from assets.reporting.asset_description import Row


def at_length(
    turns: Sequence[Turn], filler: Sequence[ItemDocument], *, target: int, tolerance: float, path: Sequence[object]
) -> SizedItem:
    """The turns with filler among their documents. `path` seeds the places; the same filler has the same place at any length.

    `tolerance`: share of the target by which the length may differ. Raises ItemFailed where that cannot be met.
    """
    chosen = _chosen(filler, room=target - tokens_of(tuple(turns)), tolerance=round(target * tolerance))
    placed: list[list[ItemDocument]] = [list(turn.documents) for turn in turns]
    for document in chosen:
        placed[SeededRandom(*path, "turn", document.document_id).integer_below(len(placed))].append(document)
    filled = tuple(Turn(documents=tuple(in_seeded_order(documents, path=path))) for documents in placed)
    tokens = tokens_of(filled)
    if abs(tokens - target) > target * tolerance:
        have = sum(document.tokens for document in filler)
        raise ItemFailed(
            "rule_violated",
            f"A length of {target} tokens, {tolerance:.0%} more or less, cannot be met: with filler it is {tokens}, and there "
            f"are {have} tokens of filler.",
        )
    return SizedItem(target_tokens=target, tokens=tokens, turns=filled)


def in_seeded_order(documents: Sequence[ItemDocument], *, path: Sequence[object]) -> list[ItemDocument]:
    """The documents in an order that follows from the seed and their ids alone, so that no place tells a role."""
    return sorted(documents, key=lambda one: hashlib.sha256(f"{path}\x1f{one.document_id}".encode()).hexdigest())


def _chosen(filler: Sequence[ItemDocument], *, room: int, tolerance: int) -> list[ItemDocument]:
    """Filler in its order as long as there is room, and then the document that comes nearest to the rest."""
    chosen: list[ItemDocument] = []
    rest: list[ItemDocument] = []
    for document in filler:
        tokens = document.tokens
        if tokens <= room and not rest:
            chosen.append(document)
            room -= tokens
        else:
            rest.append(document)
    while room > tolerance // 2 and rest:
        nearest = min(rest, key=lambda one: (abs(room - one.tokens), one.document_id))
        if abs(room - nearest.tokens) >= room:
            break
        chosen.append(nearest)
        rest.remove(nearest)
        room -= nearest.tokens
    return chosen


def usable_filler(documents: Iterable[SourceDocument], hops: Sequence[Fact], *, placed: Set[str]) -> list[SourceDocument]:
    """Documents without anything of the chain that are not placed yet, in their order."""
    names = chain_names(hops)
    return [one for one in documents if one.document_id not in placed and not _tells(one, names)]


def chain_names(hops: Sequence[Fact]) -> list[str]:
    """What no filler may have: every name, number and date of the chain. Options are in many documents and tell nothing."""
    values = [fact.value for fact in hops if not fact.options]
    dates = [spoken(found) for value in values if (found := read_date(value))]
    return sorted({hops[0].subject, *values, *dates})


def _tells(document: SourceDocument, names: Sequence[str]) -> bool:
    text = f"{document.title}\n{document.text}"
    words = folded(text)
    # Most names are not there at all, which is found out faster than where they stand.
    return any(folded(name).split()[0] in words and spells(text, name) for name in names)


def length_rows(lengths: Iterable[SizedItem]) -> list[Row]:
    """The lengths as an asset's preview shows them."""
    return [
        {"target": one.target_tokens, "tokens": one.tokens, "turns": len(one.turns), "documents": len(list(one.documents))}
        for one in lengths
    ]
