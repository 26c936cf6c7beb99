"""What is damaged, lost or missing on the way is fetched anew or refused by name."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dataset_card.errors import HubMissing
from dataset_card.hub.port import Hub
from dataset_card.hub.read import BadRelease, Expected, ReleaseReader
from dataset_card.release.verify import verify_release
from tests.support.hub_server.faults import Fault
from tests.support.hub_server.releases import a_release, commit_by_hand, published
from tests.support.hub_server.state import FakeHub
from tests.support.releases import all_bytes


def test_a_flipped_byte_is_found_and_all_is_fetched_once_more(
    fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader
) -> None:
    published(hub, a_release(), repo=repo)
    fake.faults.add(Fault("blob", "flip"))
    large = [path for path in all_bytes(a_release().folder) if path.endswith(".parquet")]
    assert verify_release(reader.read(f"{repo}@demo-v0.1.0").folder) == []
    assert fake.asked.count("blob") == 2 * len(large)


@pytest.mark.parametrize("route", ["blob", "resolve"])
def test_a_byte_that_is_always_flipped_is_refused(
    fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader, tmp_path: Path, route: str
) -> None:
    published(hub, a_release(), repo=repo)
    fake.faults.add(Fault(route, "flip", times=999))
    with pytest.raises(BadRelease, match="is not whole"):
        reader.read(f"{repo}@demo-v0.1.0")
    assert not [path for path in (tmp_path / "fetched").rglob("*") if path.is_file()]


@pytest.mark.parametrize("kind", ["truncate", "drop"])
def test_a_download_that_breaks_off_goes_on(fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader, kind: Any) -> None:
    published(hub, a_release(), repo=repo)
    fake.faults.add(Fault("blob", kind, times=2))
    assert reader.read(f"{repo}@demo-v0.1.0").digest == a_release().digest


def test_a_missing_file_is_named(fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader) -> None:
    published(hub, a_release(), repo=repo)
    sha = commit_by_hand(fake, repo, {}, "tables/demo/users.parquet")
    with pytest.raises(BadRelease, match=r"tables/demo/users\.parquet is missing"):
        reader.read(f"{repo}@{sha}")


def test_a_manifest_that_points_outside_is_refused(
    fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader, tmp_path: Path
) -> None:
    published(hub, a_release(), repo=repo)
    manifest = json.loads((a_release().folder / "manifest.json").read_text())
    manifest["files"][0]["path"] = "../../../../escaped"
    sha = commit_by_hand(fake, repo, {"demo/manifest.json": json.dumps(manifest).encode()})
    with pytest.raises(BadRelease, match="does not lie inside its folder"):
        reader.read(f"{repo}@{sha}")
    assert not list(tmp_path.rglob("escaped"))


def test_a_copy_that_was_damaged_on_the_disk_is_fetched_anew(fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader) -> None:
    published(hub, a_release(), repo=repo)
    folder = reader.read(f"{repo}@demo-v0.1.0").folder
    (folder / "recipe.yaml").write_text("changed")
    assert all_bytes(reader.read(f"{repo}@demo-v0.1.0").folder) == all_bytes(a_release().folder)


def broken_byte(folder: Path) -> None:
    path = folder / "demo" / "test-00000-of-00001.parquet"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)


def no_license(folder: Path) -> None:
    (folder / "LICENSE").unlink()


@pytest.mark.parametrize("damage", [broken_byte, no_license])
def test_a_damaged_folder_is_refused(reader: ReleaseReader, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    folder = shutil.copytree(a_release().folder, tmp_path / "copy")
    damage(folder)
    with pytest.raises(BadRelease, match="is not whole"):
        reader.read(folder)


def test_one_file_of_a_dataset_without_a_manifest_is_checked_and_kept(
    fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader
) -> None:
    fake.make(repo)
    commit = commit_by_hand(fake, repo, {"v1.base/data.json": b"[]"})
    found = reader.read_file(f"{repo}@main", path="v1.base/data.json")
    assert (found.path.read_bytes(), found.path.name, found.commit) == (b"[]", "data.json", commit)
    with pytest.raises(HubMissing, match=r"has no file 'v2/data\.json'"):
        reader.read_file(f"{repo}@main", path="v2/data.json")
    with pytest.raises(BadRelease, match="not that of the file asked for"):
        reader.read_file(f"{repo}@main", path="v1.base/data.json", expected=Expected(digest="0" * 64))
    fake.faults.add(Fault("resolve", "flip"))
    with pytest.raises(BadRelease, match="not that of the file asked for"):
        reader.read_file(f"{repo}@{commit}", path="v1.base/data.json")
