"""Questions of deep research, as the embedded model words them: short, and understood as they were meant."""

import re
from typing import Any, get_args

import pytest

from assets.deep_research.fiction import RELATIONS, WORLD
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.questions import MOST_WORDS, num_words
from assets.memory_items.world.relations import Relation
from assets.recipe.document_tasks import FEWEST_FACTS, MOST_HOPS, AskedOperation
from pipelines.embedded.deep_research.sentences import CLAUSES
from pipelines.embedded.deep_research.writers import KNOWN
from pipelines.embedded.memory_items.asking import read_question, word_question
from pipelines.embedded.memory_items.known_world import Step
from pipelines.embedded.memory_items.reading import answer_by_reading, known_worlds, read_world_facts

STEPS = [Step(relation.name, relation.phrase) for relation in RELATIONS]
DRAWN = 60  # questions of each operation and number of facts


def test_no_name_has_an_article_in_any_wording_and_every_option_has_the_right_one() -> None:
    for relation in RELATIONS:
        for clause in (relation.meaning, *CLAUSES.get(relation.name, ())):
            assert not re.search(r"\b(?:an?|the) \{subject\}|\bthe \{value\}", clause)
            if "a {value}" in clause:
                assert not [option for option in relation.options if option[0] in "aeiou"]


def test_every_phrase_ends_with_what_it_is_about() -> None:
    assert [relation.name for relation in RELATIONS if not relation.phrase.endswith("{x}")] == []


def wanted_of(operation: AskedOperation, hops: int, number: int) -> dict[str, Any]:
    """What a question of a seeded path asks, as its writer is told."""
    paths = WORLD.paths(SeededRandom(operation, hops, number), hops, operation)
    names = WORLD.entities((operation, hops, number), set())

    def part(relations: list[Relation], kind: str) -> dict[str, Any]:
        return {"name": names.new(kind), "steps": [relation.phrase for relation in relations]}

    if operation == "count":
        leading = paths[0] if len(paths) > 1 else []
        counted = paths[-1][0]
        return {
            "operation": operation,
            "parts": [part([*leading, counted], leading[0].subject if leading else counted.value)],
            "then": [],
        }
    then = [paths.pop()[0].phrase] if operation == "most" else []
    return {"operation": operation, "parts": [part(path, path[0].subject) for path in paths], "then": then}


@pytest.mark.parametrize("operation", get_args(AskedOperation))
def test_every_question_is_short_and_is_read_back_with_all_its_steps(operation: AskedOperation) -> None:
    for hops in range(max(2, FEWEST_FACTS[operation]), MOST_HOPS + 1):
        for number in range(DRAWN):
            wanted = wanted_of(operation, hops, number)
            question = word_question(KNOWN, wanted, ())
            read = read_question(question, known_worlds(), [])
            assert read is not None, question
            parts = [{"name": part.name, "steps": [step.phrase for step in part.steps]} for part in read.parts]
            then = [step.phrase for step in read.then]
            assert {"operation": read.operation, "parts": parts, "then": then} == wanted, question
            assert num_words(question, ()) <= MOST_WORDS, question


def test_noun_phrases_are_read_nested_and_one_after_the_other() -> None:
    steps = [Step("", "the parent class of {x}"), Step("", "the error that {x} raises")]
    for question in (
        "What is the error that the parent class of A.b raises?",
        "Take the parent class of A.b. What is the error that it raises?",
    ):
        read = read_question(question, [], steps)
        assert read is not None
        assert [(part.name, part.steps) for part in read.parts] == [("A.b", steps)]


def test_words_of_options_do_not_count() -> None:
    assert num_words("What is Kume 34 housed in: steel, old brass?", ("steel", "old brass")) == 6


ROWS = (
    "Entry | Content | Source\nThe firm that makes Kume 34 | Quillon Works | the file of 4 May 2033\n"
    "The floor space in square metres of Quillon Works | 412 | an unconfirmed report of 1 June 2034\n"
    "The floor space in square metres of Quillon Works | 512 | a page certified on 2 June 2033\nFee notes: paid."
)


@pytest.mark.parametrize("text", [ROWS, ROWS.replace("\n", " ")])
def test_rows_of_a_table_are_read_in_lines_and_joined_as_a_memory_may_keep_them(text: str) -> None:
    question = "Where documents disagree, something counts.\n\nHow many square metres does Kume 34's maker have?"
    assert answer_by_reading([text], question) == "512"


def test_a_row_behind_a_million_letters_of_one_line_is_found_before_the_test_times_out() -> None:
    rows = f"{'word ' * 200_000}\n{ROWS}"
    assert [found.value for found in read_world_facts(rows)] == ["Quillon Works", "412", "512"]
