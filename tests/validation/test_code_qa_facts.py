"""A false fact, a changed file, another license: what the rules on packages and behaviours find."""

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assets.code_qa.packages.reading import text_digest, with_content
from assets.code_qa.records.behaviours import Behaviour, CallResult, CodeBehaviours
from assets.code_qa.records.sources import CodeFile, CodePackage, CodeSources, CodeSymbol
from assets.recipe.code_qa import CodeQaRecipe, PackageSpec
from tests.bench.code_behaviours import main
from tests.support.applied_rules import apply_rules
from validation.code_qa import behaviours as behaviour_rules
from validation.code_qa import sources as source_rules
from validation.code_qa.behaviours import ToldCall, false_calls
from validation.code_qa.benchmark import CODE_QA_VALIDATION

TEXT = "def f(x, y=1):\n    if x < 0:\n        raise ValueError(x)\n    return [x + y, 'a']\n"
PACKAGE = CodePackage(name="m", version="1", license="MIT", origin="installed", content="c")
RECIPE = CodeQaRecipe.model_validate(
    {
        "variant": "small",
        "packages": [PackageSpec(name="m", version="1", content="c")],
        "lengths": (8000,),
        "behaviours": {"min_behaviours": 2},
    }
)


def behaviour(argument: str, text: str, *, outcome: str = "returns") -> Behaviour:
    result = CallResult.model_validate({"outcome": outcome, "text": text})
    return Behaviour(behaviour_id=f"b{argument}", symbol_id="m.f", arguments=(argument,), result=result)


SOURCES = CodeSources(
    task_id="t",
    package=PACKAGE,
    files=(CodeFile(path="m.py", module="m", text=TEXT, content=text_digest(TEXT)),),
    symbols=(
        CodeSymbol(
            symbol_id="m.f",
            kind="function",
            path="m.py",
            line=1,
            signature="def f(x, y=1)",
            source=TEXT.strip(),
        ),
    ),
    targets=("m.f",),
)
TRUE = CodeBehaviours(
    task_id="t",
    behaviours=(behaviour("1", "[2, 'a']"), behaviour("-1", "ValueError", outcome="raises")),
    tried=2,
    left_out={},
)


def broken(sources: CodeSources, found: CodeBehaviours = TRUE) -> dict[str, str]:
    """The first violation of each broken rule."""
    outcomes = [
        *apply_rules(source_rules.RULES, [sources], recipe=RECIPE),
        *apply_rules(behaviour_rules.RULES, [found], recipe=RECIPE, others={"sources": {"t": sources}}),
    ]
    return {one.rule.name: one.violations[0].message for one in outcomes if not one.passed}


def test_true_behaviours_of_whole_files_pass() -> None:
    assert broken(SOURCES) == {}


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (behaviour("1", "[2, 'b']"), "a text says that m.f(1) gives [2, 'b']; it returns [2, 'a']"),
        (behaviour("1", "(2, 'a')"), "a text says that m.f(1) gives (2, 'a'); it returns [2, 'a']"),
        (behaviour("1", "[2.0, 'a']"), "a text says that m.f(1) gives [2.0, 'a']; it returns [2, 'a']"),
        (behaviour("-3", "[0, 'a']"), "a text says that m.f(-3) gives [0, 'a']; it raises ValueError"),
        (behaviour("1", "KeyError", outcome="raises"), "a text says that m.f(1) gives KeyError; it returns [2, 'a']"),
        (behaviour("-2", "KeyError", outcome="raises"), "a text says that m.f(-2) gives KeyError; it raises ValueError"),
    ],
)
def test_a_false_fact_is_found_by_making_its_call_again(told: Behaviour, sentence: str) -> None:
    found = TRUE.model_copy(update={"behaviours": (told, TRUE.behaviours[1])})
    assert broken(SOURCES, found) == {"behaviours_are_true": sentence}


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"package": PACKAGE.model_copy(update={"license": "GPL-3.0-only"})}, "licenses_are_permissive"),
        ({"package": PACKAGE.model_copy(update={"version": "2"})}, "packages_are_pinned"),
        ({"package": PACKAGE.model_copy(update={"content": "d"})}, "packages_are_pinned"),
        ({"files": (SOURCES.files[0].model_copy(update={"text": TEXT + "# more\n"}),)}, "files_are_whole"),
        ({"symbols": (SOURCES.symbols[0].model_copy(update={"line": 2}),)}, "symbols_stand_in_files"),
        ({"symbols": ()}, "symbols_stand_in_files"),
    ],
)
def test_what_is_wrong_with_a_package_is_found(changed: dict[str, object], rule: str) -> None:
    assert set(broken(SOURCES.model_copy(update=changed))) == {rule}


