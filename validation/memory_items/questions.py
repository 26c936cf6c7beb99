"""Rules about the questions of tasks over documents."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from assets.memory_items.facts import Fact, Hop, StatedFacts
from assets.memory_items.operations import AskedFacts
from assets.memory_items.questions import MOST_WORDS, num_words
from assets.memory_items.tasks import TaskQuestion
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.records.answers import is_right, normalize_answer
from assets.text.words import folded, spells
from validation.rules import Rule, expect


def one_path_leads_to_the_answer(question: TaskQuestion, facts: StatedFacts, _: DocumentTaskRecipe) -> Iterator[str]:
    yield from AskedFacts(question.operation, question.hops).problems(facts.facts)


def hops_depend_on_each_other(question: TaskQuestion, _: DocumentTaskRecipe) -> Iterator[str]:
    asked = AskedFacts(question.operation, question.hops)
    yield from expect(question.starts == asked.starts, f"the names in the question are {', '.join(question.starts)}")
    for part in asked.parts:
        # What is counted has the value, and is not it.
        yield from broken_links(part[:-1] if question.operation == "count" else part)


def broken_links(hops: Sequence[Hop | Fact]) -> Iterator[str]:
    """Yield a sentence for each hop that is not about what the hop before leads to."""
    for before, after in pairwise(hops):
        if folded(before.value) != folded(after.subject):
            yield f"{after.subject!r} is asked about, and the hop before leads to {before.value!r}"


def question_is_short(question: TaskQuestion, _: DocumentTaskRecipe) -> Iterator[str]:
    if question.operation == "act":
        return  # a request says who asks, for whom, about what, and what is wanted
    words = num_words(question.question, question.answer.options)
    yield from expect(words <= MOST_WORDS, f"the question has {words} words before its options")


def question_tells_its_starts_alone(question: TaskQuestion, _: DocumentTaskRecipe) -> Iterator[str]:
    for start in question.starts:
        yield from expect(start in question.question, f"the question does not name {start!r}")
    for hop in question.hops:
        named = any(spells(start, hop.value) for start in question.starts)
        # A question that offers options names the answer among them.
        if not hop.options and not named and spells(question.question, hop.value):
            yield f"the question tells {hop.value!r}"


def answer_follows_from_the_hops(question: TaskQuestion, _: DocumentTaskRecipe) -> Iterator[str]:
    answer = question.answer
    found = AskedFacts(question.operation, question.hops).answer(question.hops)
    yield from expect(is_right(answer, found), f"the answer is {answer.value!r}, the hops come to {found!r}")
    for rival in answer.near_misses:
        if normalize_answer(answer.kind, rival) == normalize_answer(answer.kind, answer.value):
            yield f"the near miss {rival!r} is right"
    if answer.options and answer.value not in answer.options:
        yield f"the answer {answer.value!r} is none of the options"


def question_rules(*, facts: str) -> tuple[Rule, ...]:
    """Return the rules of the stage that asks. `facts`: the stage whose records have the facts."""
    return (
        Rule(
            "one_path",
            "The facts lead to one answer, which takes all hops.",
            one_path_leads_to_the_answer,
            reads=(facts,),
        ),
        Rule(
            "hops_depend",
            "Each hop of a part is about what the hop before leads to, and the first about a start.",
            hops_depend_on_each_other,
        ),
        Rule(
            "tells_start_alone",
            "The question names its starts, and nothing that is to be found out.",
            question_tells_its_starts_alone,
        ),
        Rule("short", f"The question has at most {MOST_WORDS} words before its options.", question_is_short),
        Rule("answer_follows", "The answer is what the hops come to, and no near miss is.", answer_follows_from_the_hops),
    )
