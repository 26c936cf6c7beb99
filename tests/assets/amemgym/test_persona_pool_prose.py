"""What the persona pool tells of people is plain, varied, and in the right words for each."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.assets.amemgym.pool_rows import HOBBIES, POOL, PROSE, entries_of, text_of
from tests.support.persona_pool.chance import Chance
from tests.support.persona_pool.deck import Deck, allowed
from tests.support.persona_pool.prose import age_phrase, fill
from tests.support.persona_pool.tables import all_hobbies, load_tables

OTHER_PRONOUNS = {
    "Female": {"he", "him", "his", "himself"},
    "Male": {"she", "her", "hers", "herself"},
}


@pytest.mark.parametrize("column", PROSE)
def test_every_text_is_a_few_plain_sentences(column: str) -> None:
    for row in POOL:
        text = text_of(row, column)
        assert 1 <= len(re.findall(r"\.(?: |$)", text)) <= 4
        assert text[0].isupper()
        assert text.endswith(".")
        assert not re.search(r"[_$|@{}]|  |\.\.|\ban [bcdfgj-np-tv-z]", text)


def test_nobody_is_called_by_the_wrong_pronoun() -> None:
    for row in POOL:
        told = " ".join(text_of(row, column) for column in PROSE).lower()
        words = set(re.findall(r"[a-z]+", told))
        assert not words & OTHER_PRONOUNS[text_of(row, "sex")]


def test_no_sentence_is_said_twice_of_the_same_person() -> None:
    for row in POOL:
        told = [re.split(r"(?<=\.) ", text_of(row, column)) for column in PROSE]
        counts = Counter(line for lines in told for line in lines)
        assert max(counts.values()) == 1


def test_a_keyword_search_finds_each_hobby_in_the_prose() -> None:
    by_label = {hobby.label: hobby for hobby in all_hobbies(load_tables()).values()}
    for row in POOL:
        text = text_of(row, "hobbies_and_interests").lower()
        for label in entries_of(row, HOBBIES):
            assert any(word.lower() in text for word in by_label[label].words), label


def test_tagged_lines_are_offered_only_to_people_they_suit() -> None:
    lines = ["kids| one", "-kids| two", "married,kids| three", "four"]
    assert allowed(lines, frozenset({"kids"})) == ["one", "four"]
    assert allowed(lines, frozenset({"married"})) == ["two", "four"]


def test_a_deck_wears_its_lines_evenly() -> None:
    deck = Deck()
    picks = [deck.pick(["a", "b", "c"], "line", Chance(1, n)) for n in range(9)]
    assert set(Counter(picks).values()) == {3}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("@a $word", "an editor"),
        ("is @a $word", "is an editor"),
        ("@a house $word", "a house editor"),
        ("@a honest $word", "an honest editor"),
        ("@a unusual $word", "an unusual editor"),
        ("@a uniform $word", "a uniform editor"),
    ],
)
def test_articles_follow_the_sound_of_the_next_word(line: str, text: str) -> None:
    assert fill(line, {"word": "editor"}) == text


@pytest.mark.parametrize(
    ("age", "phrase"),
    [(18, "late teens"), (30, "early thirties"), (46, "mid forties"), (59, "late fifties"), (85, "mid eighties")],
)
def test_ages_are_told_in_words(age: int, phrase: str) -> None:
    assert age_phrase(age) == phrase
