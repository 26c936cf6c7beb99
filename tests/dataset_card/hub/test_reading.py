"""A release is read by its name and revision or from its folder, and refused when it is not the one asked for."""

import re
from pathlib import Path

import pytest

from dataset_card.errors import HubDenied, HubError, HubMissing, HubUnreachable
from dataset_card.hub.port import Hub
from dataset_card.hub.read import BadRelease, Expected, MovedTag, ReleaseReader, repository_problems
from dataset_card.hub.tag_registry import TagRegistry
from tests.support.hub_server.faults import Fault
from tests.support.hub_server.releases import a_release, commit_by_hand, move_tag, published
from tests.support.hub_server.state import READER, FakeHub
from tests.support.releases import all_bytes


def test_what_is_fetched_is_the_release_byte_by_byte(fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader) -> None:
    release = a_release()
    done = published(hub, release, repo=repo)
    read = reader.read(f"{repo}@demo-v0.1.0")
    assert all_bytes(read.folder) == all_bytes(release.folder)
    assert read.repo == repo
    assert read.revision == "demo-v0.1.0"
    assert read.commit == done.commit
    assert read.digest == release.digest


def test_a_folder_is_read_by_the_same_function_without_a_hub(tmp_path: Path, registry: TagRegistry) -> None:
    def no_hub() -> Hub:
        raise AssertionError("the Hub was opened")

    read = ReleaseReader(no_hub, cache=tmp_path, registry=registry).read(a_release().folder)
    assert (read.digest, read.repo, read.commit) == (a_release().digest, None, None)


def test_a_commit_that_was_read_is_read_again_without_asking(fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader) -> None:
    commit = published(hub, a_release(), repo=repo).commit
    first = reader.read(f"{repo}@{commit}", expected=Expected(variant="demo"))
    fake.asked.clear()
    assert reader.read(f"{repo}@{commit}", expected=Expected(variant="demo")).folder == first.folder
    assert not fake.asked


def test_a_tag_that_was_read_serves_while_the_hub_is_away(
    fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader, notices: list[str]
) -> None:
    published(hub, a_release(), repo=repo)
    first = reader.read(f"{repo}@demo-v0.1.0")
    fake.faults.add(Fault("refs", "drop", times=99))
    assert reader.read(f"{repo}@demo-v0.1.0") == first
    assert "Reading what was fetched before" in notices[-1]


def test_a_tag_that_was_never_read_needs_the_hub(
    fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(hub, a_release(), repo=repo)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(HubUnreachable, match="HF_HUB_OFFLINE"):
        reader.read(f"{repo}@demo-v0.1.0")


def test_a_tag_that_moved_since_it_was_read_is_refused(fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader) -> None:
    published(hub, a_release(), repo=repo)
    reader.read(f"{repo}@demo-v0.1.0")
    move_tag(fake, repo, commit_by_hand(fake, repo, {"notes.txt": b"x"}))
    with pytest.raises(MovedTag, match="the tag was moved"):
        reader.read(f"{repo}@demo-v0.1.0")


def test_a_tag_that_is_not_at_the_known_commit_is_refused(fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader) -> None:
    published(hub, a_release(), repo=repo)
    with pytest.raises(MovedTag, match="was commit 000000000000"):
        reader.read(f"{repo}@demo-v0.1.0", expected=Expected(commit="0" * 40))


def test_another_digest_than_the_known_one_is_refused(fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader) -> None:
    published(hub, a_release(), repo=repo)
    with pytest.raises(BadRelease, match="another one than expected"):
        reader.read(f"{repo}@demo-v0.1.0", expected=Expected(digest="f" * 64))
    assert reader.read(f"{repo}@demo-v0.1.0", expected=Expected(digest=f"sha256:{a_release().digest}")).digest


def test_a_tag_names_the_variant_and_a_commit_needs_it_named(fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader) -> None:
    published(hub, a_release(), repo=repo)
    commit = published(hub, a_release(variant="extra"), repo=repo).commit
    assert reader.read(f"{repo}@extra-v0.1.0").manifest.variant == "extra"
    with pytest.raises(BadRelease, match="it holds demo, extra; name the variant"):
        reader.read(f"{repo}@{commit}")
    assert reader.read(f"{repo}@{commit}", expected=Expected(variant="demo")).manifest.variant == "demo"


def test_a_branch_is_read_and_not_remembered(
    fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader, registry: TagRegistry
) -> None:
    published(hub, a_release(), repo=repo)
    assert reader.read(f"{repo}@main").revision == "main"
    assert registry.all() == []


@pytest.mark.parametrize("revision", ["demo-v9.9.9", "0" * 40])
def test_a_revision_that_is_not_there_is_told(fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader, revision: str) -> None:
    published(hub, a_release(), repo=repo)
    with pytest.raises(HubMissing, match=repo):
        reader.read(f"{repo}@{revision}")


def test_a_tag_that_is_not_there_is_told_with_those_that_are(fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader) -> None:
    sha = published(hub, a_release(), repo=repo).commit
    for tag in ("demo-v0.10.0", "demo-v0.9.0", "base-v1.0.0", "v1", "old", "older"):
        hub.tag(repo, tag=tag, sha=sha, message="")
    there = "has no tag 'demo-v9.9.9'; it has demo-v0.10.0, demo-v0.9.0, demo-v0.1.0, base-v1.0.0, v1 and 2 more."
    with pytest.raises(HubMissing, match=re.escape(there)):
        reader.read(f"{repo}@demo-v9.9.9")
    assert repository_problems(hub, repo, tag="demo-v9.9.9", examine=lambda folder: []) == [f"{repo} {there}"]


def test_a_hidden_repository_is_told(
    fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(hub, a_release(), repo=repo)
    monkeypatch.setenv("HF_TOKEN", READER)
    with pytest.raises(HubMissing, match="check the name, and that the token has access"):
        reader.read(f"{repo}@demo-v0.1.0")


def test_whoever_lacks_access_to_a_gated_repository_is_told_where_to_ask(
    fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader
) -> None:
    published(hub, a_release(), repo=repo)
    fake.faults.add(Fault("refs", status=403, headers={"X-Error-Code": "GatedRepo"}))
    with pytest.raises(
        HubDenied, match=rf"its owner gives access by name \(403\); ask for access at http.*/datasets/{repo}\.$"
    ):
        reader.read(f"{repo}@demo-v0.1.0")


def test_a_tag_whose_release_has_another_version_is_refused(fake: FakeHub, hub: Hub, repo: str, reader: ReleaseReader) -> None:
    published(hub, a_release(), repo=repo)
    fake.repos[repo].git.tag("demo-v7.0.0", sha=fake.repos[repo].git.log()[0], message="")
    with pytest.raises(BadRelease, match=r"holds version 0\.1\.0 of demo"):
        reader.read(f"{repo}@demo-v7.0.0")


@pytest.mark.parametrize("source", ["nowhere", "lab/data", "a/b/c@v1", "@v1"])
def test_what_is_neither_folder_nor_release_is_told(reader: ReleaseReader, source: str) -> None:
    with pytest.raises(HubError, match=r"OWNER/NAME@TAG"):
        reader.read(source)
