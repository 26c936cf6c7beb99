"""Questions of deep research, as the embedded model words them: read from left to right, and understood as they were meant."""

import re
from itertools import product

import pytest

from assets.deep_research.fiction import RELATIONS
from assets.memory_items.world.relations import Relation
from pipelines.embedded.deep_research.sentences import CLAUSES, GREATEST, OPERATION_FRAMES, QUESTION_FRAMES, WHO_FRAMES
from pipelines.embedded.memory_items.known_world import Step
from pipelines.embedded.memory_items.reading import (
    answer_by_reading,
    read_question,
    read_steps,
    read_world_facts,
)

PAIRS = [(first, second) for first, second in product(RELATIONS, RELATIONS) if first.value == second.subject]
STEPS = [Step(relation.name, relation.phrase) for relation in RELATIONS]


def test_no_name_has_an_article_in_any_wording_and_every_option_has_the_right_one() -> None:
    for relation in RELATIONS:
        for clause in (relation.meaning, *CLAUSES.get(relation.name, ())):
            assert not re.search(r"\b(?:an?|the) \{subject\}|\bthe \{value\}", clause)
            if "a {value}" in clause:
                assert not [option for option in relation.options if option[0] in "aeiou"]


def test_every_phrase_ends_with_what_it_is_about() -> None:
    assert [relation.name for relation in RELATIONS if not relation.phrase.endswith("{x}")] == []


@pytest.mark.parametrize("frame", [*QUESTION_FRAMES, *WHO_FRAMES])
def test_two_steps_are_read_back_from_every_question(frame: str) -> None:
    def is_read(first: Relation, second: Relation) -> bool:
        wanted = second.phrase.format(x=first.phrase.format(x="Kume Vorivsen"))
        read = read_steps(frame.format(wanted=wanted), STEPS)
        if read is None or read.name != "Kume Vorivsen":
            return False
        return [step.relation for step in read.steps] == [first.name, second.name]

    assert [(first.name, second.name) for first, second in PAIRS if not is_read(first, second)] == []


ROWS = (
    "Entry | Content | Source\nThe firm that makes Kume 34 | Quillon Works | as of 4 May 2033\n"
    "The number of people employed by Quillon Works | 412 | by an unconfirmed report of 1 June 2034\n"
    "The number of people employed by Quillon Works | 512 | as was certified on 2 June 2033\nFee notes: paid."
)


@pytest.mark.parametrize("text", [ROWS, ROWS.replace("\n", " ")])
def test_rows_of_a_table_are_read_in_lines_and_joined_as_a_memory_may_keep_them(text: str) -> None:
    question = (
        "What is the number of people employed by the firm that makes Kume 34? Where documents disagree, something counts."
    )
    assert answer_by_reading([text], question) == "512"


def test_a_row_behind_a_million_letters_of_one_line_is_found_before_the_test_times_out() -> None:
    rows = f"{'word ' * 200_000}\n{ROWS}"
    assert [found.value for found in read_world_facts(rows)] == ["Quillon Works", "412", "512"]


LISTED = "Kume Vorivsen, the employer of Ada Sen and Quillon Works"
NAMES = [("Kume Vorivsen", 0), ("Ada Sen", 1), ("Quillon Works", 0)]
WORKED_OUT = [
    (operation, relation, frame)
    for operation, by_relation in OPERATION_FRAMES.items()
    for relation, frames in by_relation.items()
    for frame in frames
]


@pytest.mark.parametrize(("operation", "relation", "frame"), WORKED_OUT)
def test_what_is_worked_out_is_read_back_with_all_its_parts(operation: str, relation: str, frame: str) -> None:
    read = read_question(frame.format(parts=LISTED) + " Where documents disagree, something counts.", STEPS)
    assert read is not None
    assert read.operation == operation
    assert [(part.name, len(part.steps) - 1) for part in read.parts] == NAMES
    assert {part.steps[-1].relation for part in read.parts} == {relation}


@pytest.mark.parametrize("relation", GREATEST)
def test_what_is_asked_of_the_greatest_is_read_back(relation: str) -> None:
    read = read_question(f"Who is the person who directs {GREATEST[relation].format(parts=LISTED)}?", STEPS)
    assert read is not None
    assert (read.operation, [step.relation for step in read.then]) == ("most", ["director"])
    assert [(part.name, part.steps[-1].relation) for part in read.parts] == [(name, relation) for name, _ in NAMES]
