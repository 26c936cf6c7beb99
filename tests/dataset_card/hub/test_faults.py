"""What a publisher leaves behind when the Hub misbehaves: always the old or the new release whole, and one commit."""

import random
from contextlib import suppress

import pytest

from dataset_card.errors import HubError
from dataset_card.hub.port import Hub
from dataset_card.hub.tag_registry import TagRegistry
from pipelines.opening.hub import open_hub
from pipelines.resources.hub.settings import HubSettings
from tests.support.cells import cells
from tests.support.hub_server.faults import Fault
from tests.support.hub_server.releases import a_release, assert_holds, commits, held_files, published, tags
from tests.support.hub_server.state import FakeHub
from tests.support.waiting import LONG

ROUTES = (
    "info",
    "auth-check",
    "refs",
    "create",
    "validate-yaml",
    "preupload",
    "batch",
    "put",
    "verify",
    "commit",
    "tree",
    "resolve",
    "tag",
    "settings",
)
LIMITED = {"retry-after": "0"}


def faults_of(route: str) -> dict[str, Fault]:
    """A fault of every kind on this route, by name."""
    return {
        "503": Fault(route),
        "429": Fault(route, status=429, headers=LIMITED),
        "html": Fault(route, status=502, body="<html>Bad gateway</html>"),
        "drop": Fault(route, "drop"),
        "lost": Fault(route, "lost"),
    }


KINDS = tuple(faults_of(""))
EVERY = [(route, kind) for route in ROUTES for kind in KINDS]
# Each route once, and each kind about as often; a reply that is lost matters most where something is written.
FEW = [*zip(ROUTES, KINDS * 3, strict=False), ("create", "lost"), ("tag", "lost")]


@pytest.mark.parametrize(("route", "kind"), cells(FEW, EVERY))
def test_one_fault_anywhere_costs_nothing(fake: FakeHub, hub: Hub, repo: str, route: str, kind: str) -> None:
    other, release = a_release(variant="extra"), a_release()
    if route == "resolve":
        published(hub, other, repo=repo)
    before = commits(fake, repo) if repo in fake.repos else 0
    fake.faults.add(faults_of(route)[kind])
    done = published(hub, release, repo=repo, visibility="public")
    assert_holds(fake, repo, release)
    assert commits(fake, repo) == before + 1
    assert tags(fake, repo)["demo-v0.1.0"] == done.commit
    assert not fake.repos[repo].private


@pytest.mark.parametrize("seed", cells(range(3), range(24)))
def test_a_stormy_hub_holds_the_old_or_the_new_release_and_a_rerun_ends_it(
    fake: FakeHub, hub: Hub, repo: str, registry: TagRegistry, seed: int
) -> None:
    old, new = a_release(), a_release(version="1.0.0", users=1)
    published(hub, old, repo=repo, registry=registry)
    at_first = held_files(fake, repo)
    chance = random.Random(seed)
    for _ in range(chance.randint(2, 10)):
        fault = faults_of(chance.choice(ROUTES))[chance.choice(["503", "429", "html", "drop", "lost"])]
        fault.times, fault.skip = chance.randint(1, 9), chance.randint(0, 2)
        fake.faults.add(fault)
    with suppress(HubError):
        published(hub, new, repo=repo, registry=registry)
    is_new = held_files(fake, repo) != at_first
    assert_holds(fake, repo, new if is_new else old, revision="main")
    assert set(tags(fake, repo)) <= {"demo-v0.1.0", "demo-v1.0.0"}
    fake.faults.clear()
    published(hub, new, repo=repo, registry=registry)
    assert published(hub, new, repo=repo, registry=registry).created is False
    assert_holds(fake, repo, old)
    assert_holds(fake, repo, new)
    assert commits(fake, repo) == 2


@pytest.mark.parametrize("route", ["commit", "tag"])
def test_a_lost_reply_is_not_answered_with_a_second_write(fake: FakeHub, hub: Hub, repo: str, route: str) -> None:
    fake.faults.add(Fault(route, "lost"))
    done = published(hub, a_release(), repo=repo)
    assert (fake.asked.count(route), commits(fake, repo), tags(fake, repo)) == (1, 1, {"demo-v0.1.0": done.commit})


def test_a_hub_that_refuses_commits_for_good_is_told_in_one_sentence(fake: FakeHub, hub: Hub, repo: str) -> None:
    fake.faults.add(Fault("commit", times=99))
    with pytest.raises(HubError, match=rf"demo-v0\.1\.0 is not published in {repo} yet: .* 503.*; run it again to go on\.$"):
        published(hub, a_release(), repo=repo)
    assert (commits(fake, repo), tags(fake, repo)) == (0, {})


def test_an_expired_upload_address_is_not_taken_for_a_bad_token(fake: FakeHub, hub: Hub, repo: str) -> None:
    fake.faults.add(Fault("put", status=403, body="<Error><Code>AccessDenied</Code></Error>"))
    published(hub, a_release(), repo=repo)
    assert commits(fake, repo) == 1


def test_a_stalled_hub_is_given_up(fake: FakeHub, hub: Hub, repo: str) -> None:
    impatient = open_hub(HubSettings(tries=2, first_wait=0.001, timeout=0.1))
    fake.faults.add(Fault("refs", "stall", seconds=LONG, times=9))
    fake.make(repo)
    with pytest.raises(HubError, match="did not answer in time"):
        published(impatient, a_release(), repo=repo)


@pytest.mark.parametrize("headers", [{"retry-after": "7200"}, {"ratelimit": '"api";r=0;t=7199'}])
def test_a_wait_of_hours_is_told_and_not_waited(fake: FakeHub, hub: Hub, repo: str, headers: dict[str, str]) -> None:
    fake.faults.add(Fault("info", status=429, headers=headers))
    with pytest.raises(HubError, match="try again in 7200 seconds"):
        published(hub, a_release(), repo=repo)


def test_a_card_that_arrives_damaged_is_not_put_together(fake: FakeHub, hub: Hub, repo: str) -> None:
    published(hub, a_release(variant="extra"), repo=repo)
    fake.faults.add(Fault("resolve", "flip", times=99))
    with pytest.raises(HubError, match="arrived damaged"):
        published(hub, a_release(), repo=repo)
    assert commits(fake, repo) == 1


def test_a_proxy_that_leads_nowhere_is_named(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("HTTP_PROXY", "socks5://127.0.0.1:9")
    with pytest.raises(HubError, match="The variable HTTP_PROXY names a SOCKS proxy"):
        open_hub(HubSettings())