def called(argument: str) -> Callable[[CodeBehaviours], CodeBehaviours]:
    return lambda found: found.model_copy(update={"behaviours": (found.behaviours[0], behaviour(argument, "[2, 'a']"))})


def test_a_call_with_no_literal_and_a_call_of_another_function_are_found() -> None:
    assert "no literal" in broken(SOURCES, called("print('x')")(TRUE))["calls_are_literal"]
    assert "is there twice" in broken(SOURCES, called("1")(TRUE))["calls_are_literal"]
    other = behaviour("1", "2").model_copy(update={"symbol_id": "m.g"})
    assert "calls_are_of_targets" in broken(SOURCES, TRUE.model_copy(update={"behaviours": (other, TRUE.behaviours[1])}))


def test_released_code_that_reaches_outside_or_ends_the_process_makes_no_call_true() -> None:
    calls = [ToldCall("m.f(1)", "returns", "1"), ToldCall("m.f(2)", "returns", "2")]
    reads = list(false_calls(calls, {"m.py": "def f(x):\n    open('/etc/passwd')\n    return x\n"}))
    assert [sentence.partition("; it ")[2] for sentence in reads] == ["raises PermissionError"] * 2
    ends = list(false_calls(calls, {"m.py": "import os\ndef f(x):\n    os._exit(0)\n"}))
    assert ends == ["m.f(1) cannot be made again: it ended the process, or took longer than 120 seconds"]
    prints = list(false_calls(calls, {"m.py": "def f(x):\n    print('\"\"')\n    return x + 1\n"}))
    assert len(prints) == 2


def test_a_release_is_executed_again_from_its_own_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def write(result: str) -> None:
        file = {"task_id": "t", "path": "m.py", "module": "m", "text": TEXT, "content": text_digest(TEXT)}
        row = {"task_id": "t", "call": "m.f(1, y=2)", "outcome": "returns", "result": result}
        for table, only in (("files", file), ("behaviours", row)):
            pq.write_table(pa.Table.from_pylist([only]), tmp_path / f"{table}.parquet")  # pyright: ignore[reportUnknownMemberType]

    write("[3, 'a']")
    assert main(tmp_path) == 0
    write("[4, 'a']")
    assert main(tmp_path) == 1
    assert "t: a text says that m.f(1, y=2) gives [4, 'a']; it returns [3, 'a']" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="has no table files"):
        main(tmp_path / "nowhere")


def test_a_package_that_is_no_longer_what_the_recipe_pins_is_told() -> None:
    spec = with_content(PackageSpec(name="humanfriendly", version="10.0"))
    for pinned, passed, told in (
        (spec, True, "1 package is as the recipe says."),
        (spec.model_copy(update={"content": "0" * 64}), False, "The files of humanfriendly have changed"),
        (spec.model_copy(update={"version": "9.9"}), False, "The recipe pins humanfriendly 9.9, and 10.0 is installed"),
    ):
        result = CODE_QA_VALIDATION.source_check(CodeQaRecipe(variant="own", packages=(pinned,)))
        assert isinstance(result, dg.AssetCheckResult)
        assert (result.passed, told in str(result.description)) == (passed, True)
