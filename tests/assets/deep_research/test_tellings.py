"""A writer's templates are checked before anything is told with them."""

import pytest

from assets.deep_research.fiction import WORLD
from assets.memory_items.world.tellings import Telling, sentence_problems, telling_problems
from tests.support.research_tasks import made_task

TEXT = " ".join(["{subject} is much talked about."] * 30) + " {statements} " + "More was said later by {author}."


@pytest.mark.parametrize(
    ("title", "text", "problem"),
    [
        ("On {subject}", TEXT, ""),
        ("On it", TEXT, "the title must have"),
        ("On {subject}", TEXT.replace("{statements}", ""), "must have {statements} exactly once"),
        ("On {subject}", TEXT.replace("later", "in 1999"), "number or a brace"),
        ("On {subject}", "{subject} {statements}", "tokens"),
        ("On {subject}", TEXT + " {weather}", "the slots are"),
        ("Noise on {subject}", TEXT, "the word 'noise' would tell"),
        ("On {subject}", TEXT.replace("much talked", "irrelevant, if talked"), "the word 'irrelevant' would tell"),
    ],
)
def test_a_template_of_a_document_has_its_slots_and_no_facts_of_its_own(title: str, text: str, problem: str) -> None:
    problems = list(telling_problems(Telling(title=title, text=text), WORLD))
    assert problem in " ".join(problems)
    assert bool(problems) == bool(problem)


@pytest.mark.parametrize(
    ("sentence", "fine"),
    [
        ("{as_of}, {subject} is made by {value}.", True),
        ("{subject} is made by {value}.", False),
        ("{as_of}, {subject} is made by {value}. It is old.", False),
        ("{as_of}, {subject} is made by {value} since 1999.", False),
        ("{as_of}, {subject} is made by {value}, now superseded.", False),
    ],
)
def test_a_template_of_a_sentence_has_each_slot_once(sentence: str, fine: bool) -> None:
    assert (not list(sentence_problems(sentence))) == fine


def test_documents_hold_their_statements_where_they_say() -> None:
    sources = made_task().sources
    for document in (*sources.documents, *sources.filler):
        assert document.statements
        for placed in document.statements:
            assert document.text[placed.start : placed.end] == placed.statement.value
        assert "{" not in document.title + document.text
