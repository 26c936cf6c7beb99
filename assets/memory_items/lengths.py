"""A task at a length: whole clusters of filler are added to its turns until the memory receives as many tokens as wanted."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.documents import ItemDocument, SizedItem, Turn, tokens_of
from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.tasks import TaskLengths
from assets.memory_items.world.relations import spoken
from assets.recipe.document_tasks import DocumentTaskRecipe, Eviction
from assets.records.answers import read_date
from assets.records.base import ItemFailed
from assets.reporting.asset_description import Row
from assets.text.words import folded, spells

SPARE_TOKENS = 4000  # or a quarter of a short length, beside a tenth of it: some of the filler may hold an answer by chance
MOST_TRIED = 12  # of the first groups that are left, and as many of the last ones, which are small
OPEN_WEIGHT = 4  # of turns that may have a fact, where one that may not has 1


def tokens_to_draw(recipe: DocumentTaskRecipe) -> int:
    """Return the tokens of documents that a task needs for its longest length."""
    return round(1.1 * recipe.lengths[-1]) + min(SPARE_TOKENS, recipe.lengths[-1] // 4)


def at_each_length(
    turns: Sequence[Turn], filler: Sequence[Sequence[ItemDocument]], *, task_id: str, recipe: DocumentTaskRecipe
) -> TaskLengths:
    """Return the turns filled up to each length of the recipe, each with the filler of the one before and more.

    `filler`: groups of documents, each used whole or not at all. Raises ItemFailed where a length cannot be met.
    """
    path = (recipe.world_seed, task_id, "lengths")
    sized: list[SizedItem] = []
    room = FillerRoom(recipe.eviction, recipe.length_tolerance, path)
    chosen: list[int] = []
    for target in recipe.lengths:
        chosen = room.choose_filler(turns, filler, target=target, before=chosen)
        sized.append(room.fill_turns(turns, [filler[number] for number in chosen], target=target))
    return TaskLengths(task_id=task_id, lengths=tuple(sized))


@dataclass(frozen=True)
class FillerRoom:
    """Chooses filler for a length, and places it. `tolerance`: share of a length by which it may differ.

    `path` seeds the places: the same filler has the same place at any length.
    """

    eviction: Eviction
    tolerance: float
    path: Sequence[object]

    def choose_filler(
        self, turns: Sequence[Turn], filler: Sequence[Sequence[ItemDocument]], *, target: int, before: Sequence[int] = ()
    ) -> list[int]:
        """Return the numbers of the groups that fill the turns to the target, those chosen before among them."""
        tokens = [sum(document.tokens for document in group) for group in filler]
        room = target - tokens_of(turns) - sum(tokens[number] for number in before)
        chosen = list(before)
        rest: list[int] = []
        # So much room is left for what is chosen by its length.
        largest = max(tokens, default=0)
        for number in range(len(filler)):
            if number in before:
                continue
            if tokens[number] + largest <= room:
                chosen.append(number)
                room -= tokens[number]
            else:
                rest.append(number)
        last = rest[:MOST_TRIED] + rest[MOST_TRIED:][-MOST_TRIED:]
        nearest = _nearest([tokens[number] for number in last], room=room, near=round(target * self.tolerance / 2))
        return chosen + [last[place] for place in nearest]

    def fill_turns(self, turns: Sequence[Turn], filler: Sequence[Sequence[ItemDocument]], *, target: int) -> SizedItem:
        """Return the turns with all of this filler. Raises ItemFailed where they are not of the target's length."""
        placed = [list(turn.documents) for turn in turns]
        added = 0
        for group in filler:
            for document in group:
                # A generator for each document, so that one more in front of it does not move it.
                rng = SeededRandom(*self.path, "turn", document.document_id)
                placed[turn_without_fact(len(placed), self.eviction, rng)].append(document)
                added += document.tokens
        filled = ordered_turns(placed, path=self.path)
        tokens = tokens_of(filled)
        if abs(tokens - target) > target * self.tolerance:
            raise ItemFailed(
                "rule_violated",
                f"A length of {target} tokens, {self.tolerance:.0%} more or less, cannot be met: with {added} tokens of filler "
                f"it is {tokens}.",
            )
        return SizedItem(target_tokens=target, tokens=tokens, turns=filled)


