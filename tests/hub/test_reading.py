import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dataset_card.hub import Hub, HubError, HubMissing, HubUnreachable
from dataset_card.hub_read import BadRelease, MovedTag, Reader, Wanted
from dataset_card.hub_record import ReleaseRecords
from dataset_card.verify import verify_release
from tests.dataset_card.releases import all_bytes
from tests.hub.faults import Fault
from tests.hub.shelf import a_release, published
from tests.hub.state import READER, FakeHub

NOTICES: list[str] = []


@pytest.fixture
def reader(hub: Hub, tmp_path: Path, records: ReleaseRecords) -> Reader:
    NOTICES.clear()
    return Reader(lambda: hub, cache=tmp_path / "fetched", records=records, notice=NOTICES.append)


def commit_by_hand(fake: FakeHub, repo: str, adds: dict[str, bytes], *deletes: str) -> str:
    git = fake.repos[repo].git
    return git.commit("refs/heads/main", base=git.resolve("main"), adds=adds, deletes=deletes, message="by hand")


def move_tag(fake: FakeHub, repo: str, sha: str) -> None:
    fake.repos[repo].git.git("tag", "-f", "-a", "-m", "moved", "demo-v0.1.0", sha)


def test_what_is_fetched_is_the_release_byte_by_byte(fake: FakeHub, hub: Hub, repo: str, reader: Reader) -> None:
    release = a_release()
    done = published(hub, release, repo=repo)
    read = reader.read(f"{repo}@demo-v0.1.0")
    assert all_bytes(read.folder) == all_bytes(release.folder)
    assert (read.repo, read.revision, read.commit, read.digest) == (repo, "demo-v0.1.0", done.commit, release.digest)


def test_a_folder_is_read_by_the_same_function_without_a_hub(tmp_path: Path, records: ReleaseRecords) -> None:
    def no_hub() -> Hub:
        raise AssertionError("the Hub was opened")

    read = Reader(no_hub, cache=tmp_path, records=records).read(a_release().folder)
    assert (read.digest, read.repo, read.commit) == (a_release().digest, None, None)


def test_a_commit_that_was_read_is_read_again_without_asking(fake: FakeHub, hub: Hub, repo: str, reader: Reader) -> None:
    commit = published(hub, a_release(), repo=repo).commit
    first = reader.read(f"{repo}@{commit}", wanted=Wanted(variant="demo"))
    fake.asked.clear()
    assert reader.read(f"{repo}@{commit}", wanted=Wanted(variant="demo")).folder == first.folder
    assert not fake.asked


def test_a_tag_that_was_read_serves_while_the_hub_is_away(fake: FakeHub, hub: Hub, repo: str, reader: Reader) -> None:
    published(hub, a_release(), repo=repo)
    first = reader.read(f"{repo}@demo-v0.1.0")
    fake.faults.add(Fault("refs", "drop", times=99))
    assert reader.read(f"{repo}@demo-v0.1.0") == first
    assert "Reading what was fetched before" in NOTICES[-1]


