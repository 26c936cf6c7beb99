"""What a publisher may not or will not write, and what it says of that."""

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from assets.recipe.recipe import TAKEN
from assets.records.base import ItemRecord
from dataset_card.errors import HubDenied, HubError, PublishRefused, UnfitRelease
from dataset_card.hub.layout import TABLES, VERSIONS
from dataset_card.hub.plan import PublishRequest, TagConflict
from dataset_card.hub.port import Hub
from dataset_card.hub.publish import Publisher
from dataset_card.hub.tag_registry import TagRegistry
from dataset_card.release.manifest import CARD, LICENSE, MANIFEST, RECIPE, read_manifest
from pipelines.benchmarks import BENCHMARKS, BenchmarkEntry, format_of
from tests.support.hub_server.releases import a_release, commits, published, tags
from tests.support.hub_server.state import READER, FakeHub


def test_no_variant_is_called_like_what_stands_beside_the_variants() -> None:
    assert {TABLES, VERSIONS, CARD, LICENSE} == TAKEN


def test_a_card_that_somebody_wrote_is_not_overwritten(fake: FakeHub, hub: Hub, repo: str) -> None:
    git = fake.make(repo).git
    git.commit("refs/heads/main", base=git.resolve("main"), adds={"README.md": b"# Mine\n"}, deletes=(), message="mine")
    with pytest.raises(PublishRefused, match=r"README\.md that no release wrote"):
        published(hub, a_release(), repo=repo)
    assert commits(fake, repo) == 1


def test_other_content_under_a_published_version_is_refused(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(), repo=repo)
    with pytest.raises(TagConflict, match="choose a higher one"):
        published(hub, a_release(users=3), repo=repo)
    assert commits(fake, repo) == 1


def test_an_older_version_does_not_set_main_back(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(version="0.10.0"), repo=repo)
    with pytest.raises(PublishRefused, match=r"already has demo 0\.10\.0, which is newer than 0\.9\.0"):
        published(hub, a_release(version="0.9.0", users=3), repo=repo)
    assert commits(fake, repo) == 1


def test_a_branch_with_the_name_of_the_tag_is_refused(fake: FakeHub, hub: Hub, repo: str) -> None:
    fake.make(repo).git.git("branch", "demo-v0.1.0", "main")
    with pytest.raises(TagConflict, match="branch named demo-v0"):
        published(hub, a_release(), repo=repo)
    assert commits(fake, repo) == 0


def test_a_tag_that_was_deleted_cannot_come_back_with_other_content(
    fake: FakeHub, hub: Hub, repo: str, registry: TagRegistry
) -> None:
    published(hub, a_release(), repo=repo, registry=registry)
    fake.repos[repo].git.git("tag", "-d", "demo-v0.1.0")
    with pytest.raises(TagConflict, match="was published in"):
        published(hub, a_release(users=3), repo=repo, registry=registry)


@pytest.mark.parametrize("token", [READER, "hf_WrongWrongWrongWrong", None])
def test_who_may_not_write_is_told_to_log_in(
    fake: FakeHub, hub: Hub, repo: str, monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    fake.make(repo, private=False)
    monkeypatch.setenv("HF_TOKEN", token) if token else monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(HubDenied, match="hf auth login") as caught:
        published(hub, a_release(), repo=repo)
    assert token is None or token not in str(caught.value)
    assert commits(fake, repo) == 0


def test_somebody_elses_hidden_repository_is_told_as_such(fake: FakeHub, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.make("other/hidden")
    with pytest.raises(HubDenied, match="other/hidden exists, but this token has no access to it"):
        published(hub, a_release(), repo="other/hidden")


def test_a_damaged_release_is_not_sent(fake: FakeHub, hub: Hub, repo: str, tmp_path: Path) -> None:
    folder = shutil.copytree(a_release().folder, tmp_path / "damaged")
    (folder / "recipe.yaml").write_text("seed: 43\n")
    with pytest.raises(UnfitRelease, match=r"not whole: recipe\.yaml has"):
        Publisher(hub, format_of=format_of).publish(PublishRequest(folder, repo))
    assert not fake.asked


@pytest.mark.parametrize("repo_name", ["demo", "a/b/c", "https://x/y", "../x", "lab/a--b"])
def test_a_bad_name_of_a_repository_is_refused(hub: Hub, repo_name: str) -> None:
    with pytest.raises(HubError, match="give OWNER/NAME"):
        published(hub, a_release(), repo=repo_name)


def release_with_recipe(place: Path, change: Callable[[str], str]) -> Path:
    """A release whose recipe is another, with digests that follow."""
    folder = Path(shutil.copytree(a_release().folder, place / "demo" / "0.1.0"))
    changed = change((folder / RECIPE).read_text(encoding="utf-8")).encode()
    (folder / RECIPE).write_bytes(changed)
    manifest = read_manifest(folder)
    facts = {"bytes": len(changed), "sha256": hashlib.sha256(changed).hexdigest()}
    files = tuple(file.model_copy(update=facts) if file.path == RECIPE else file for file in manifest.files)
    body = manifest.model_copy(update={"files": files})
    body = body.model_copy(update={"digest": body.release_digest()})
    (folder / MANIFEST).write_text(body.model_dump_json(), encoding="utf-8")
    return folder


def other_periods(recipe: str) -> str:
    return re.sub(r"^num_periods: \d+$", "num_periods: 7", recipe, flags=re.MULTILINE)


def without_fields(_: str) -> str:
    return "[]\n"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (other_periods, "the recipe says 8 periods for each user, and 2 users have"),
        (without_fields, "recipe.yaml cannot be read: it must map field names to values."),
    ],
)
def test_a_release_whose_recipe_is_not_that_of_its_rows_is_refused(
    fake: FakeHub, hub: Hub, repo: str, tmp_path: Path, change: Callable[[str], str], sentence: str
) -> None:
    folder = release_with_recipe(tmp_path, change)
    with pytest.raises(UnfitRelease, match=re.escape(sentence)):
        Publisher(hub, format_of=format_of).publish(PublishRequest(folder, repo))
    assert repo not in fake.repos


def test_users_that_another_variant_has_are_refused_unless_a_recipe_says_that_they_are_derived(
    fake: FakeHub, hub: Hub, repo: str
) -> None:
    published(hub, a_release(), repo=repo)
    with pytest.raises(PublishRefused, match="2 of the 2 items of extra ask the same as items of demo, which"):
        published(hub, a_release(variant="extra", derived_from=""), repo=repo)
    assert commits(fake, repo) == 1
    published(hub, a_release(variant="extra"), repo=repo)
    published(hub, a_release(version="1.0.0", users=3), repo=repo)
    assert set(tags(fake, repo)) == {"demo-v0.1.0", "demo-v1.0.0", "extra-v0.1.0"}


@pytest.mark.parametrize("entry", [BENCHMARKS[name] for name in BENCHMARKS], ids=list(BENCHMARKS))
def test_every_benchmark_says_which_texts_are_an_item_s_own(entry: BenchmarkEntry) -> None:
    assert entry.benchmark.final.record.own_texts is not ItemRecord.own_texts
