"""Packages that questions are about: pinned, licensed, parsed and never imported."""

import hashlib
import importlib.metadata
import io
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from assets.code_qa.packages.examples import shown_calls
from assets.code_qa.packages.imports import files_taken
from assets.code_qa.packages.licenses import is_permissive
from assets.code_qa.packages.reading import read_package, with_content
from assets.code_qa.packages.symbols import callable_names, symbols_of
from assets.code_qa.packages.vocabulary import code_vocabulary
from assets.code_qa.records.sources import CodeFile, CodeSources
from assets.recipe.code_qa import PackageSpec
from assets.recipe.recipe import RecipeError

SOURCE = '''"""Words of the module."""
import os
from . import helper
LIMIT_OF_ALL = 4711

def twice(text: str, sep: str = "-") -> str:
    """Say it twice."""
    return text + sep + helper.same(text)

def reads(path):
    return open(path).read()

def through(path):
    return reads(path)

def now():
    return os.getcwd()

def _hidden(x):
    return x

class Thing:
    pass
'''
METADATA = "Metadata-Version: 2.4\nName: tiny\nVersion: 1.0\nLicense-Expression: MIT\n"
FILES = {
    "tiny/__init__.py": "",
    "tiny/words.py": SOURCE,
    "tiny/helper.py": "def same(x):\n    return x\n",
    "tiny/alone.py": "X = 1\n",
}


def wheel(folder: Path, *, metadata: str = METADATA) -> PackageSpec:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for path, text in {**FILES, "tiny-1.0.dist-info/METADATA": metadata, "tests/test_tiny.py": "boom("}.items():
            archive.writestr(path, text)
    (folder / "tiny-1.0-py3-none-any.whl").write_bytes(written.getvalue())
    digest = hashlib.sha256(written.getvalue()).hexdigest()
    return PackageSpec(name="tiny", version="1.0", path=str(folder / "tiny-1.0-py3-none-any.whl"), archive_sha256=digest)


def sdist(folder: Path) -> PackageSpec:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for path, text in {**{f"src/{name}": text for name, text in FILES.items()}, "PKG-INFO": METADATA}.items():
            member = tarfile.TarInfo(f"tiny-1.0/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    (folder / "tiny-1.0.tar.gz").write_bytes(written.getvalue())
    digest = hashlib.sha256(written.getvalue()).hexdigest()
    return PackageSpec(name="tiny", version="1.0", path=str(folder / "tiny-1.0.tar.gz"), archive_sha256=digest)


def unpacked(folder: Path) -> PackageSpec:
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text.replace("\n", "\r\n"), encoding="utf-8", newline="")
    return PackageSpec(name="tiny", version="1.0", path=str(folder), license="MIT")


def test_wheel_sdist_and_folder_of_the_same_files_are_the_same_package(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    found = [read_package(spec) for spec in (wheel(tmp_path), sdist(tmp_path), unpacked(tmp_path / "folder"))]
    assert {one.package.content for one in found} == {found[0].package.content}
    assert {(one.package.license, one.package.version) for one in found} == {("MIT", "1.0")}
    assert [file.path for file in found[0].files] == sorted(FILES)


def test_an_installed_package_is_read_and_not_imported() -> None:
    version = importlib.metadata.version("toposort")
    before = set(sys.modules)
    found = read_package(PackageSpec(name="toposort", version=version))
    assert found.package.license == "Apache-2.0"
    assert any("def toposort" in file.text for file in found.files)
    assert set(sys.modules) == before


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"version": "2.0"}, "The recipe pins tiny 2.0, and 1.0 is at"),
        ({"archive_sha256": "0" * 64}, "packages.archive_sha256 of tiny is 000"),
        ({"archive_sha256": ""}, "packages.archive_sha256 of tiny is not given"),
        ({"path": "nowhere.whl"}, "packages.path of tiny: nowhere.whl cannot be read"),
        ({"content": "0" * 64}, "The files of tiny have changed since the recipe was resolved"),
        ({"modules": ("tiny.none",)}, "packages.modules of tiny has tiny.none, which the package has not"),
        ({"license": "BSD-3-Clause"}, "packages.license of tiny is 'BSD-3-Clause', but the package says 'MIT'"),
    ],
)
def test_what_differs_from_the_recipe_is_refused_in_a_sentence(
    tmp_path: Path, changed: dict[str, object], sentence: str
) -> None:
    with pytest.raises(RecipeError, match=sentence):
        read_package(wheel(tmp_path).model_copy(update=changed))


