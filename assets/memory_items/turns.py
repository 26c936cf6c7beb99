"""The turns in which a task's documents arrive: each needed fact in a turn of its own, none in view when the question comes."""

from collections.abc import Mapping, Sequence

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.documents import Eviction, ItemDocument, Role, Turn
from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.lengths import in_seeded_order
from assets.memory_items.recipe import DocumentTaskRecipe
from assets.reporting.asset_description import Row


def last_turns(turns: Sequence[Turn], eviction: Eviction) -> Sequence[Turn]:
    """The turns in view when the question comes; at least the last one, in which a hop could be answered at once."""
    return turns[-max(1, eviction.visible_turns) :]


def as_item_document(document: SourceDocument, *, role: Role | None = None, facts: Sequence[str] = ()) -> ItemDocument:
    """The document as it enters a task; `role` is another than its own."""
    fields = document.model_dump(exclude={"statements"})
    return ItemDocument.model_validate({**fields, "role": role or document.role, "facts": tuple(facts)})


def facts_by_document(hops: Sequence[Fact]) -> Mapping[str, Sequence[str]]:
    """Ids of the needed facts by the document in which they stand."""
    needed: dict[str, list[str]] = {}
    for hop in hops:
        needed.setdefault(hop.document_id, []).append(hop.fact_id)
    return needed


def in_turns(
    documents: Sequence[ItemDocument], hops: Sequence[Fact], *, recipe: DocumentTaskRecipe, path: Sequence[object]
) -> tuple[Turn, ...]:
    """The documents in turns: each hop's in a turn of its own, in seeded order, none of them in view at the end."""
    hidden = max(1, recipe.eviction.visible_turns)
    count = len(hops) + max(recipe.num_quiet_turns, hidden)
    rng = SeededRandom(*path)
    places = dict(
        zip(dict.fromkeys(hop.document_id for hop in hops), rng.sample(range(count - hidden), len(hops)), strict=False)
    )
    placed: list[list[ItemDocument]] = [[] for _ in range(count)]
    for document in in_seeded_order(documents, path=path):
        turn = places.get(document.document_id)
        placed[rng.integer_below(count) if turn is None else turn].append(document)
    return tuple(Turn(documents=tuple(in_seeded_order(one, path=path))) for one in placed)


def turn_rows(turns: Sequence[Turn]) -> list[Row]:
    """The documents by turn, as an asset's preview shows them."""
    return [
        {"turn": number, "role": document.role, "title": document.title}
        for number, turn in enumerate(turns)
        for document in turn.documents
    ]
