"""What a publisher writes, in which order, and for whom to see."""

import json
from pathlib import Path

import yaml

from dataset_card.hub.plan import PublishRequest
from dataset_card.hub.port import Hub
from dataset_card.hub.publish import Publisher
from dataset_card.hub.tag_registry import TagRegistry
from dataset_card.release_store.folder import write_release
from pipelines.benchmarks import format_of
from tests.support.hub_server.releases import a_release, assert_holds, commit_by_hand, commits, held_files, published, tags
from tests.support.hub_server.state import FakeHub
from tests.support.releases import content, report


def test_a_release_becomes_one_commit_with_its_tag_in_a_private_repository(fake: FakeHub, hub: Hub, repo: str) -> None:
    release = a_release()
    done = published(hub, release, repo=repo)
    assert_holds(fake, repo, release)
    assert (commits(fake, repo), done.created, fake.repos[repo].private) == (1, True, True)
    assert tags(fake, repo) == {"demo-v0.1.0": done.commit}
    assert fake.repos[repo].git.message("main") == f"Release demo 0.1.0\n\nrelease-digest: sha256:{release.digest}"
    assert fake.asked.index("tag") > fake.asked.index("commit")


def test_publishing_again_writes_nothing(fake: FakeHub, hub: Hub, repo: str) -> None:
    first = published(hub, a_release(), repo=repo)
    fake.asked.clear()
    again = published(hub, a_release(), repo=repo)
    assert (again.commit, again.created) == (first.commit, False)
    assert not {"create", "preupload", "put", "commit", "tag", "settings"} & set(fake.asked)


def test_a_later_version_replaces_files_on_main_and_leaves_the_tag_of_the_earlier(fake: FakeHub, hub: Hub, repo: str) -> None:
    old, new = a_release(), a_release(version="0.2.0", users=3)
    published(hub, old, repo=repo)
    published(hub, new, repo=repo)
    assert_holds(fake, repo, old)
    assert_holds(fake, repo, new)
    assert (commits(fake, repo), set(tags(fake, repo))) == (2, {"demo-v0.1.0", "demo-v0.2.0"})


def test_variants_share_a_repository_and_its_card_loads_all_of_them(fake: FakeHub, hub: Hub, repo: str) -> None:
    extra, base = a_release(variant="extra"), a_release(variant="base", users=3)
    published(hub, extra, repo=repo)
    published(hub, base, repo=repo)
    assert_holds(fake, repo, extra, revision="base-v0.1.0")
    assert_holds(fake, repo, base)
    text = held_files(fake, repo)["README.md"].decode()
    header = yaml.safe_load(text.split("---\n")[1])
    names = [one["config_name"] for one in header["configs"]]
    assert names[0] == "base"
    assert {"base_questions", "extra", "extra_questions"} <= set(names)
    assert [one["config_name"] for one in header["configs"] if one.get("default")] == ["base"]
    assert "[extra](extra/README.md) | `extra-v0.1.0` |" in text


def test_the_card_on_top_names_files_where_they_lie(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(), repo=repo)
    text = held_files(fake, repo)["README.md"].decode()
    assert "`demo/recipe.yaml`" in text
    assert "| `recipe.yaml`" not in text
    assert 'revision="demo-v0.1.0"' in text


def test_files_that_a_version_no_longer_has_are_deleted_and_those_of_others_kept(
    fake: FakeHub, hub: Hub, repo: str, tmp_path: Path
) -> None:
    published(hub, write_release(content(report=report()), root=tmp_path), repo=repo)
    strangers = {"tables/demo/notes.txt": b"", "paper.pdf": b"%PDF", "demonstration/notes.txt": b"mine"}
    commit_by_hand(fake, repo, strangers)
    assert "demo/quality_report.html" in held_files(fake, repo)
    published(hub, a_release(version="1.0.0", users=1), repo=repo)
    held = held_files(fake, repo)
    assert "demo/quality_report.html" not in held
    assert {path: held[path] for path in strangers} == strangers


def test_gating_text_that_was_set_on_the_page_survives(fake: FakeHub, hub: Hub, repo: str) -> None:
    fake.make(repo)
    git = fake.repos[repo].git
    by_hand = {"README.md": b"---\nextra_gated_prompt: Be kind.\nlicense: mit\n---\n"}
    git.commit("refs/heads/main", base=git.resolve("main"), adds=by_hand, deletes=(), message="on the page")
    published(hub, a_release(), repo=repo)
    header = yaml.safe_load(held_files(fake, repo)["README.md"].decode().split("---\n")[1])
    assert (header["extra_gated_prompt"], header["license"]) == ("Be kind.", "cc-by-4.0")


def test_a_record_tells_repository_tag_commit_and_digest(fake: FakeHub, hub: Hub, repo: str, registry: TagRegistry) -> None:
    release = a_release()
    done = published(hub, release, repo=repo, registry=registry)
    line = {"endpoint": fake.url, "repo": repo, "tag": "demo-v0.1.0", "commit": done.commit, "digest": release.digest}
    assert json.loads(registry.path.read_text()) == [line]


def test_a_dry_run_tells_the_change_and_writes_nothing(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(), repo=repo)
    before, fake.asked = (fake.repos[repo].git.refs(), held_files(fake, repo)), []
    later = a_release(version="1.0.0", users=1)
    publisher = Publisher(hub, format_of=format_of)
    planner = publisher.planner(PublishRequest(later.folder, repo, visibility="public"))
    plan = publisher.plan(planner)
    assert planner.release.tag == "demo-v1.0.0"
    assert "demo/manifest.json" in {file.path for file in plan.change.adds}
    assert (plan.tagged, plan.change.deletes, plan.change.new) == (None, [], frozenset())
    assert (fake.repos[repo].git.refs(), held_files(fake, repo)) == before
    assert not {"create", "settings", "preupload", "batch", "put", "commit", "tag"} & set(fake.asked)


def test_a_dry_run_without_a_repository_makes_none(fake: FakeHub, hub: Hub, repo: str) -> None:
    publisher = Publisher(hub, format_of=format_of)
    plan = publisher.plan(publisher.planner(PublishRequest(a_release().folder, repo)))
    assert plan.state is None
    assert len(plan.change.new) == len(plan.change.adds) > 10
    assert not fake.repos


def test_a_repository_is_opened_last_and_closed_first(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(), repo=repo, visibility="public")
    assert not fake.repos[repo].private
    assert fake.asked.index("settings") > fake.asked.index("tag")
    fake.asked.clear()
    published(hub, a_release(version="1.0.0", users=1), repo=repo, visibility="private")
    assert fake.repos[repo].private
    assert fake.asked.index("settings") < fake.asked.index("commit")


def test_a_gated_repository_is_public_and_asks_for_names(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(), repo=repo, visibility="gated")
    assert (fake.repos[repo].private, fake.repos[repo].gated) == (False, "auto")
    fake.asked.clear()
    published(hub, a_release(), repo=repo, visibility="gated")
    assert "settings" not in fake.asked
