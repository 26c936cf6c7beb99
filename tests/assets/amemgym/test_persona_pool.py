"""The persona pool is reproducible, complete and free of contradictions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assets.amemgym.records.persona import PERSONA_COLUMNS
from tests.assets.amemgym.pool_rows import HOBBIES, LISTS, POOL, PROSE, age_of, entries_of, text_of
from tests.support.persona_pool.generate import DEFAULT_PATH, Row, generate_pool, write_pool
from tests.support.persona_pool.tables import DEGREES, all_hobbies, load_tables

MARITAL = {"never_married", "married_present", "separated", "widowed", "divorced"}
FIELDS = {"arts_humanities", "business", "education", "stem", "stem_related"}
YOUNGEST = {"associates": 20, "bachelors": 22, "graduate": 24}


def _full_name(row: Row) -> str:
    """The one pair of capitalized words that all prose columns share."""
    pairs = r"(?<![\w-])(?=([A-Z][\w-]* [A-Z][\w-]*))"
    shared = [set(re.findall(pairs, text_of(row, column))) for column in PROSE]
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
    assert all(tuple(row) == PERSONA_COLUMNS for row in POOL)


def test_there_are_400_people_with_ids_and_names_of_their_own() -> None:
    ids = {text_of(row, "uuid") for row in POOL}
    assert len(ids) == len({_full_name(row) for row in POOL}) == len(POOL) == 400
    assert all(re.fullmatch(r"[0-9a-f]{32}", uuid) for uuid in ids)


@pytest.mark.parametrize("column", LISTS)
def test_list_columns_hold_python_lists_of_distinct_entries(column: str) -> None:
    for row in POOL:
        entries = entries_of(row, column)
        assert len(set(entries)) == len(entries) > 0
        assert all(entry[0].isupper() for entry in entries)


def test_everybody_has_three_to_five_hobbies() -> None:
    counts = {len(entries_of(row, "hobbies_and_interests_list")) for row in POOL}
    assert counts == {3, 4, 5}


def test_a_field_of_study_goes_with_a_degree_and_only_with_one() -> None:
    for row in POOL:
        has_degree = row["education_level"] in DEGREES
        assert (row["bachelors_field"] in FIELDS) is has_degree
        assert (row["bachelors_field"] is None) is not has_degree


def test_ages_suit_schooling_and_marriage() -> None:
    for row in POOL:
        age = age_of(row)
        assert 18 <= age <= 85
        assert age >= YOUNGEST.get(text_of(row, "education_level"), 18)
        assert row["marital_status"] in MARITAL
        assert row["marital_status"] == "never_married" or age >= 20
        assert row["marital_status"] != "widowed" or age >= 35


def test_ages_and_schooling_suit_the_occupation() -> None:
    jobs = load_tables().occupations
    for row in POOL:
        if row["occupation"] == "retired":
            assert age_of(row) >= 60
            continue
        job = jobs[text_of(row, "occupation")]
        assert job.min_age <= age_of(row) <= job.max_age
        assert row["bachelors_field"] is None or row["bachelors_field"] in job.fields


def test_most_people_past_67_are_retired() -> None:
    older = [row for row in POOL if age_of(row) >= 67]
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
    told = {entry for row in POOL for entry in entries_of(row, HOBBIES)}
    assert told == labels
    assert len(labels) >= 48
