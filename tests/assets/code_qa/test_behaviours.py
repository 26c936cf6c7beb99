"""Behaviours: executed, equal twice, short; near misses of changed functions; the same again."""

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assets.code_qa.behaviours import execute_behaviours
from assets.code_qa.execution.calls import proposed_calls
from assets.code_qa.execution.mutants import mutants_of
from assets.code_qa.packages.symbols import Function
from assets.code_qa.records.behaviours import Behaviour, CallResult, CodeBehaviours, NearMiss
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import draw_sources, with_package_digests
from assets.engine.seeded_random import SeededRandom
from assets.recipe.code_qa import CodeQaRecipe, PackageSpec
from assets.recipe.recipe import units
from assets.records.base import ItemFailed
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel

SOURCE = '''
import itertools
COUNT = itertools.count()

def slow_words(text: str, most: int = 3) -> str:
    """Cut.

    >>> slow_words("one two three four")
    'one two three'
    """
    words = text.split()
    if len(words) > most:
        words = words[:most]
    return " ".join(words)

def grade(points: int) -> str:
    if points < 0:
        raise ValueError("negative")
    if points >= 60:
        return "passed with " + str(points)
    return "failed by " + str(60 - points)

def counted(x: int):
    return next(COUNT)

def in_no_order(x: int):
    return list({"alpha", "beta", "gamma", str(x)})

def at(x: int):
    return object()

def same(x: int):
    return x
'''


@pytest.fixture
def recipe(tmp_path: Path) -> CodeQaRecipe:
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "__init__.py").write_text(SOURCE)
    spec = PackageSpec(name="cut", version="1", path=str(tmp_path), license="MIT")
    return with_package_digests(recipe_of(spec))


def recipe_of(spec: PackageSpec, **fields: object) -> CodeQaRecipe:
    behaviours = {"min_behaviours": 4, "limits": {"seconds": 0.5, "lines": 5000}}
    given = {
        "variant": "small",
        "num_tasks": 2,
        "num_reserve": 0,
        "lengths": (8000,),
        "packages": (spec,),
        "behaviours": behaviours,
    }
    return CodeQaRecipe.model_validate({**given, **fields})


def drawn(recipe: CodeQaRecipe) -> list[CodeSources]:
    return [sources for _, sources in draw_sources(recipe, units(recipe)[0])]


def executed(recipe: CodeQaRecipe) -> CodeBehaviours:
    return run(execute_behaviours(drawn(recipe)[0], recipe=recipe, model=EmbeddedModel()))


def test_what_is_kept_is_true_short_and_depends_on_its_arguments_alone(recipe: CodeQaRecipe) -> None:
    found = executed(recipe)
    module: dict[str, object] = {}
    exec(SOURCE, module)
    assert {one.symbol_id for one in found.behaviours} == {"cut.slow_words", "cut.grade"}
    for one in found.behaviours:
        call = f"{one.symbol_id.removeprefix('cut.')}({', '.join(one.arguments)})"
        if one.result.outcome == "raises":
            assert (one.result.text, int(one.arguments[0]) < 0) == ("ValueError", True)
        else:
            assert repr(eval(call, module)) == one.result.text
        assert len(one.call) <= 80
    reasons = set(found.left_out)
    assert {"not the same twice", "no literal", "says nothing"} <= reasons
    assert found.tried == len(found.behaviours) + sum(found.left_out.values())


def test_the_examples_of_a_docstring_are_called(recipe: CodeQaRecipe) -> None:
    found = {one.call: one.result.answer for one in executed(recipe).behaviours}
    assert found["cut.slow_words('one two three four')"] == "one two three"


def test_near_misses_come_of_places_that_were_run_and_are_other_answers(recipe: CodeQaRecipe) -> None:
    behaviours = executed(recipe).behaviours
    passed = [one for one in behaviours if one.result.text.startswith("'passed")]
    assert passed
    assert all(one.near_misses for one in passed)
    assert all("in line" in miss.change for one in behaviours for miss in one.near_misses)


def test_the_same_recipe_finds_the_same_whatever_ran_before(recipe: CodeQaRecipe) -> None:
    first, second = drawn(recipe)
    again = recipe.model_copy(update={"behaviours": recipe.behaviours.model_copy(update={"near_misses": 3})})

    def found(sources: CodeSources) -> CodeBehaviours:
        return run(execute_behaviours(sources, recipe=recipe, model=EmbeddedModel()))

    with ThreadPoolExecutor() as threads:
        one, other = threads.map(found, (first, first))
    run(execute_behaviours(second, recipe=again, model=EmbeddedModel()))
    assert one == other == found(first)


