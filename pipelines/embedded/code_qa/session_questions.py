"""Questions about what a ticket's sessions settle, as this model reads and answers them."""

from functools import partial

from assets.code_qa.session_questions.questions import AskedRule, read_session_question
from assets.code_qa.team.relations import RULING
from assets.records.answers import read_date
from pipelines.embedded.memory_items.known_world import AnswerOwn, KnownWorld
from pipelines.embedded.memory_items.reading import FactsRead


def read_own_question(question: str) -> AnswerOwn | None:
    """Return what answers a question about a ticket's rules; None for any other question."""
    asked = read_session_question(question)
    return partial(answer_about_rule, asked) if asked else None


def answer_about_rule(asked: AskedRule, read: FactsRead) -> str | None:
    """Return whether what is said as of the day counts, or the one rule of the ticket that does not."""
    day = read_date(asked.day)
    if day is not None:
        return read.still_holds(asked.ticket, RULING.name, day)
    counts = read.settled_value(asked.ticket, RULING.name)
    others = {fact.value for fact in read.facts_about(asked.ticket, RULING.name)} - {counts}
    return others.pop() if counts is not None and len(others) == 1 else None


KNOWN = KnownWorld(own_question=read_own_question)