def _nearest(tokens: Sequence[int], *, room: int, near: int) -> tuple[int, ...]:
    """Return the places whose tokens together come nearest to the room; of those that are near, the fewest."""
    sums: dict[int, tuple[int, ...]] = {0: ()}
    for place, own in enumerate(tokens):
        for total, places in list(sums.items()):
            longer = (*places, place)
            known = sums.get(total + own)
            if total + own <= room + near and (known is None or len(longer) < len(known)):
                sums[total + own] = longer

    def how_far(total: int) -> tuple[int, int, int]:
        away = abs(room - total)
        return max(0, away - near), len(sums[total]), away

    return sums[min(sums, key=how_far)]


def turn_without_fact(count: int, eviction: Eviction, rng: SeededRandom) -> int:
    """Return the turn of a document without a needed fact: any of them, the last ones, which may have no fact, more rarely.

    Were those as full as the others, a place alone would tell many documents that nothing asks for.
    """
    open_turns = count - eviction.hidden_turns
    draw = rng.integer_below(open_turns * OPEN_WEIGHT + eviction.hidden_turns)
    return draw // OPEN_WEIGHT if draw < open_turns * OPEN_WEIGHT else draw - open_turns * (OPEN_WEIGHT - 1)


def in_seeded_order(documents: Sequence[ItemDocument], *, path: Sequence[object]) -> list[ItemDocument]:
    """Return the documents in an order that follows from the seed and their ids alone, so that no place tells a role."""
    return sorted(documents, key=lambda document: hashlib.sha256(f"{path}\x1f{document.document_id}".encode()).hexdigest())


def ordered_turns(placed: Sequence[Sequence[ItemDocument]], *, path: Sequence[object]) -> tuple[Turn, ...]:
    """Return turns of these documents, each in seeded order."""
    return tuple(Turn(documents=tuple(in_seeded_order(documents, path=path))) for documents in placed)


def usable_filler(
    documents: Iterable[SourceDocument], hops: Sequence[Fact], *, turns: Sequence[Turn]
) -> list[list[SourceDocument]]:
    """Return the documents that are in none of the turns, by cluster; without clusters that have something of the chain."""
    placed: set[str] = set()
    for turn in turns:
        placed.update(document.document_id for document in turn.documents)
    names = chain_names(hops)
    groups: dict[str, list[SourceDocument]] = {}
    telling: set[str] = set()
    for document in documents:
        if document.document_id not in placed:
            group = document.cluster or document.document_id
            groups.setdefault(group, []).append(document)
            if _tells(document, names):
                telling.add(group)
    return [group for name, group in groups.items() if name not in telling]


def chain_names(hops: Sequence[Fact]) -> list[str]:
    """Return every name, number and date of the chain, which no filler may have.

    Options are left out: they are in many documents and tell nothing.
    """
    names: set[str] = set()
    for fact in hops:
        names.add(fact.subject)
        if not fact.options:
            names.add(fact.value)
            day = read_date(fact.value)
            if day is not None:
                names.add(spoken(day))
    return sorted(names)


def _tells(document: SourceDocument, names: Sequence[str]) -> bool:
    text = f"{document.title}\n{document.text}"
    letters = folded(text).replace(" ", "")
    # Most names are not there at all, which is found out faster than where they stand. Words may be joined otherwise there.
    return any(folded(name).split()[0][:4] in letters and spells(text, name) for name in names)


def length_rows(task: TaskLengths) -> list[Row]:
    """Return the lengths as an asset's preview shows them."""
    rows: list[Row] = []
    for length in task.lengths:
        documents = len(list(length.documents))
        rows.append(
            {"target": length.target_tokens, "tokens": length.tokens, "turns": len(length.turns), "documents": documents}
        )
    return rows
