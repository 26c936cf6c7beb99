"""The persona pool is complete, balanced as the guide says, and tells of people in words of their own."""

import json
import re
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from assets.amemgym.personas.pool_files import OWN_POOL
from assets.amemgym.records.persona import LIST_COLUMNS, PERSONA_COLUMNS, Persona
from assets.amemgym.user_profiles import COMPLEMENTARY, PLAIN_WORDS, complementary_info
from assets.text.text_checks import SENTENCE_END
from assets.text.words import runs_of_words
from tests.support.applied_rules import apply_rules
from tests.support.small import small_recipe
from validation.amemgym.personas import RULES

ROWS = [json.loads(line) for line in OWN_POOL.read_text(encoding="utf-8").splitlines()]
POOL = [Persona.from_row(row) for row in ROWS]
BANDS = (18, 23, 28, 33, 39, 45, 50, 55, 61, 67, 73, 80, 89)  # of the guide's table: each begins one
MARITAL = {"never_married", "married_present", "separated", "widowed", "divorced"}
SCHOOLED = {"less_than_9th", "9th_12th_no_diploma", "high_school", "some_college", "associates"}
DEGREES = {"bachelors", "graduate"}
FIELDS = {"arts_humanities", "business", "education", "stem", "stem_related"}
STATES = 51  # with the capital's district


def full_name(persona: Persona) -> str:
    """The one pair of capitalized words that all texts share."""
    pairs = r"(?<![\w-])(?=([A-Z][\w'-]* [A-Z][\w'-]*))"
    shared = [set(re.findall(pairs, re.sub(r"'s\b", "", getattr(persona, column)))) for column in COMPLEMENTARY]
    (name,) = set[str].intersection(*shared)
    return name


def test_every_row_has_the_columns_in_the_published_order() -> None:
    assert all(tuple(row) == PERSONA_COLUMNS for row in ROWS)


def test_there_are_120_people_with_ids_first_and_last_names_of_their_own() -> None:
    names = [full_name(persona).split(" ") for persona in POOL]
    firsts, lasts = zip(*names, strict=True)
    assert len(POOL) == len(set(firsts)) == len(set(lasts)) == len({persona.user_id for persona in POOL}) == 120
    assert all(re.fullmatch(r"[0-9a-f]{32}", persona.user_id) for persona in POOL)


def test_every_band_of_ages_has_five_women_and_five_men() -> None:
    for first, after in pairwise(BANDS):
        assert Counter(persona.sex for persona in POOL if first <= persona.age < after) == {"Female": 5, "Male": 5}


def test_every_state_has_somebody_and_occupations_seldom_repeat() -> None:
    assert len({persona.state for persona in POOL}) == STATES
    assert {persona.country for persona in POOL} == {"USA"}
    assert all(re.fullmatch(r"\d{5}", persona.zipcode) for persona in POOL)
    counts = Counter(persona.occupation for persona in POOL)
    assert {code: count for code, count in counts.items() if count > 2} == {"retired": 26, "not_in_workforce": 4, "student": 3}
    assert len(counts) == 88


def test_codes_are_those_of_the_census_and_a_field_goes_with_a_degree_alone() -> None:
    assert set(PLAIN_WORDS) <= MARITAL | SCHOOLED | DEGREES | FIELDS
    for persona in POOL:
        assert persona.marital_status in MARITAL
        assert persona.education_level in SCHOOLED | DEGREES
        assert (persona.bachelors_field in FIELDS) is (persona.education_level in DEGREES)


@pytest.mark.parametrize("column", sorted(LIST_COLUMNS))
def test_list_columns_hold_three_to_five_distinct_entries(column: str) -> None:
    for persona in POOL:
        entries = getattr(persona, column)
        assert len(set(entries)) == len(entries) in (3, 4, 5)
        assert all(entry[0].isupper() for entry in entries)


@pytest.mark.parametrize("column", COMPLEMENTARY)
def test_every_text_is_a_few_plain_sentences(column: str) -> None:
    for persona in POOL:
        text = getattr(persona, column)
        assert 1 <= len(re.findall(r"\.(?: |$)", text)) <= 3
        assert 13 <= len(text.split()) <= 60
        assert text[0].isupper()
        assert text.endswith(".")
        assert not re.search(r"[_$|@{}]|  |\.\.|\ban [bcdfgj-np-tv-z]", text)


def test_no_sentence_is_told_of_two_people_and_no_six_words_of_three() -> None:
    assert all(outcome.passed for outcome in apply_rules(RULES, POOL, recipe=small_recipe()))
    users: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for persona in POOL:
        told = complementary_info(persona).replace(full_name(persona), "X")
        for sentence in SENTENCE_END.split(told):
            for run in runs_of_words(sentence, 6):
                users[run].add(persona.user_id)
    assert max(map(len, users.values())) == 2
