"""A bag of words finds what tells support from filler, and is at chance where nothing does."""

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.documents import ItemDocument
from validation.memory_items.telling_apart import TellingApart

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


def area(mark: str, items: int = 40) -> tuple[float, float]:
    apart = TellingApart()
    for item in range(items):
        apart.add(str(item), documents(item, mark=mark))
    found = apart.auroc()
    assert found is not None
    assert found.value is not None
    assert found.low is not None
    return found.value, found.low


def test_a_word_in_the_titles_of_filler_is_found() -> None:
    value, low = area("Miscellaneous")
    assert value > 0.95
    assert low > 0.6


def test_documents_of_the_same_words_are_at_chance() -> None:
    value, low = area("")
    assert 0.4 < value < 0.6
    assert low < 0.6


def test_few_items_are_not_measured() -> None:
    apart = TellingApart()
    for item in range(4):
        apart.add(str(item), documents(item, mark=""))
    assert apart.auroc() is None
