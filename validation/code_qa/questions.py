"""Rules about the questions on code, and about what is released with them."""

from collections.abc import Iterator

from assets.code_qa.questions import head_of
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeQuestion, PackageTask
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.team.calls import executed_values
from assets.code_qa.team.relations import EXECUTED, RELATIONS
from assets.recipe.code_qa import CodeQaRecipe, PackageRecipe
from assets.text.words import spells
from validation.code_qa.decisions import false_results
from validation.rules import Rule


def code_is_that_of_the_package(question: CodeQuestion, sources: CodeSources, recipe: CodeQaRecipe) -> Iterator[str]:
    """The code beside a question is lines of the package, not much longer than the recipe allows."""
    tokens = 0
    for document in question.code:
        tokens += document.tokens
        if not any(symbol.source.startswith(document.text) for symbol in sources.symbols):
            yield f"{document.document_id} is no source of {sources.package.name}"
    if tokens > 2 * recipe.max_code_tokens:
        yield f"{tokens} tokens of code are shown, and {recipe.max_code_tokens} are the most"


def code_does_not_tell(question: CodeQuestion, _: CodeQaRecipe) -> Iterator[str]:
    shown = "\n".join(document.text_with_title for document in question.code)
    # Results, options and names of functions may stand in the code.
    real = {relation.name for relation in RELATIONS if relation.value == "function"} | EXECUTED
    for hop in question.hops:
        if hop.relation not in real and hop.kind != "option" and spells(shown, hop.value):
            yield f"the code that is shown has {hop.value!r}"


def outcomes_are_not_shown(question: CodeQuestion, sources: CodeSources, _: CodeQaRecipe) -> Iterator[str]:
    """What was executed and follows from what is shown with the question takes no memory."""
    if not any(hop.relation in EXECUTED for hop in question.hops):
        return
    shown = {document.document_id.removeprefix("code-"): document.text for document in question.code}
    for symbol in sources.symbols:
        text = shown.get(symbol.symbol_id, "")
        if symbol.kind == "function" and not head_of(symbol, sources).startswith(text):
            yield f"the code that is shown has the body of {symbol.symbol_id}, and an outcome is asked for"


def asked_results_are_true(question: CodeQuestion, behaviours: CodeBehaviours, _: CodeQaRecipe) -> Iterator[str]:
    yield from false_results(question.hops, behaviours)


def released_behaviours_are_known(task: PackageTask, behaviours: CodeBehaviours, _: PackageRecipe) -> Iterator[str]:
    for behaviour in task.behaviours:
        if behaviour not in behaviours.behaviours:
            yield f"{behaviour.call} is released with another result than it had"
    released = executed_values(task.behaviours)
    for hop in task.hops:
        if hop.relation in EXECUTED and (hop.subject, hop.relation) not in released:
            yield f"{hop.subject} is asked for and not released"


RULES = (
    Rule("code_is_the_packages", "The code that is shown is the package's.", code_is_that_of_the_package, reads=("sources",)),
    Rule("code_does_not_tell", "No decision of the chain is in the code that is shown.", code_does_not_tell),
    Rule(
        "outcomes_are_not_shown",
        "No outcome that is asked for follows from the code that is shown.",
        outcomes_are_not_shown,
        reads=("sources",),
    ),
    Rule(
        "asked_results_are_true",
        "A result that is asked for is what the call returned.",
        asked_results_are_true,
        reads=("behaviours",),
    ),
)
INSTANCE_RULES = (
    Rule(
        "behaviours_are_released",
        "What is released to be run again is what was run.",
        released_behaviours_are_known,
        reads=("behaviours",),
    ),
)
