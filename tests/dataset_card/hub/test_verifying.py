"""What `verify` tells of a repository at a tag, and of a release on the disk: one sentence for each problem."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dataset_card.hub.port import Hub
from pipelines.cli.main import app
from pipelines.errors import Problem
from tests.support.hub_server.faults import Fault
from tests.support.hub_server.releases import a_release, commit_by_hand, held_files, move_tag, published
from tests.support.hub_server.state import FakeHub
from tests.support.releases import sign

TAG = "demo-v0.1.0"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["verify", *arguments])


def told(*arguments: str) -> list[str]:
    """The problems, each on a line of its own, of a command that therefore fails."""
    result = run(*arguments)
    assert isinstance(result.exception, Problem), result.output
    assert "not as it was released" in str(result.exception)
    return result.stdout.splitlines()


def by_hand(fake: FakeHub, repo: str, adds: dict[str, bytes], *deletes: str, moving: bool = True) -> str:
    """A commit that somebody makes without us, and the tag moved onto it."""
    sha = commit_by_hand(fake, repo, adds, *deletes)
    if moving:
        move_tag(fake, repo, sha)
    return sha


def flipped(content: bytes) -> bytes:
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


def test_a_whole_release_passes_on_the_hub_and_on_the_disk(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(), repo=repo)
    for arguments in ((repo, "--tag", TAG), (f"{repo}@{TAG}",), (str(a_release().folder),)):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (0, ""), result.output
        assert "every file is as released" in result.stderr


def test_a_release_is_whole_as_seen_from_its_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(a_release().folder)
    result = run(".")
    assert (result.exit_code, result.stdout) == (0, ""), result.output


def test_a_moved_tag_is_named(fake: FakeHub, hub: Hub, repo: str) -> None:
    CliRunner().invoke(app, ["publish", str(a_release().folder), "--repo", repo])
    by_hand(fake, repo, {"notes.txt": b"x"})
    (problem,) = told(repo, "--tag", TAG)
    assert f"{repo}@{TAG} was commit" in problem
    assert "the tag was moved" in problem


def test_a_lost_tag_is_named_with_the_commit_it_was_at(fake: FakeHub, hub: Hub, repo: str) -> None:
    assert told(repo, "--tag", TAG) == [f"{repo} has no tag '{TAG}', or it is hidden from this token."]
    CliRunner().invoke(app, ["publish", str(a_release().folder), "--repo", repo])
    sha = fake.repos[repo].git.resolve("main")
    fake.repos[repo].git.git("tag", "-d", TAG)
    (problem,) = told(repo, "--tag", TAG)
    assert f"{repo} has lost its tag {TAG}, which was at commit {str(sha)[:12]}" in problem
    CliRunner().invoke(app, ["publish", str(a_release().folder), "--repo", repo])
    assert run(repo, "--tag", TAG).exit_code == 0


DAMAGES: list[tuple[Callable[[dict[str, bytes]], dict[str, bytes]], str]] = [
    (lambda held: {"demo/recipe.yaml": flipped(held["demo/recipe.yaml"])}, "recipe.yaml has the sha256"),
    (lambda held: {"tables/demo/users.parquet": held["tables/demo/users.parquet"][:-7]}, "tables/demo/users.parquet has"),
    (
        lambda held: {"README.md": held["README.md"].replace(b"config_name: demo\n", b"config_name: else\n")},
        "no configuration 'demo'",
    ),
    (lambda held: {"README.md": b"# nothing\n"}, "cannot be read"),
    (lambda held: {"demo/manifest.json": b"{}"}, "manifest.json is wrong"),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGES)
def test_damage_in_a_commit_is_one_sentence(
    fake: FakeHub, hub: Hub, repo: str, damage: Callable[[dict[str, bytes]], dict[str, bytes]], words: str
) -> None:
    published(hub, a_release(), repo=repo)
    by_hand(fake, repo, damage(held_files(fake, repo)))
    (problem,) = told(f"{repo}@{TAG}")
    assert words in problem


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("tables/demo/states.parquet", "tables/demo/states.parquet is missing."),
        ("README.md", "has no README.md"),
        ("demo/manifest.json", "holds no release, and not demo"),
    ],
)
def test_a_lost_file_is_named(fake: FakeHub, hub: Hub, repo: str, path: str, words: str) -> None:
    published(hub, a_release(), repo=repo)
    by_hand(fake, repo, {}, path)
    assert words in told(f"{repo}@{TAG}")[0]


def test_a_release_of_a_benchmark_that_nobody_knows_is_one_sentence(fake: FakeHub, hub: Hub, repo: str, tmp_path: Path) -> None:
    published(hub, a_release(), repo=repo)
    folder = Path(shutil.copytree(a_release().folder, tmp_path / "copy"))
    with (folder / "recipe.yaml").open("a") as recipe:
        recipe.write("benchmark: nosuch\n")
    sign(folder, "recipe.yaml")
    by_hand(fake, repo, {f"demo/{name}": (folder / name).read_bytes() for name in ("recipe.yaml", "manifest.json")})
    (problem,) = told(f"{repo}@{TAG}")
    assert problem.startswith("recipe.yaml is that of 'nosuch'; this version knows amemgym, ")


def test_nothing_kept_from_an_earlier_download_is_believed(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(), repo=repo)
    assert run(f"{repo}@{TAG}").exit_code == 0
    fake.faults.add(Fault("blob", "flip", times=999))
    assert "has the sha256" in told(f"{repo}@{TAG}")[0]


def test_every_problem_of_a_folder_is_told_and_the_exit_status_is_one(tmp_path: Path) -> None:
    folder = shutil.copytree(a_release().folder, tmp_path / "copy")
    (folder / "LICENSE").unlink()
    (folder / "recipe.yaml").write_text("seed: 43\n")
    assert [line.split()[0] for line in told(str(folder))] == ["recipe.yaml", "LICENSE"]
    (folder / "manifest.json").unlink()
    assert told(str(folder)) == ["manifest.json cannot be read: No such file or directory."]
    result = run(str(folder), "--json")
    assert json.loads(result.stdout)["problems"] == told(str(folder))


def test_a_folder_that_is_no_release_is_one_sentence(tmp_path: Path) -> None:
    result = run(str(tmp_path))
    assert isinstance(result.exception, Problem)
    assert str(result.exception).startswith(f"{tmp_path} is a folder, but no release: it has neither manifest.json nor")
    assert not result.stdout
