"""What `verify_release` tells about a folder that is not as it was released."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataset_card.amemgym.release import AMEMGYM_RELEASE
from dataset_card.release.derived import contradictions, examine_release
from dataset_card.release.digests import file_sha256
from dataset_card.release.manifest import MANIFEST, Manifest, ManifestBody, ManifestFile
from dataset_card.release.verify import verify_release
from dataset_card.release_store.folder import Release
from tests.support.commands import amemgym_here
from tests.support.releases import read_rows, sign, spoil_table


def rewrite(release: Release, files: Sequence[ManifestFile]) -> None:
    """A manifest that agrees with itself and lists these files."""
    facts = release.manifest.model_dump(exclude={"version", "digest", "data_digest", "files"})
    body = ManifestBody(files=tuple(files), **facts)
    (release.folder / MANIFEST).write_bytes(Manifest.of(body, version=release.version).to_bytes())


def accept(release: Release, name: str, content: bytes) -> None:
    """Replace a file, and have the manifest say so."""
    path: Path = release.folder / name
    path.write_bytes(content)
    now = {"bytes": len(content), "sha256": file_sha256(path)}
    rewrite(release, [file.model_copy(update=now) if file.path == name else file for file in release.manifest.files])


def without_configuration(release: Release, name: str) -> bytes:
    """The card, its header without one configuration."""
    card = (release.folder / "README.md").read_text(encoding="utf-8")
    start = card.index(f"- config_name: {name}\n")
    end = min(place for place in (card.find("- config_name", start + 1), card.find("\n---\n", start) + 1) if place > 0)
    return (card[:start] + card[end:]).encode()


def test_verify_finds_what_differs_is_missing_or_is_extra(release: Release) -> None:
    parquet = release.folder / "demo/test-00000-of-00001.parquet"
    data = bytearray(parquet.read_bytes())
    data[len(data) // 2] ^= 1
    parquet.write_bytes(data)
    with (release.folder / "LICENSE").open("a") as stream:
        stream.write("!")
    (release.folder / "tables/demo/users.parquet").unlink()
    (release.folder / "tables/demo/more.parquet").write_bytes(b"")
    (release.folder / ".gitattributes").write_bytes(b"")
    found = verify_release(release.folder)
    assert [problem.split()[0] for problem in found] == [
        "LICENSE",
        "demo/test-00000-of-00001.parquet",
        "tables/demo/users.parquet",
        "tables/demo/more.parquet",
    ]
    for problem, told in zip(found, ("bytes", "sha256", "is missing.", "is not in the manifest."), strict=True):
        assert told in problem


def test_verify_tells_of_many_files_in_one_sentence_and_escapes_what_steers_a_terminal(release: Release) -> None:
    for number in range(60):
        (release.folder / f"more-{number:02}").touch()
    (release.folder / "evil\x1b[2J\nname").touch()
    (release.folder / "linked").symlink_to("/usr")
    assert verify_release(release.folder) == [
        r"evil\x1b[2J\nname, linked, more-00, more-01, more-02 and 57 more are not in the manifest."
    ]


def test_verify_tells_of_many_missing_files_in_one_sentence(release: Release) -> None:
    lost = [f"tables/demo/lost-{number}.parquet" for number in range(7)]
    first = release.manifest.files[0]
    rewrite(release, [*release.manifest.files, *(first.model_copy(update={"path": name}) for name in lost)])
    assert verify_release(release.folder) == [f"{', '.join(lost[:5])} and 2 more are missing."]


def test_verify_finds_rows_that_the_manifest_misstates(release: Release) -> None:
    files = tuple(
        file.model_copy(update={"rows": 7}) if file.path in {"demo/data.json", "tables/demo/users.parquet"} else file
        for file in release.manifest.files
    )
    rewrite(release, files)
    assert verify_release(release.folder) == [
        "demo/data.json: it has 2 rows, but the manifest says 7.",
        "tables/demo/users.parquet: it has 2 rows, but the manifest says 7.",
    ]


def test_verify_tells_a_broken_or_missing_manifest(release: Release) -> None:
    manifest = release.folder / MANIFEST
    manifest.write_bytes(manifest.read_bytes().replace(b'"users": 2', b'"users": 3'))
    assert verify_release(release.folder) == ["manifest.json is wrong: its digest is not that of its content."]
    manifest.unlink()
    assert verify_release(release.folder) == ["manifest.json cannot be read: No such file or directory."]


def test_a_whole_release_passes_the_long_examination(release: Release) -> None:
    assert examine_release(release.folder) == []


def test_a_release_of_a_benchmark_that_nobody_knows_is_told(release: Release, tmp_path: Path) -> None:
    recipe = (release.folder / "recipe.yaml").read_text()
    assert amemgym_here(tmp_path, "verify", str(release.folder))[0] == 0
    accept(release, "recipe.yaml", f"{recipe}benchmark: nosuch\n".encode())
    status, output = amemgym_here(tmp_path, "verify", str(release.folder))
    assert status == 1
    assert "recipe.yaml is that of 'nosuch'; this version knows amemgym, " in output


def test_a_recipe_that_nothing_could_be_made_by_is_told_whatever_the_manifest_says(release: Release) -> None:
    recipe = (release.folder / "recipe.yaml").read_text()
    accept(release, "recipe.yaml", f"{recipe}num_users: 999999999999\n".encode())
    [said] = contradictions(release.folder, form=AMEMGYM_RELEASE)
    assert said.startswith("recipe.yaml: ")
    assert "num_users" in said


NESTED = "demo/test-00000-of-00001.parquet"
CHOICES = "tables/demo/answer_choices.parquet"


def change_choice(rows: list[dict[str, Any]]) -> None:
    rows[2]["answer"] = "something else"


def leave_out_choice(rows: list[dict[str, Any]]) -> None:
    del rows[-1]


def add_choice(rows: list[dict[str, Any]]) -> None:
    rows.append({**rows[-1], "choice_id": "more"})


def change_name(rows: list[dict[str, Any]]) -> None:
    rows[1]["user_profile"]["name"] = "Somebody Else"


@pytest.mark.parametrize(
    ("path", "change", "words"),
    [
        (CHOICES, change_choice, "answer_choices.parquet: row 3 (user_id "),
        (CHOICES, leave_out_choice, f"is not as {NESTED} has it, in "),
        (CHOICES, add_choice, f"and what follows it are not in {NESTED}."),
        (NESTED, change_name, f"demo/data.json: row 2 (id '5f0c-ada-003') is not as {NESTED} has it, in user_profile."),
    ],
)
def test_a_row_that_somebody_changed_and_signed_anew_is_named(
    release: Release, tmp_path: Path, path: str, change: Any, words: str
) -> None:
    assert list(contradictions(release.folder, form=AMEMGYM_RELEASE)) == []
    rows = read_rows(release.folder / path)
    change(rows)
    spoil_table(release.folder, path, rows)
    assert verify_release(release.folder) == []
    status, output = amemgym_here(tmp_path, "verify", str(release.folder))
    assert (status, words in output) == (1, True), output


def test_nothing_is_evaluated_on_or_compared_with_a_data_json_whose_rows_are_not_the_manifests(
    release: Release, made_release: Release, tmp_path: Path
) -> None:
    data = release.folder / "demo/data.json"
    data.write_bytes(data.read_bytes().replace(b"vegetarian", b"pescetarian", 1))
    sign(release.folder, "demo/data.json")
    folder, original = str(release.folder), str(made_release.folder)
    for words in (("evaluate", folder, "--memory", "none"), ("diff", original, folder)):
        status, output = amemgym_here(tmp_path, *words)
        assert status == 1
        assert "is damaged or incomplete: demo/data.json has rows with the digest " in output


def test_a_path_that_leads_out_is_told_in_a_sentence(release: Release) -> None:
    users = "tables/demo/users.parquet"
    with pq.ParquetFile(release.folder / users) as file:
        table = file.read_row_group(0)  # pyright: ignore[reportUnknownMemberType]
    with_paths = table.append_column("path", pa.array(["../x"] * table.num_rows))
    with pq.ParquetWriter(release.folder / users, with_paths.schema) as writer:
        writer.write_table(with_paths)
    accept(release, users, (release.folder / users).read_bytes())
    assert verify_release(release.folder) == [f"{users}: the path '../x' does not lie inside its folder."]


def test_a_table_without_a_configuration_is_told(release: Release) -> None:
    accept(release, "README.md", without_configuration(release, "demo_questions"))
    assert verify_release(release.folder) == []
    assert examine_release(release.folder) == [
        "tables/demo/questions.parquet has rows, but no configuration in README.md.",
    ]


def test_a_pattern_that_matches_nothing_is_told(release: Release) -> None:
    card = (release.folder / "README.md").read_bytes()
    accept(release, "README.md", card.replace(b"tables/demo/users.parquet", b"tables/demo/user.parquet", 1))
    assert examine_release(release.folder)[0] == (
        "The configuration 'demo_users' in README.md asks for 'tables/demo/user.parquet', which matches no file."
    )


def test_other_rows_under_the_right_sha256_are_told(release: Release) -> None:
    users = "tables/demo/users.parquet"
    files = [
        file.model_copy(update={"logical_digest": "0" * 64}) if file.path == users else file for file in release.manifest.files
    ]
    rewrite(release, files)
    assert verify_release(release.folder) == []
    (problem,) = examine_release(release.folder)
    assert problem.startswith(f"{users} has rows with the digest ")


@pytest.mark.parametrize("name", ["tables/demo/users.parquet", "demo/data.json"])
def test_a_file_that_nobody_can_read_is_told_in_one_sentence(release: Release, name: str) -> None:
    accept(release, name, b"PAR1, they said")
    assert examine_release(release.folder) == [f"{name}: its rows cannot be read, but the manifest says 2."]


def test_what_the_library_of_readers_cannot_load_is_told(release: Release) -> None:
    """Two files of one configuration with different columns: each can be read, together they cannot."""
    card = (release.folder / "README.md").read_bytes()
    accept(release, "README.md", card.replace(b"path: tables/demo/users.parquet", b"path: tables/demo/*s.parquet", 1))
    (problem,) = examine_release(release.folder)
    assert problem.startswith("The configuration 'demo_users' in README.md cannot be loaded: ")
    assert "\n" not in problem
