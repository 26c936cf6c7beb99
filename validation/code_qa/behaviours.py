"""What must hold of behaviours."""

import ast
from collections.abc import Iterator

from assets.code_qa.recipe import CodeQaRecipe
from assets.code_qa.records.behaviours import Behaviour, CodeBehaviours
from assets.code_qa.records.sources import CodeSources
from assets.records.base import duplicates
from assets.reporting.plurals import counted, is_or_are
from validation.code_qa.reexecution import ToldCall, false_calls
from validation.rules import Rule, expect


def behaviours_are_true(behaviours: CodeBehaviours, sources: CodeSources, _: CodeQaRecipe) -> Iterator[str]:
    """Every call comes to what is told when it is made again."""
    calls = [ToldCall(one.call, one.result.outcome, one.result.text) for one in behaviours.behaviours]
    yield from false_calls(calls, {file.path: file.text for file in sources.files})


def calls_are_of_targets(behaviours: CodeBehaviours, sources: CodeSources, _: CodeQaRecipe) -> Iterator[str]:
    for one in behaviours.behaviours:
        if one.symbol_id not in sources.targets:
            yield f"{one.call} calls no function of the question's"


def calls_are_literal(behaviours: CodeBehaviours, _: CodeQaRecipe) -> Iterator[str]:
    """Arguments and results are literals, no longer than the recipe says; no call is there twice."""
    for call in duplicates([one.call for one in behaviours.behaviours]):
        yield f"{call} is there twice"
    for one in behaviours.behaviours:
        texts = [argument.partition("=")[2] if _is_named(argument) else argument for argument in one.arguments]
        texts += [one.result.text] if one.result.outcome == "returns" else []
        for text in texts:
            if not _is_literal(text):
                yield f"{one.call} has {text}, which is no literal"


def lengths_fit(behaviours: CodeBehaviours, recipe: CodeQaRecipe) -> Iterator[str]:
    """Calls and results are short, and there are enough of them."""
    policy = recipe.behaviours
    yield from expect(
        len(behaviours.behaviours) >= policy.min_behaviours,
        f"there {is_or_are(len(behaviours.behaviours))} only {counted(len(behaviours.behaviours), 'behaviour')}",
    )
    for one in behaviours.behaviours:
        if len(one.call) > policy.max_call_characters or len(one.result.text) > policy.max_result_characters:
            yield f"{one.call} or its result is longer than the recipe allows"


def near_misses_are_of_changes(behaviours: CodeBehaviours, _: CodeQaRecipe) -> Iterator[str]:
    """A near miss says what was changed, and where."""
    for one in behaviours.behaviours:
        yield from _unsaid(one)


def _unsaid(behaviour: Behaviour) -> Iterator[str]:
    for near in behaviour.near_misses:
        if " in line " not in near.change:
            yield f"a near miss of {behaviour.call} does not say what was changed"


def _is_named(argument: str) -> bool:
    return argument.partition("=")[0].isidentifier() and "=" in argument


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


RULES = (
    Rule(
        "behaviours_are_true",
        "Every call comes to what is told when it is made again.",
        behaviours_are_true,
        reads=("code_sources",),
    ),
    Rule(
        "calls_are_of_targets", "Every call is of a function of the question's.", calls_are_of_targets, reads=("code_sources",)
    ),
    Rule("calls_are_literal", "Arguments and results are literals, and no call is there twice.", calls_are_literal),
    Rule("lengths_fit", "Calls and results are short, and there are enough.", lengths_fit),
    Rule("near_misses_are_of_changes", "A near miss says what was changed.", near_misses_are_of_changes),
)
