"""Releases that somebody made to hurt whoever reads them: refused in one sentence, before they take time or memory."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataset_card.diff.compare import compare_releases, read_compared
from dataset_card.diff.errata_files import ErrataError
from dataset_card.diff.records import DiffError
from dataset_card.release.derived import examine_release
from dataset_card.release.manifest import MANIFEST
from dataset_card.release.verify import file_rows, verify_release
from dataset_card.release_store.folder import Release
from pipelines.benchmarks import format_of
from tests.support.releases import sign

ALIASES = "a: &a [x, x]\n" + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(24))
USERS = "tables/demo/users.parquet"
DATA = "demo/data.json"


@pytest.fixture
def folder(release: Release, tmp_path: Path) -> Path:
    """A release that is about to be spoiled."""
    return Path(shutil.copytree(release.folder, tmp_path / "hostile"))


def a_huge_manifest(folder: Path) -> None:
    with (folder / MANIFEST).open("ab") as stream:
        stream.truncate(200 << 20)


def an_alias_bomb_in_the_card(folder: Path) -> None:
    (folder / "README.md").write_text(f"---\n{ALIASES}---\n# Card\n")
    sign(folder, "README.md")


def a_parquet_bomb(folder: Path) -> None:
    """One text of a megabyte, a hundred times."""
    arrow: Any = pa
    text = arrow.array(["x" * (1 << 20)] * 100)
    writer: Any = pq
    writer.write_table(arrow.table({"user_id": text}), folder / USERS, compression="zstd")
    sign(folder, USERS, rows=100)


def a_table_of_dictionaries(folder: Path) -> None:
    arrow: Any = pa
    text = arrow.array(["x" * (1 << 20)] * 4).dictionary_encode()
    writer: Any = pq
    writer.write_table(arrow.table({"user_id": text}), folder / USERS)
    sign(folder, USERS, rows=4)


def a_damaged_table(folder: Path) -> None:
    content = bytearray((folder / USERS).read_bytes())
    content[4:2000] = bytes(1996)
    (folder / USERS).write_bytes(content)
    sign(folder, USERS)


def a_nested_json(folder: Path) -> None:
    depth = 100_000
    (folder / DATA).write_text("[\n  {\n" + '    "a": ' + "[" * depth + "]" * depth + "\n  }\n]\n")
    sign(folder, DATA, rows=1)


def an_endless_item(folder: Path) -> None:
    with (folder / DATA).open("r+b") as stream:
        stream.truncate(2)
        stream.truncate(200 << 20)
    sign(folder, DATA)


def a_link(folder: Path) -> None:
    (folder / "recipe.yaml").unlink()
    (folder / "recipe.yaml").symlink_to("/etc/passwd")


def a_linked_folder(folder: Path) -> None:
    (folder / "tables").rename(folder.parent / "elsewhere")
    (folder / "tables").symlink_to(folder.parent / "elsewhere")


def a_null_byte(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_bytes())
    manifest["files"][0]["path"] = "demo/\0"
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (a_huge_manifest, "manifest.json has more than 16 MB, which no release needs."),
        (an_alias_bomb_in_the_card, "The YAML header of README.md has a YAML alias"),
        (a_parquet_bomb, f"{USERS} unpacks to more than"),
        (a_table_of_dictionaries, f"{USERS} has columns of dictionaries"),
        (a_damaged_table, f"{USERS} cannot be read: "),
        (a_nested_json, f"{DATA}: its rows cannot be read, but"),
        (an_endless_item, f"{DATA}: its rows cannot be read, but"),
        (a_link, "recipe.yaml is a symbolic link"),
        (a_linked_folder, "answer_choices.parquet is a symbolic link, or lies behind one"),
        (a_null_byte, "has characters that no file name has"),
    ],
)
def test_it_is_refused_in_a_sentence_that_names_the_file(folder: Path, spoil: Callable[[Path], None], words: str) -> None:
    spoil(folder)
    problems = examine_release(folder)
    assert any(words in problem for problem in problems), problems
    assert all("\n" not in problem for problem in problems)


def test_a_release_that_is_as_it_was_is_not_refused(folder: Path) -> None:
    assert examine_release(folder) == verify_release(folder) == []


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        ("recipe.yaml", ALIASES, r"cannot be compared: recipe\.yaml cannot be read: has a YAML alias"),
        ("recipe.yaml", "x" * (600 << 10), "characters of YAML"),
        ("errata.json", "{}", "cannot be read as the errata of a release"),
        (USERS, "PAR1", "The table users of .* cannot be compared"),
    ],
)
def test_a_diff_with_it_ends_in_a_sentence(release: Release, folder: Path, path: str, content: str, words: str) -> None:
    (folder / path).write_text(content)
    spoiled = read_compared(folder)
    changed = [one.model_copy(update={"logical_digest": "0" * 64}) if one.path == path else one for one in spoiled.body.files]
    if path == USERS:
        spoiled = replace(spoiled, body=spoiled.body.model_copy(update={"files": tuple(changed)}))
    with pytest.raises((DiffError, ErrataError), match=words):
        compare_releases(read_compared(release.folder), spoiled, form=format_of(release.folder))


def test_a_diff_with_foreign_keys_ends_in_a_sentence(release: Release, folder: Path) -> None:
    questions = "tables/demo/questions.parquet"
    rows: list[dict[str, Any]] = [{f"{name}_no": value for name, value in row.items()} for row in file_rows(folder / questions)]
    pq.write_table(pa.Table.from_pylist(rows), folder / questions)  # pyright: ignore[reportUnknownMemberType]
    sign(folder, questions, logical_digest="0" * 64)
    with pytest.raises(DiffError, match=r"The table questions of .* cannot be compared"):
        compare_releases(read_compared(release.folder), read_compared(folder), form=format_of(release.folder))
