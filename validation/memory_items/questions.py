"""Rules about the questions of tasks over documents."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from assets.memory_items.chains import path_problems
from assets.memory_items.facts import Fact, Hop
from assets.memory_items.tasks import TaskQuestion
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.records.answers import is_right, normalized
from assets.text.words import folded, spells
from validation.memory_items.documents import StatedFacts
from validation.rules import Rule, expect


def one_path_leads_to_the_answer(question: TaskQuestion, facts: StatedFacts, _: DocumentTaskRecipe) -> Iterator[str]:
    yield from path_problems(question.hops, facts.facts)


def hops_depend_on_each_other(question: TaskQuestion, _: DocumentTaskRecipe) -> Iterator[str]:
    yield from expect(question.start == question.hops[0].subject, "the first hop is not about the start")
    yield from broken_links(question.hops)


def broken_links(hops: Sequence[Hop | Fact]) -> Iterator[str]:
    """Yield a sentence for each hop that is not about what the hop before leads to."""
    for before, after in pairwise(hops):
        if folded(before.value) != folded(after.subject):
            yield f"{after.subject!r} is asked about, and the hop before leads to {before.value!r}"


def question_tells_its_start_alone(question: TaskQuestion, _: DocumentTaskRecipe) -> Iterator[str]:
    yield from expect(question.start in question.question, f"the question does not name {question.start!r}")
    for hop in question.hops:
        # A question that offers options names the answer among them.
        if not hop.options and spells(question.question, hop.value) and not spells(question.start, hop.value):
            yield f"the question tells {hop.value!r}"


def answer_is_the_last_value(question: TaskQuestion, _: DocumentTaskRecipe) -> Iterator[str]:
    answer = question.answer
    last = question.hops[-1].value
    yield from expect(is_right(answer, last), f"the answer is {answer.value!r}, the last hop leads to {last!r}")
    for rival in answer.near_misses:
        if normalized(answer.kind, rival) == normalized(answer.kind, answer.value):
            yield f"the near miss {rival!r} is right"
    if answer.options and answer.value not in answer.options:
        yield f"the answer {answer.value!r} is none of the options"


def question_rules(*, facts: str) -> tuple[Rule, ...]:
    """Return the rules of the stage that asks. `facts`: the stage whose records have the facts."""
    return (
        Rule(
            "one_path",
            "One path of facts leads to the answer, and it takes all hops.",
            one_path_leads_to_the_answer,
            reads=(facts,),
        ),
        Rule("hops_depend", "Each hop is about what the hop before leads to.", hops_depend_on_each_other),
        Rule(
            "tells_start_alone",
            "The question names its start, and nothing that is to be found out.",
            question_tells_its_start_alone,
        ),
        Rule(
            "answer_is_last_value", "The answer is what the last hop leads to, and no near miss is.", answer_is_the_last_value
        ),
    )
