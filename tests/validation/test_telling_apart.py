"""Words, names and form find what tells support from filler, and are at chance where nothing does."""

import pytest

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.documents import ItemDocument, SizedItem, Turn
from assets.records.estimate import Estimate
from validation.memory_items.report import worst_areas
from validation.memory_items.telling_apart import LOOKS, TellingApart

BAG, NAMES, FORM = LOOKS
WORDS = [f"{first}{second}el" for first in "bdfgklmnpr" for second in "aeiou"]


def documents(item: int, *, mark: str) -> list[ItemDocument]:
    """Two of support and eight of filler, all of random words; `mark` is in titles of filler."""
    rng = SeededRandom("telling apart", item)
    return [
        ItemDocument(
            document_id=f"{item}-{number}",
            title=f"Title {mark if number > 1 else ''}",
            text=" ".join(rng.sample(WORDS, 15)),
            role="filler" if number > 1 else "support",
        )
        for number in range(10)
    ]


def sized(own: list[ItemDocument], *, turns: int = 1) -> SizedItem:
    """The documents in so many turns, as they come."""
    placed = tuple(Turn(documents=tuple(own[number::turns])) for number in range(turns))
    return SizedItem(target_tokens=1000, tokens=1000, turns=placed)


def measured(items: list[SizedItem], look: str) -> tuple[float, float]:
    apart = TellingApart()
    for number, item in enumerate(items):
        apart.add(str(number), item)
    found = apart.areas()[look]
    assert found.value is not None
    assert found.low is not None
    return found.value, found.low


def shuffled(item: int, *, mark: str = "") -> list[ItemDocument]:
    return SeededRandom("places", item).shuffled(documents(item, mark=mark))


def area(mark: str, items: int = 40) -> tuple[float, float]:
    return measured([sized(documents(item, mark=mark)) for item in range(items)], BAG)


def test_a_word_in_the_titles_of_filler_is_found() -> None:
    value, low = area("Miscellaneous")
    assert value > 0.95
    assert low > 0.6


def test_documents_of_the_same_words_are_at_chance() -> None:
    value, low = area("")
    assert 0.4 < value < 0.6
    assert low < 0.6


def test_where_items_share_their_filler_no_few_documents_of_it_are_known_by_heart() -> None:
    """Each document is support of one item, and filler of all others; it has words of its own."""
    pool: list[ItemDocument] = []
    for item in range(60):
        for document in documents(item, mark="")[:2]:
            own_words = " ".join(f"{word}{item}x{document.document_id[-1]}" for word in WORDS[:5])
            pool.append(document.model_copy(update={"text": own_words}))
    items: list[SizedItem] = []
    for item in range(60):
        own = {f"{item}-0", f"{item}-1"}
        others = [document.model_copy(update={"role": "filler"}) for document in pool if document.document_id not in own]
        items.append(sized([document for document in pool if document.document_id in own] + others))
    value, _ = measured(items, BAG)
    assert value < 0.6


def test_few_items_are_not_measured() -> None:
    apart = TellingApart()
    for item in range(4):
        apart.add(str(item), sized(documents(item, mark="")))
    assert apart.areas() == {}


def test_copies_of_items_teach_nothing_of_their_support() -> None:
    apart = TellingApart()
    for item in range(40):
        for copy in range(5):
            apart.add(f"{item}+{copy}", sized(documents(item, mark="")))
    found = apart.areas()[BAG]
    assert found.value is not None
    assert 0.4 < found.value < 0.6


def test_copies_of_few_items_are_not_measured() -> None:
    apart = TellingApart()
    for copy in range(10):
        apart.add(str(copy), sized(documents(0, mark="")))
    assert apart.areas() == {}


def named(item: int, *, cut: bool) -> SizedItem:
    """Documents of which two and two share a name; `cut`: of filler, each has a name of its own."""
    own: list[ItemDocument] = []
    for number, document in enumerate(documents(item, mark="")):
        pair = number if cut and document.role == "filler" else number // 2
        own.append(document.model_copy(update={"text": f"{document.text} Nam{'abcdefghij'[pair]}el"}))
    return sized(SeededRandom("places", item).shuffled(own))


def test_filler_whose_names_come_up_nowhere_else_is_found() -> None:
    value, _ = measured([named(item, cut=True) for item in range(40)], NAMES)
    assert value > 0.9
    value, _ = measured([named(item, cut=False) for item in range(40)], NAMES)
    assert 0.4 < value < 0.6


@pytest.mark.parametrize("told_by", ["turn", "length", "status"])
def test_support_that_its_turn_length_or_status_tells_is_found(told_by: str) -> None:
    items: list[SizedItem] = []
    for item in range(40):
        own = shuffled(item)
        if told_by == "turn":
            own.sort(key=lambda document: document.role == "support")
            turns = (Turn(documents=tuple(own[:6])), Turn(documents=tuple(own[6:])))
            items.append(SizedItem(target_tokens=1000, tokens=1000, turns=turns))
            continue
        added = " certified" if told_by == "status" else " and so on" * 9
        for number, document in enumerate(own):
            if document.role == "support":
                own[number] = document.model_copy(update={"text": document.text + added})
        items.append(sized(own, turns=2))
    assert measured(items, FORM)[0] > 0.8


def test_form_that_tells_nothing_is_at_chance() -> None:
    value, low = measured([sized(shuffled(item), turns=3) for item in range(60)], FORM)
    assert 0.35 < value < 0.65
    assert low < 0.6


def test_the_report_has_each_area_of_the_length_at_which_it_is_largest() -> None:
    def areas(words: float, names: float) -> dict[str, Estimate]:
        return {
            "words": Estimate(value=words, low=words - 0.1, high=words + 0.1),
            "names": Estimate(value=names, low=names - 0.1, high=names + 0.1),
        }

    worst = worst_areas([areas(0.6, 0.5), areas(0.5, 0.7), {}])
    assert {name: area.value for name, area in worst.items()} == {"words": 0.6, "names": 0.7}
