"""The persona pool is reproducible, complete and free of contradictions."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from pathlib import Path
from typing import cast

import pytest

from assets.pool.chance import Chance
from assets.pool.deck import Deck, allowed
from assets.pool.generate import DEFAULT_PATH, Row, generate_pool, write_pool
from assets.pool.prose import age_phrase, fill
from assets.pool.tables import DEGREES, all_hobbies, load_tables

COLUMNS = [
    "uuid",
    "professional_persona",
    "sports_persona",
    "arts_persona",
    "travel_persona",
    "culinary_persona",
    "persona",
    "cultural_background",
    "skills_and_expertise",
    "skills_and_expertise_list",
    "hobbies_and_interests",
    "hobbies_and_interests_list",
    "career_goals_and_ambitions",
    "sex",
    "age",
    "marital_status",
    "education_level",
    "bachelors_field",
    "occupation",
    "city",
    "state",
    "zipcode",
    "country",
]
LISTS = ("skills_and_expertise_list", "hobbies_and_interests_list")
PROSE = [column for column in COLUMNS[1:13] if column not in LISTS]
MARITAL = {"never_married", "married_present", "separated", "widowed", "divorced"}
FIELDS = {"arts_humanities", "business", "education", "stem", "stem_related"}
YOUNGEST = {"associates": 20, "bachelors": 22, "graduate": 24}
OTHER_PRONOUNS = {
    "Female": {"he", "him", "his", "himself"},
    "Male": {"she", "her", "hers", "herself"},
}
POOL = [cast(Row, json.loads(line)) for line in DEFAULT_PATH.read_text(encoding="utf-8").splitlines()]


def _age(row: Row) -> int:
    age = row["age"]
    assert isinstance(age, int)
    return age


def _text(row: Row, column: str) -> str:
    value = row[column]
    assert isinstance(value, str)
    return value


def _entries(row: Row, column: str) -> list[str]:
    return cast(list[str], ast.literal_eval(_text(row, column)))


def _full_name(row: Row) -> str:
    """The one pair of capitalized words that all prose columns share."""
    pairs = r"(?<![\w-])(?=([A-Z][\w-]* [A-Z][\w-]*))"
    shared = [set(re.findall(pairs, _text(row, column))) for column in PROSE]
    (name,) = set[str].intersection(*shared)
    return name


def test_writing_the_pool_again_gives_the_committed_bytes(tmp_path: Path) -> None:
    write_pool(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == DEFAULT_PATH.read_bytes()


def test_a_smaller_pool_is_the_beginning_of_the_full_one() -> None:
    assert generate_pool(5) == POOL[:5]


def test_another_seed_gives_other_people() -> None:
    assert generate_pool(3, seed=7) != POOL[:3]


def test_every_row_has_the_columns_in_the_published_order() -> None:
    assert all(list(row) == COLUMNS for row in POOL)


def test_there_are_400_people_with_ids_and_names_of_their_own() -> None:
    ids = {_text(row, "uuid") for row in POOL}
    assert len(ids) == len({_full_name(row) for row in POOL}) == len(POOL) == 400
    assert all(re.fullmatch(r"[0-9a-f]{32}", uuid) for uuid in ids)


@pytest.mark.parametrize("column", LISTS)
def test_list_columns_hold_python_lists_of_distinct_entries(column: str) -> None:
    for row in POOL:
        entries = _entries(row, column)
        assert len(set(entries)) == len(entries) > 0
        assert all(entry[0].isupper() for entry in entries)


def test_everybody_has_three_to_five_hobbies() -> None:
    counts = {len(_entries(row, "hobbies_and_interests_list")) for row in POOL}
    assert counts == {3, 4, 5}


def test_a_field_of_study_goes_with_a_degree_and_only_with_one() -> None:
    for row in POOL:
        has_degree = row["education_level"] in DEGREES
        assert (row["bachelors_field"] in FIELDS) is has_degree
        assert (row["bachelors_field"] is None) is not has_degree


@pytest.mark.parametrize("column", PROSE)
def test_every_text_is_a_few_plain_sentences(column: str) -> None:
    for row in POOL:
        text = _text(row, column)
        assert 1 <= len(re.findall(r"\.(?: |$)", text)) <= 4
        assert text[0].isupper()
        assert text.endswith(".")
        assert not re.search(r"[_$|@{}]|  |\.\.|\ban [bcdfgj-np-tv-z]", text)


def test_nobody_is_called_by_the_wrong_pronoun() -> None:
    for row in POOL:
        told = " ".join(_text(row, column) for column in PROSE).lower()
        words = set(re.findall(r"[a-z]+", told))
        assert not words & OTHER_PRONOUNS[_text(row, "sex")]


def test_no_sentence_is_said_twice_of_the_same_person() -> None:
    for row in POOL:
        told = [re.split(r"(?<=\.) ", _text(row, column)) for column in PROSE]
        counts = Counter(line for lines in told for line in lines)
        assert max(counts.values()) == 1


def test_ages_suit_schooling_and_marriage() -> None:
    for row in POOL:
        age = _age(row)
        assert 18 <= age <= 85
        assert age >= YOUNGEST.get(_text(row, "education_level"), 18)
        assert row["marital_status"] in MARITAL
        assert row["marital_status"] == "never_married" or age >= 20
        assert row["marital_status"] != "widowed" or age >= 35


def test_ages_and_schooling_suit_the_occupation() -> None:
    jobs = load_tables().occupations
    for row in POOL:
        if row["occupation"] == "retired":
            assert _age(row) >= 60
            continue
        job = jobs[_text(row, "occupation")]
        assert job.min_age <= _age(row) <= job.max_age
        assert row["bachelors_field"] is None or row["bachelors_field"] in job.fields


def test_most_people_past_67_are_retired() -> None:
    older = [row for row in POOL if _age(row) >= 67]
    retired = [row for row in older if row["occupation"] == "retired"]
    assert 0.6 < len(retired) / len(older) < 1


def test_at_least_sixty_occupations_occur() -> None:
    assert len({row["occupation"] for row in POOL}) >= 60


def test_zip_codes_are_those_of_the_city() -> None:
    places = load_tables().places.places
    known = {(place.city, place.state, place.zipcode) for place in places}
    rows = {(row["city"], row["state"], row["zipcode"]) for row in POOL}
    assert rows <= known
    assert {row["country"] for row in POOL} == {"USA"}


def test_every_hobby_of_the_table_has_somebody_who_enjoys_it() -> None:
    labels = {hobby.label for hobby in all_hobbies(load_tables()).values()}
    told = {entry for row in POOL for entry in _entries(row, LISTS[1])}
    assert told == labels
    assert len(labels) >= 48


def test_a_keyword_search_finds_each_hobby_in_the_prose() -> None:
    by_label = {hobby.label: hobby for hobby in all_hobbies(load_tables()).values()}
    for row in POOL:
        text = _text(row, "hobbies_and_interests").lower()
        for label in _entries(row, LISTS[1]):
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
