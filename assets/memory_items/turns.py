"""The turns in which a task's documents arrive: each needed fact in a turn of its own, none in view when the question comes."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.documents import ItemDocument, Role, Turn
from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.lengths import in_seeded_order, ordered_turns, turn_without_fact
from assets.recipe.document_tasks import DocumentTaskRecipe, Eviction
from assets.text.words import folded


def documents_in_view(turns: Sequence[Turn], eviction: Eviction) -> list[ItemDocument]:
    """Return the documents in view when the question comes: those of the last turn at least, which is still in mind."""
    documents: list[ItemDocument] = []
    for turn in turns[-max(1, eviction.visible_turns) :]:
        documents += turn.documents
    return documents


def as_item_document(document: SourceDocument, *, role: Role | None = None, facts: Sequence[str] = ()) -> ItemDocument:
    """Return the document as it enters a task; `role` is another than its own."""
    fields = document.model_dump(exclude={"statements", "cluster"})
    return ItemDocument.model_validate({**fields, "role": role or document.role, "facts": tuple(facts)})


def facts_by_document(hops: Sequence[Fact]) -> Mapping[str, Sequence[str]]:
    """Return ids of the needed facts by the document in which they stand."""
    needed: dict[str, list[str]] = {}
    for hop in hops:
        needed.setdefault(hop.document_id, []).append(hop.fact_id)
    return needed


def as_needed(documents: Iterable[SourceDocument], hops: Sequence[Fact]) -> list[ItemDocument]:
    """Return a task's own documents, each with the needed facts in it; those that have any are its support."""
    needed = facts_by_document(hops)
    found: list[ItemDocument] = []
    for document in documents:
        facts = needed.get(document.document_id, ())
        found.append(as_item_document(document, role="support" if facts else document.role, facts=facts))
    return found


def rivals_of(hops: Sequence[Fact], facts: Iterable[Fact]) -> dict[str, str]:
    """Return by document that speaks of a hop as well the document of the fact that counts, in the order of hops."""
    needed = facts_by_document(hops)
    found: dict[str, str] = {}
    known = list(facts)
    for hop in hops:
        for fact in known:
            same = fact.relation == hop.relation and folded(fact.subject) == folded(hop.subject)
            if same and fact.document_id not in needed:
                found.setdefault(fact.document_id, hop.document_id)
    return found


def in_turns(
    documents: Sequence[ItemDocument],
    hops: Sequence[Fact],
    *,
    rivals: Mapping[str, str],
    rival_first: bool,
    recipe: DocumentTaskRecipe,
    path: Sequence[object],
) -> tuple[Turn, ...]:
    """Return the documents in turns: each hop's in a turn of its own, in seeded order, none of them in view at the end.

    `rivals`: as `rivals_of` returns them; the first of them comes before what counts where `rival_first` says so. No turn is
    empty where there are documents enough.
    """
    hidden = recipe.eviction.hidden_turns
    count = len(hops) + max(recipe.num_quiet_turns, hidden)
    rng = SeededRandom(*path)
    turn_of = _turns_of_facts(hops, rivals=rivals, rival_first=rival_first, open_turns=count - hidden, rng=rng)
    placed: list[list[ItemDocument]] = [[] for _ in range(count)]
    for document in in_seeded_order(documents, path=path):
        # Documents without a needed fact draw their turn one after the other: the order of draws decides the bytes.
        turn = turn_of.get(document.document_id)
        if turn is None:
            turn = turn_without_fact(count, recipe.eviction, rng)
        placed[turn].append(document)
    _fill_empty(placed, fixed=turn_of)
    return ordered_turns(placed, path=path)


def _turns_of_facts(
    hops: Sequence[Fact], *, rivals: Mapping[str, str], rival_first: bool, open_turns: int, rng: SeededRandom
) -> dict[str, int]:
    """Return the turns of the documents of hops, and of those that speak of the same by the same law."""
    places = rng.sample(range(open_turns), len(hops))
    # Two facts of one document share its turn; the place that is left over stays without a fact.
    turn_of = dict(zip(facts_by_document(hops), places, strict=False))
    in_order = True
    for number, (rival, needed) in enumerate(rivals.items()):
        others = [turn for turn in range(open_turns) if turn != turn_of[needed]]
        turn_of[rival] = rng.choice(others or [turn_of[needed]])
        if number == 0:
            in_order = (turn_of[rival] < turn_of[needed]) == rival_first
    if in_order:
        return turn_of
    # Read backwards, every document has its place as likely as before, and the first rival is on the other side.
    return {document_id: open_turns - 1 - turn for document_id, turn in turn_of.items()}


def _fill_empty(placed: Sequence[list[ItemDocument]], *, fixed: Collection[str]) -> None:
    """Give each empty turn a document of the fullest one, where that has one that may come at any time."""
    for turn in placed:
        if turn:
            continue
        fullest = max(placed, key=len)
        movable = [document for document in fullest if document.document_id not in fixed]
        if movable:
            fullest.remove(movable[-1])
            turn.append(movable[-1])