def test_a_package_with_too_few_behaviours_fails_the_question_in_a_sentence(recipe: CodeQaRecipe) -> None:
    wanted = recipe.model_copy(update={"behaviours": recipe.behaviours.model_copy(update={"min_behaviours": 99})})
    with pytest.raises(ItemFailed, match=r"\d+ calls of cut came to something .*min_behaviours is 99"):
        executed(wanted)


def test_questions_are_spread_over_the_packages_and_follow_from_their_position(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / name).mkdir(parents=True)
        (tmp_path / name / name / "__init__.py").write_text(SOURCE)
    specs = tuple(PackageSpec(name=name, version="1", path=str(tmp_path / name), license="MIT") for name in ("one", "two"))
    recipe = recipe_of(specs[0], packages=specs, num_tasks=4)
    sources = drawn(recipe)
    assert sorted(one.package.name for one in sources) == ["one", "one", "two", "two"]
    assert sources == drawn(recipe)
    assert [one.task_id for one in sources] == [one.task_id for one in drawn(recipe_of(specs[0], packages=specs, num_tasks=4))]


def function(source: str) -> Function:
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def test_calls_fit_what_annotations_and_defaults_say() -> None:
    calls = proposed_calls(
        function("def f(text: str, parts: list[int], *, deep: bool = False): ..."),
        module="m",
        shown=(),
        most=40,
        rng=SeededRandom(1),
    )
    assert len(calls) == 40
    for text, parts, *named in calls:
        assert isinstance(ast.literal_eval(text), str)
        assert all(isinstance(one, int) for one in ast.literal_eval(parts))
        assert named in ([], ["deep=True"], ["deep=False"])


def proposed(source: str, *, module: str = "m", shown: tuple[tuple[str, ...], ...] = ()) -> list[tuple[str, ...]]:
    return proposed_calls(function(source), module=module, shown=shown, most=40, rng=SeededRandom(1))


def test_a_call_gives_what_a_parameter_means() -> None:
    """By its name, and where that may be anything by the names of function and module."""
    labels = proposed("def check(label: str): ...", module="idna.core")
    assert ("'münchen'",) in labels
    assert proposed("def strip_tags(text: str): ...") == proposed("def f(html: str): ...")
    assert ("'2024-02-29'",) in proposed("def read(datestring): ...")
    pages = proposed("def link(label: str): ...", module="wiki.pages")
    assert not set(pages) & set(labels)


def test_a_function_of_which_nothing_is_known_is_called_as_the_package_shows_alone() -> None:
    assert proposed("def f(thing, spec): return thing") == []
    shown = (("[1, 2, 3]", "'a7'"),)
    calls = proposed("def f(thing, spec): return thing", shown=shown)
    assert calls[0] == shown[0]
    assert {ast.literal_eval(x).__class__ for x, _ in calls} == {list}
    assert all(ast.literal_eval(y)[0] == "a" and ast.literal_eval(y)[1:].isdigit() for _, y in calls)


def test_a_parameter_that_takes_a_function_keeps_its_default() -> None:
    assert all(len(one) == 1 for one in proposed("def f(count, key=min): ..."))


def test_a_mutant_differs_in_one_place_and_leaves_the_docstring() -> None:
    original = function(
        'def f(a, b=2):\n    """Words 1."""\n    if a < b and not a:\n        return a + 1\n    return [b, " "]'
    )
    mutants = mutants_of(original)
    changes = {one.change.partition(" in line")[0] for one in mutants}
    assert changes == {"< to <=", "and to or", "left out not", "+ to -", "1 to 2", "' ' to '_'", "turned condition"}
    assert len({one.source for one in mutants}) == len(mutants)
    for one in mutants:
        assert ast.get_docstring(function(one.source)) == "Words 1."
        assert ast.unparse(original) != one.source


def test_a_near_miss_that_is_the_same_answer_in_other_quotes_is_refused() -> None:
    with pytest.raises(ValueError, match=r"A near miss of m\.f\(1\) is the same answer as its result"):
        Behaviour(
            behaviour_id="b",
            symbol_id="m.f",
            arguments=("1",),
            result=CallResult(outcome="returns", text="'a'"),
            near_misses=(NearMiss(result=CallResult(outcome="returns", text='"a"'), change="+ to - in line 3"),),
        )