def test_an_installed_package_of_another_version_or_none_is_named() -> None:
    with pytest.raises(RecipeError, match=r"The recipe pins toposort 0\.1, and .* is installed; install"):
        read_package(PackageSpec(name="toposort", version="0.1"))
    with pytest.raises(RecipeError, match=r"install no-such-package-here==1, or give packages\.path"):
        read_package(PackageSpec(name="no-such-package-here", version="1"))


@pytest.mark.parametrize(
    ("license_line", "sentence"),
    [
        ("License-Expression: GPL-3.0-only", "The license of tiny, GPL-3.0-only, is none of"),
        ("License-Expression: MPL-2.0 AND MIT", "The license of tiny, MPL-2.0 AND MIT, is none of"),
        ("License: as you like", "The license of tiny is not known"),
        ("Classifier: License :: OSI Approved :: BSD License", "The license of tiny is not known"),
    ],
)
def test_a_license_that_is_unknown_or_not_permissive_is_refused(tmp_path: Path, license_line: str, sentence: str) -> None:
    metadata = METADATA.replace("License-Expression: MIT", license_line)
    with pytest.raises(RecipeError, match=sentence):
        read_package(wheel(tmp_path, metadata=metadata))


def test_one_of_an_or_is_enough_and_all_of_an_and_are_needed() -> None:
    assert is_permissive("Apache-2.0 OR GPL-2.0-only")
    assert is_permissive("(MIT OR Apache-2.0) AND BSD-3-Clause")
    assert not is_permissive("MIT AND GPL-2.0-only")
    assert not is_permissive("(MIT OR GPL-2.0-only) AND MIT")


def test_the_digest_follows_the_files_alone(tmp_path: Path) -> None:
    spec = with_content(wheel(tmp_path))
    assert spec.content == read_package(spec).package.content


def test_a_module_takes_what_it_imports_and_no_more(tmp_path: Path) -> None:
    files = read_package(wheel(tmp_path)).files
    assert [file.path for file in files_taken(["tiny.words"], files)] == ["tiny/__init__.py", "tiny/helper.py", "tiny/words.py"]


def test_symbols_are_public_and_functions_that_reach_outside_are_not_called(tmp_path: Path) -> None:
    file = next(one for one in read_package(wheel(tmp_path)).files if one.module == "tiny.words")
    symbols = {one.name: one for one in symbols_of(file)}
    assert list(symbols) == ["LIMIT_OF_ALL", "twice", "reads", "through", "now", "Thing"]
    assert symbols["twice"].signature == "def twice(text: str, sep: str='-') -> str"
    assert callable_names(file) == ["twice"]


def test_what_stands_in_the_code_is_known_as_word_constant_and_name(tmp_path: Path) -> None:
    spec = wheel(tmp_path)
    found = read_package(spec)
    file = CodeFile(path="tiny/alone.py", module="tiny.alone", text="X = 1\n", content="-")
    sources = CodeSources(task_id="t", package=found.package, files=(file,), symbols=(), targets=())
    vocabulary = code_vocabulary(sources, (spec,))
    assert all(vocabulary.has(text) for text in ("4711", "twice", "LIMIT_OF_ALL", "Thing", "words"))
    assert not any(vocabulary.has(text) for text in ("4712", "Halvorsen", "tests"))
    with pytest.raises(LookupError):
        code_vocabulary(sources, ())


def test_calls_are_found_in_docstrings_docs_tests_and_code_in_this_order() -> None:
    text = '''
def slug(text, sep="-"):
    """Cut.

    >>> slug("one two")
    'one-two'
    """
    return slug("own code", sep="+")

def other(x):
    return "{}".slug("a method") + slug(x)
'''
    file = CodeFile(path="pack/words.py", module="pack.words", text=text, content="-")
    texts = {
        "README.md": "Use it:\n\n```python\nwords.slug('from the docs')\n```\n",
        "tests/test_words.py": "def test():\n    assert slug('from a test', sep='_') == 1\n    slug(unknown)\n",
    }
    shown = shown_calls(["pack.words.slug"], files=[file], texts=texts)
    assert [one.arguments for one in shown] == [
        ("'one two'",),
        ("'from the docs'",),
        ("'from a test'", "sep='_'"),
        ("'own code'", "sep='+'"),
    ]
