"""A task at a length: filler is added to its turns until the memory receives as many tokens as wanted."""

import hashlib
from collections.abc import Sequence

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.documents import ItemDocument, SizedItem, Turn, tokens_of
from assets.records.base import ItemFailed


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
