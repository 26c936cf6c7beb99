"""Every part of the house can be taken away: in a copy without it nothing names it, all else is imported, and tests pass.

What names it is read from the code; what finds it in another way shows when the rest is imported and tested.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from tests.parts.parts import PARTS
from tests.support.commands import clean_environment
from tests.support.guide import copy_of_the_repository, enter_into_metadata

# Few and fast, as they run once for each part: what looks at all that is entered, one evaluation, and a stage of each track.
NEIGHBOURS = (
    "tests/assets/recipe/test_registry.py",
    "tests/dataset_card/card/test_fields.py",
    "tests/evaluation/test_memories.py::test_every_named_memory_can_be_made_and_its_code_has_a_digest",
    "tests/evaluation/test_timeline.py",
    "tests/pipelines/cli/test_main.py::test_the_list_says_of_each_command_what_its_own_help_begins_with",
    "tests/pipelines/cli/test_stories.py::test_an_item_is_chosen_by_number_id_or_name",
    "tests/pipelines/test_benchmarks.py::test_everything_that_an_entry_names_is_there",
    "tests/pipelines/test_benchmarks.py::test_the_embedded_model_finds_each_writer_by_its_prompt",
    "tests/pipelines/test_definitions.py",
    "tests/assets/deep_research/test_stages.py",
    "tests/assets/code_qa/test_session_questions.py::test_nothing_is_wrong_with_a_question_as_it_was_made[still_so]",
    "tests/assets/user_facts/test_matters.py",
    "tests/assets/tool_dialogue/test_stages.py::test_the_same_recipe_makes_the_same_bytes",
)
PACKAGES = ("prompts", "assets", "validation", "dataset_card", "pipelines")
NAMED = re.compile(rf"(?:{'|'.join(PACKAGES)})(?:\.\w+)+:\w+")
ENTRY = re.compile(r'^"?[\w.-]+"? = "(?P<module>[\w.]+):\w+"$')
# What is not installed here is an optional package's; what is ours has to be there.
IMPORT_ALL_AND_TEST = """
import sys
from importlib import import_module

import pytest

ours = ("prompts", "assets", "validation", "dataset_card", "pipelines")
end = sys.argv.index("-x")
for name in sys.argv[1:end]:
    try:
        import_module(name)
    except (ModuleNotFoundError, OSError) as error:
        missing = error if isinstance(error, ModuleNotFoundError) else error.__cause__
        if not isinstance(missing, ModuleNotFoundError) or missing.name.partition(".")[0] in ours:
            raise
# The plugins of pytest that ours imports are not to be rewritten.
sys.exit(pytest.main(["-W", "ignore::pytest.PytestAssertRewriteWarning", *sys.argv[end:]]))
"""


def take_away(part: str, place: Path) -> set[Path]:
    """Delete the files of the part from a copy, and the entry points that name them. Return the files that are gone."""
    files = {path.relative_to(place) for path in place.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    gone: set[Path] = set()
    for pattern in PARTS[part]:
        found = {path for path in files if fnmatch(str(path), pattern) or fnmatch(str(path), f"{pattern}/*")}
        assert found, f"nothing of {part} is {pattern}"
        gone |= found
    for path in gone:
        (place / path).unlink()
    modules = modules_of(gone)
    project = place / "pyproject.toml"
    kept: list[str] = []
    for line in project.read_text(encoding="utf-8").splitlines():
        entry = ENTRY.match(line)
        if not entry or entry["module"] not in modules:
            kept.append(line)
    project.write_text("\n".join([*kept, ""]), encoding="utf-8")
    enter_into_metadata(place)
    return gone


def modules_of(paths: Iterable[Path]) -> set[str]:
    return {module_name(path) for path in paths if path.suffix == ".py"}


def module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@cache
def names_of(text: str) -> frozenset[str]:
    """Return the modules that the code imports, also in functions, or names in a text `module:object`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMED.fullmatch(node.value):
            names.add(node.value.partition(":")[0])
    return frozenset(names)


@pytest.mark.parametrize("part", PARTS)
def test_the_rest_works_without_a_part(part: str, tmp_path: Path) -> None:
    place = copy_of_the_repository(tmp_path / "copy")
    gone = take_away(part, place)
    sources = [path.relative_to(place) for path in sorted(place.rglob("*.py"))]
    dangling: list[str] = []
    for path in sources:
        named = modules_of(gone) & names_of((place / path).read_text(encoding="utf-8"))
        dangling += [f"{path} names {module}" for module in sorted(named)]
    assert dangling == []
    modules = modules_of(path for path in sources if path.parts[0] in PACKAGES and path.name != "__main__.py")
    tests = [name for name in NEIGHBOURS if Path(name.partition("::")[0]) not in gone]
    command = [sys.executable, "-c", IMPORT_ALL_AND_TEST, *sorted(modules), "-x", *tests]
    done = subprocess.run(command, cwd=place, env=clean_environment(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
