"""Publishers that meet others, or die."""

import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from dataset_card.hub import Hub, HubError
from dataset_card.hub_record import ReleaseRecords
from tests.hub.child import publish_in_child
from tests.hub.faults import Fault
from tests.hub.shelf import a_release, assert_holds, commits, held_files, published, tags
from tests.hub.state import FakeHub

WRITES = ("create", "validate-yaml", "preupload", "batch", "put", "verify", "commit", "tag", "settings")


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    """Children that have imported everything already, so that a killed publisher costs little."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.hub.child"])
    return context


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("route", WRITES)
def test_a_publisher_killed_at_any_step_leaves_nothing_half_done(
    fake: FakeHub, hub: Hub, repo: str, tmp_path: Path, processes: ForkServerContext, route: str, moment: str
) -> None:
    release = a_release()
    child = processes.Process(target=publish_in_child, args=(str(release.folder), repo, str(tmp_path)))
    kill = lambda: os.kill(child.pid or 0, signal.SIGKILL)  # noqa: E731
    fake.faults.add(Fault(route, "before" if moment == "before" else "after", act=kill))
    child.start()
    child.join(20)
    assert child.exitcode == -signal.SIGKILL
    if repo in fake.repos:
        assert len(held_files(fake, repo)) == 1 or assert_holds(fake, repo, release, revision="main") is None
        assert "demo-v0.1.0" not in tags(fake, repo) or assert_holds(fake, repo, release) is None
    published(hub, release, repo=repo, visibility="public", records=ReleaseRecords(tmp_path / "releases.json"))
    assert_holds(fake, repo, release)
    assert (commits(fake, repo), len(tags(fake, repo)), fake.repos[repo].private) == (1, 1, False)


def test_two_publishers_of_the_same_release_make_one_commit_and_one_tag(fake: FakeHub, hub: Hub, repo: str) -> None:
    release = a_release()
    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(partial(published, hub, repo=repo), [release] * 4))
    assert len({one.commit for one in done}) == 1
    assert (commits(fake, repo), tags(fake, repo)) == (1, {"demo-v0.1.0": done[0].commit})


def test_publishers_of_several_variants_at_once_all_end_up_in_the_repository(fake: FakeHub, hub: Hub, repo: str) -> None:
    releases = [a_release(variant=variant) for variant in ("demo", "base", "extra")]
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(partial(published, hub, repo=repo), releases))
    for release in releases:
        assert_holds(fake, repo, release)
        assert_holds(fake, repo, release, revision="main")
    assert commits(fake, repo) == 3


@pytest.mark.parametrize("attempt", range(3))
def test_of_two_versions_at_once_the_later_wins_and_the_earlier_is_right_or_absent(
    fake: FakeHub, hub: Hub, repo: str, attempt: int
) -> None:
    old, new = a_release(), a_release(version="0.2.0", users=1)
    fake.make(repo)
    publish = partial(published, hub, repo=repo)
    with ThreadPoolExecutor(2) as threads:
        tries = [threads.submit(publish, release) for release in ((old, new) if attempt % 2 else (new, old))]
    refusals = [str(error) for error in (one.exception() for one in tries) if error]
    assert all("has demo 0.2.0, which is newer than 0.1.0" in refusal for refusal in refusals)
    assert_holds(fake, repo, new)
    assert_holds(fake, repo, new, revision="main")
    if "demo-v0.1.0" in tags(fake, repo):
        assert_holds(fake, repo, old)


def test_a_commit_that_comes_between_is_kept(fake: FakeHub, hub: Hub, repo: str) -> None:
    git = fake.make(repo).git

    def somebody_else() -> None:
        git.commit("refs/heads/main", base=git.resolve("main"), adds={"notes.txt": b"mine"}, deletes=(), message="x")

    fake.faults.add(Fault("commit", "before", act=somebody_else))
    published(hub, a_release(), repo=repo)
    assert held_files(fake, repo)["notes.txt"] == b"mine"
    assert_holds(fake, repo, a_release())
    assert fake.asked.count("commit") == 2


def test_a_tag_that_comes_between_with_other_content_is_a_conflict(fake: FakeHub, hub: Hub, repo: str) -> None:
    git = fake.make(repo).git
    fake.faults.add(Fault("tag", "before", act=lambda: git.tag("demo-v0.1.0", sha=git.log()[-1], message="")))
    with pytest.raises(HubError, match=r"already has demo-v0\.1\.0 with other content"):
        published(hub, a_release(), repo=repo)
    assert tags(fake, repo) == {"demo-v0.1.0": git.log()[-1]}
