"""Typed answers are graded by what they mean, not by how they are spelled."""

import hashlib

import pytest

from assets.memory_items.documents import TOKENIZER
from assets.records.answers import AnswerKind, TypedAnswer, is_right, read_date
from assets.text.words import MOST_PER_TOKEN, OF_GROUPS, OF_PIECE, PIECE


@pytest.mark.parametrize(
    ("kind", "value", "right", "wrong"),
    [
        (
            "number",
            "1250",
            ("1250", "1,250", "1250 grams", "It weighs 1250 grams."),
            ("1251", "125", "between 1250 and 1300", ""),
        ),
        ("date", "2031-05-04", ("4 May 2031", "May 4, 2031", "2031-05-04"), ("5 May 2031", "May 2031", "2031", "soon")),
        ("name", "Quillon Works", ("quillon works", "The Quillon Works", "Quillon Works."), ("Quillon", "Quillon Press")),
        ("option", "slate", ("Slate", "slate."), ("copper", "slate or copper")),
        (
            "list",
            "Kume 34, Quillon Works, Ada Sen",
            (
                "Kume 34; Quillon Works; Ada Sen.",
                "1. Kume 34\n2. Quillon Works\n3. Ada Sen",
                "kume 34, Quillon Works and Ada Sen",
            ),
            ("Quillon Works, Kume 34, Ada Sen", "Kume 34, Ada Sen", "Kume 34"),
        ),
        ("number", "3.10", ("3.10", "version 3.10"), ("3.1", "310")),
    ],
)
def test_an_answer_is_right_in_any_spelling_and_wrong_with_anything_else(
    kind: AnswerKind, value: str, right: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    answer = TypedAnswer(kind=kind, value=value)
    assert {given: is_right(answer, given) for given in right} == dict.fromkeys(right, True)
    assert {given: is_right(answer, given) for given in wrong} == dict.fromkeys(wrong, False)
    assert not is_right(answer, None)


def test_a_date_without_its_day_is_none() -> None:
    assert [read_date(text) for text in ("May 2031", "2031", "4 May", "12")] == [None] * 4


def test_the_tokenizers_name_belongs_to_its_pattern() -> None:
    digest = hashlib.sha256(f"{PIECE.pattern} {OF_PIECE} {OF_GROUPS} {MOST_PER_TOKEN}".encode()).hexdigest()[:12]
    assert (TOKENIZER, digest) == ("amemgym-pieces-3", "b578bf28ca0e")
