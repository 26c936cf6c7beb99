"""What must hold of the questions about code, and of what is released with them."""

from collections.abc import Iterator

from assets.code_qa.recipe import CodeQaRecipe
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeQuestion, CodeTask
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.team.relations import OUTCOME
from assets.llm.text import spells
from validation.rules import Rule


def code_is_that_of_the_package(question: CodeQuestion, sources: CodeSources, recipe: CodeQaRecipe) -> Iterator[str]:
    """What is shown with a question is lines of the package, no longer than the recipe allows."""
    known = [symbol.source for symbol in sources.symbols]
    for one in question.code:
        if not any(source.startswith(one.text) for source in known):
            yield f"{one.document_id} is no source of {sources.package.name}"
    tokens = sum(one.tokens for one in question.code)
    if tokens > 2 * recipe.max_code_tokens:
        yield f"{tokens} tokens of code are shown, and {recipe.max_code_tokens} are the most"


def code_does_not_tell(question: CodeQuestion, _: CodeQaRecipe) -> Iterator[str]:
    """No decision of the chain is in the code that is shown, but for the names of functions."""
    shown = "\n".join(one.perceived for one in question.code)
    for hop in question.hops:
        if hop.relation != OUTCOME and hop.kind != "option" and "." not in hop.value and spells(shown, hop.value):
            yield f"the code that is shown has {hop.value!r}"


def asked_results_are_true(question: CodeQuestion, behaviours: CodeBehaviours, _: CodeQaRecipe) -> Iterator[str]:
    """A result on the way to the answer is what the call returned."""
    for hop in question.hops:
        if hop.relation == OUTCOME:
            results = {one.call: one.result.text for one in behaviours.behaviours}
            if results.get(hop.subject) != hop.value:
                yield f"{hop.subject} gave {results.get(hop.subject)}, and the question counts on {hop.value}"


def released_behaviours_are_known(task: CodeTask, behaviours: CodeBehaviours, _: CodeQaRecipe) -> Iterator[str]:
    """What is released to be run again is what was run, and holds every call that the answer takes."""
    known = {one.behaviour_id: one for one in behaviours.behaviours}
    for one in task.behaviours:
        if known.get(one.behaviour_id) != one:
            yield f"{one.call} is released with another result than it had"
    called = {one.call for one in task.behaviours}
    for hop in task.hops:
        if hop.relation == OUTCOME and hop.subject not in called:
            yield f"{hop.subject} is asked for and not released"


RULES = (
    Rule(
        "code_is_the_packages", "The code that is shown is the package's.", code_is_that_of_the_package, reads=("code_sources",)
    ),
    Rule("code_does_not_tell", "No decision of the chain is in the code that is shown.", code_does_not_tell),
    Rule(
        "asked_results_are_true",
        "A result that is asked for is what the call returned.",
        asked_results_are_true,
        reads=("code_behaviours",),
    ),
)
INSTANCE_RULES = (
    Rule(
        "behaviours_are_released",
        "What is released to be run again is what was run.",
        released_behaviours_are_known,
        reads=("code_behaviours",),
    ),
)