def test_a_tag_that_was_never_read_needs_the_hub(
    fake: FakeHub, hub: Hub, repo: str, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(hub, a_release(), repo=repo)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(HubUnreachable, match="HF_HUB_OFFLINE"):
        reader.read(f"{repo}@demo-v0.1.0")


def test_a_tag_that_moved_since_it_was_read_is_refused(fake: FakeHub, hub: Hub, repo: str, reader: Reader) -> None:
    published(hub, a_release(), repo=repo)
    reader.read(f"{repo}@demo-v0.1.0")
    move_tag(fake, repo, commit_by_hand(fake, repo, {"notes.txt": b"x"}))
    with pytest.raises(MovedTag, match="the tag was moved"):
        reader.read(f"{repo}@demo-v0.1.0")


def test_a_tag_that_is_not_at_the_known_commit_is_refused(fake: FakeHub, hub: Hub, repo: str, reader: Reader) -> None:
    published(hub, a_release(), repo=repo)
    with pytest.raises(MovedTag, match="was commit 000000000000"):
        reader.read(f"{repo}@demo-v0.1.0", wanted=Wanted(commit="0" * 40))


def test_another_digest_than_the_known_one_is_refused(fake: FakeHub, hub: Hub, repo: str, reader: Reader) -> None:
    published(hub, a_release(), repo=repo)
    with pytest.raises(BadRelease, match="another one than expected"):
        reader.read(f"{repo}@demo-v0.1.0", wanted=Wanted(digest="f" * 64))
    assert reader.read(f"{repo}@demo-v0.1.0", wanted=Wanted(digest=f"sha256:{a_release().digest}")).digest


def test_a_flipped_byte_is_found_and_everything_fetched_once_more(fake: FakeHub, hub: Hub, repo: str, reader: Reader) -> None:
    published(hub, a_release(), repo=repo)
    fake.faults.add(Fault("blob", "flip"))
    large = [path for path in all_bytes(a_release().folder) if path.endswith(".parquet")]
    assert verify_release(reader.read(f"{repo}@demo-v0.1.0").folder) == []
    assert fake.asked.count("blob") == 2 * len(large)


@pytest.mark.parametrize("route", ["blob", "resolve"])
def test_a_byte_that_is_always_flipped_is_refused(
    fake: FakeHub, hub: Hub, repo: str, reader: Reader, tmp_path: Path, route: str
) -> None:
    published(hub, a_release(), repo=repo)
    fake.faults.add(Fault(route, "flip", times=999))
    with pytest.raises(BadRelease, match="is not whole"):
        reader.read(f"{repo}@demo-v0.1.0")
    assert not [path for path in (tmp_path / "fetched").rglob("*") if path.is_file()]


@pytest.mark.parametrize("kind", ["truncate", "drop"])
def test_a_download_that_breaks_off_goes_on(fake: FakeHub, hub: Hub, repo: str, reader: Reader, kind: Any) -> None:
    published(hub, a_release(), repo=repo)
    fake.faults.add(Fault("blob", kind, times=2))
    assert reader.read(f"{repo}@demo-v0.1.0").digest == a_release().digest


def test_a_missing_file_is_named(fake: FakeHub, hub: Hub, repo: str, reader: Reader) -> None:
    published(hub, a_release(), repo=repo)
    sha = commit_by_hand(fake, repo, {}, "tables/demo/users.parquet")
    with pytest.raises(BadRelease, match=r"tables/demo/users\.parquet is missing"):
        reader.read(f"{repo}@{sha}")


def test_a_manifest_that_points_outside_is_refused(fake: FakeHub, hub: Hub, repo: str, reader: Reader, tmp_path: Path) -> None:
    published(hub, a_release(), repo=repo)
    manifest = json.loads((a_release().folder / "manifest.json").read_text())
    manifest["files"][0]["path"] = "../../../../escaped"
    sha = commit_by_hand(fake, repo, {"demo/manifest.json": json.dumps(manifest).encode()})
    with pytest.raises(BadRelease, match="does not lie inside the release"):
        reader.read(f"{repo}@{sha}")
    assert not list(tmp_path.rglob("escaped"))


def test_a_copy_that_was_damaged_on_the_disk_is_fetched_anew(fake: FakeHub, hub: Hub, repo: str, reader: Reader) -> None:
    published(hub, a_release(), repo=repo)
    folder = reader.read(f"{repo}@demo-v0.1.0").folder
    (folder / "recipe.yaml").write_text("changed")
    assert all_bytes(reader.read(f"{repo}@demo-v0.1.0").folder) == all_bytes(a_release().folder)


def test_a_tag_says_which_variant_and_a_commit_has_to_be_told(fake: FakeHub, hub: Hub, repo: str, reader: Reader) -> None:
    published(hub, a_release(), repo=repo)
    commit = published(hub, a_release(variant="extra"), repo=repo).commit
    assert reader.read(f"{repo}@extra-v0.1.0").manifest.variant == "extra"
    with pytest.raises(BadRelease, match="it holds demo, extra; name the variant"):
        reader.read(f"{repo}@{commit}")
    assert reader.read(f"{repo}@{commit}", wanted=Wanted(variant="demo")).manifest.variant == "demo"


def test_a_branch_is_read_and_not_remembered(
    fake: FakeHub, hub: Hub, repo: str, reader: Reader, records: ReleaseRecords
) -> None:
    published(hub, a_release(), repo=repo)
    assert reader.read(f"{repo}@main").revision == "main"
    assert records.all() == []


@pytest.mark.parametrize("revision", ["demo-v9.9.9", "0" * 40])
def test_a_revision_that_is_not_there_is_told(fake: FakeHub, hub: Hub, repo: str, reader: Reader, revision: str) -> None:
    published(hub, a_release(), repo=repo)
    with pytest.raises(HubMissing, match=repo):
        reader.read(f"{repo}@{revision}")


def test_a_hidden_repository_is_told(
    fake: FakeHub, hub: Hub, repo: str, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(hub, a_release(), repo=repo)
    monkeypatch.setenv("HF_TOKEN", READER)
    with pytest.raises(HubMissing, match="check the name, and that the token may see it"):
        reader.read(f"{repo}@demo-v0.1.0")


def test_a_tag_whose_release_has_another_version_is_refused(fake: FakeHub, hub: Hub, repo: str, reader: Reader) -> None:
    published(hub, a_release(), repo=repo)
    fake.repos[repo].git.tag("demo-v7.0.0", sha=fake.repos[repo].git.log()[0], message="")
    with pytest.raises(BadRelease, match=r"holds version 0\.1\.0 of demo"):
        reader.read(f"{repo}@demo-v7.0.0")


def broken_byte(folder: Path) -> None:
    path = folder / "demo" / "test-00000-of-00001.parquet"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)


def no_license(folder: Path) -> None:
    (folder / "LICENSE").unlink()


@pytest.mark.parametrize("damage", [broken_byte, no_license])
def test_a_damaged_folder_is_refused(reader: Reader, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    folder = shutil.copytree(a_release().folder, tmp_path / "copy")
    damage(folder)
    with pytest.raises(BadRelease, match="is not whole"):
        reader.read(folder)


@pytest.mark.parametrize("source", ["nowhere", "lab/data", "a/b/c@v1", "@v1"])
def test_what_is_neither_folder_nor_release_is_told(reader: Reader, source: str) -> None:
    with pytest.raises(HubError, match=r"OWNER/NAME@TAG"):
        reader.read(source)


def test_one_file_of_a_dataset_without_a_manifest_is_checked_and_kept(
    fake: FakeHub, hub: Hub, repo: str, reader: Reader
) -> None:
    fake.make(repo)
    commit = commit_by_hand(fake, repo, {"v1.base/data.json": b"[]"})
    found = reader.read_file(f"{repo}@main", path="v1.base/data.json")
    assert (found.path.read_bytes(), found.path.name, found.commit) == (b"[]", "data.json", commit)
    with pytest.raises(HubMissing, match=r"has no file 'v2/data\.json'"):
        reader.read_file(f"{repo}@main", path="v2/data.json")
    with pytest.raises(BadRelease, match="not that of the file asked for"):
        reader.read_file(f"{repo}@main", path="v1.base/data.json", wanted=Wanted(digest="0" * 64))
    fake.faults.add(Fault("resolve", "flip"))
    with pytest.raises(BadRelease, match="not that of the file asked for"):
        reader.read_file(f"{repo}@{commit}", path="v1.base/data.json")
