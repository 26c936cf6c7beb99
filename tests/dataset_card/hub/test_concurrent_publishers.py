"""Publishers that meet others, or die."""

import multiprocessing
import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dataset_card.errors import HubError, PublishRefused
from dataset_card.hub.port import Hub
from dataset_card.hub.publish import Published
from dataset_card.hub.tag_registry import TagRegistry
from dataset_card.release_store.folder import Release
from tests.support.cells import cells
from tests.support.hub_server.faults import Fault
from tests.support.hub_server.publisher_process import publish_in_child
from tests.support.hub_server.releases import a_release, assert_holds, commits, held_files, published, tags
from tests.support.hub_server.state import FakeHub
from tests.support.waiting import LONG, wait_until

WRITES = ("create", "validate-yaml", "preupload", "batch", "put", "verify", "commit", "tag", "settings")


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    """Children that have imported everything already, so that a killed publisher costs little."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.hub_server.publisher_process", "datasets"])
    return context


@dataclass(frozen=True)
class Relay:
    """A publisher in a process of its own, which tests kill, and the one here who takes over its repository and records."""

    hub: Hub
    fake: FakeHub
    repo: str
    place: Path
    processes: ForkServerContext

    def first(self, release: Release) -> ForkServerProcess:
        return self.processes.Process(target=publish_in_child, args=(str(release.folder), self.repo, str(self.place)))

    def wait_for(self, child: ForkServerProcess) -> None:
        """Wait until the child has ended, and the Hub with what the child had asked of it."""
        child.join(3 * LONG)
        httpx2.get(self.fake.url, timeout=LONG)  # it is read after all that was sent before
        wait_until(lambda: not self.fake.under_way)

    def second(self, release: Release, **order: Any) -> Published:
        return published(self.hub, release, repo=self.repo, registry=TagRegistry(self.place / "releases.json"), **order)


@pytest.fixture
def relay(hub: Hub, fake: FakeHub, repo: str, tmp_path: Path, processes: ForkServerContext) -> Relay:
    return Relay(hub, fake, repo, tmp_path, processes)


EVERY = [(route, moment) for route in WRITES for moment in ("before", "after")]


@pytest.mark.parametrize(("route", "moment"), cells([("put", "before"), ("commit", "after"), ("tag", "before")], EVERY))
def test_a_publisher_killed_at_any_step_leaves_nothing_half_done(
    fake: FakeHub, repo: str, relay: Relay, route: str, moment: str
) -> None:
    release = a_release()
    child = relay.first(release)
    kill = lambda: os.kill(child.pid or 0, signal.SIGKILL)  # noqa: E731
    fake.faults.add(Fault(route, "before" if moment == "before" else "after", act=kill))
    child.start()
    relay.wait_for(child)
    assert child.exitcode == -signal.SIGKILL
    if repo in fake.repos:
        assert len(held_files(fake, repo)) == 1 or assert_holds(fake, repo, release, revision="main") is None
        assert "demo-v0.1.0" not in tags(fake, repo) or assert_holds(fake, repo, release) is None
    relay.second(release, visibility="public")
    assert_holds(fake, repo, release)
    assert (commits(fake, repo), len(tags(fake, repo)), fake.repos[repo].private) == (1, 1, False)


@pytest.mark.parametrize("seed", cells(range(1), range(6)))
def test_a_publisher_killed_at_any_moment_leaves_the_old_or_the_new_release(
    fake: FakeHub, hub: Hub, repo: str, relay: Relay, seed: int
) -> None:
    old, new = a_release(), a_release(version="1.0.0", users=1)
    published(hub, old, repo=repo)
    at_first = held_files(fake, repo)
    fake.asked.clear()
    child = relay.first(new)
    child.start()
    deadly = random.Random(seed).randint(1, 40)
    while child.is_alive() and len(fake.asked) < deadly:
        time.sleep(0.0005)
    child.kill()
    relay.wait_for(child)
    is_new = held_files(fake, repo) != at_first
    assert_holds(fake, repo, new if is_new else old, revision="main")
    assert "demo-v1.0.0" not in tags(fake, repo) or assert_holds(fake, repo, new) is None
    relay.second(new)
    assert_holds(fake, repo, old)
    assert_holds(fake, repo, new)
    assert (commits(fake, repo), len(tags(fake, repo))) == (2, 2)


@pytest.mark.parametrize("seed", cells(range(3), range(10)))
def test_two_publishers_in_a_storm_end_with_whole_releases(fake: FakeHub, hub: Hub, repo: str, seed: int) -> None:
    """The same release, or two versions, or two variants, at once, while requests fail."""
    old, chance = a_release(), random.Random(seed)
    pair = chance.choice([(old, old), (old, a_release(version="1.0.0", users=1)), (old, a_release(variant="extra"))])
    fake.make(repo)
    for route in chance.choices([*WRITES, "info", "refs", "tree"], k=4):
        fake.faults.add(Fault(route, chance.choice(["status", "drop", "lost"]), times=chance.randint(1, 3)))
    with ThreadPoolExecutor(2) as threads:
        tries = [threads.submit(published, hub, release, repo=repo) for release in pair]
    assert all(isinstance(one.exception(), HubError | None) for one in tries)
    fake.faults.clear()
    for release in pair:
        with suppress(PublishRefused):  # the earlier of two versions came too late
            published(hub, release, repo=repo)
            assert_holds(fake, repo, release)
    assert_holds(fake, repo, pair[1], revision="main")
    assert len(tags(fake, repo)) <= commits(fake, repo) <= len({release.digest for release in pair})


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


@pytest.mark.parametrize("attempt", cells(range(2), range(3)))
def test_of_two_versions_at_once_the_later_wins_and_the_earlier_is_right_or_absent(
    fake: FakeHub, hub: Hub, repo: str, attempt: int
) -> None:
    old, new = a_release(), a_release(version="1.0.0", users=1)
    fake.make(repo)
    publish = partial(published, hub, repo=repo)
    with ThreadPoolExecutor(2) as threads:
        tries = [threads.submit(publish, release) for release in ((old, new) if attempt % 2 else (new, old))]
    refusals = [str(error) for error in (one.exception() for one in tries) if error]
    assert all("has demo 1.0.0, which is newer than 0.1.0" in refusal for refusal in refusals)
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
