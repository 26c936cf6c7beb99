"""Questions about what a ticket's sessions settle, as this model reads and answers them."""

from dataclasses import replace
from functools import partial

from assets.code_qa.session_questions.questions import AskedRule, read_session_question
from assets.code_qa.team.relations import RULING
from pipelines.embedded.memory_items.asking import ReadPart, ReadQuestion, read_question
from pipelines.embedded.memory_items.known_world import AnswerOwn, KnownWorld
from pipelines.embedded.memory_items.reading import FactsRead, known_worlds


def read_own_question(question: str) -> AnswerOwn | None:
    """Return what answers a question about a ticket's rules; None for any other question."""
    asked = read_session_question(question)
    return partial(answer_about_rule, asked) if asked else None


def answer_about_rule(asked: AskedRule, read: FactsRead) -> str | None:
    """Return whether the earlier rule of the ticket counts, or the one that does not."""
    steps = [step for world in known_worlds() for step in world.steps]
    question = read_question(f"What is {RULING.phrase.replace('{x}', asked.ticket)}?", known_worlds(), steps)
    if question is None:
        return None
    if asked.operation == "still_so":
        return read.answer(replace(question, operation="still_so"))
    (part,) = question.parts
    ticket = read.answer(ReadQuestion("follow", [ReadPart(part.name, part.steps[:-1])]))
    counts = read.settled_value(ticket, RULING.name)
    others = {fact.value for fact in read.facts_about(ticket or "", RULING.name)} - {counts}
    return others.pop() if counts is not None and len(others) == 1 else None


KNOWN = KnownWorld(own_question=read_own_question)
