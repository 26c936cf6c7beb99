"""Small releases to publish, what a published one has to look like, and what somebody else does to it."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from dataset_card.hub.plan import PublishRequest
from dataset_card.hub.port import Hub
from dataset_card.hub.publish import Published, Publisher
from dataset_card.hub.tag_registry import TagRegistry
from dataset_card.release.loadable import configuration_problems
from dataset_card.release_store.folder import Release, write_release
from pipelines.benchmarks import format_of
from tests.support import scenario
from tests.support.hub_server.git_store import git_sha1
from tests.support.hub_server.state import FakeHub
from tests.support.releases import content


@cache
def a_release(*, version: str = "0.1.0", variant: str = "demo", users: int = 2, derived_from: str | None = None) -> Release:
    """A release, made once for all tests, so copy what you damage. Other numbers of users are other content.

    All variants have the same users: those of `demo`, from which the others are derived where nothing else is said.
    """
    root = Path(tempfile.mkdtemp(prefix="releases-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    episodes = [scenario.episode(f"5f0c-user-{number:03}") for number in range(users)]
    if derived_from is None:
        derived_from = "" if variant == "demo" else "demo"
    changes: dict[str, Any] = {
        "recipe": scenario.recipe(variant=variant, num_users=users, derived_from=derived_from),
        "items": episodes,
        "gate_records": [],
    }
    release = write_release(content(**changes), root=root, version=version)
    # Loaded here, once: `datasets` empties the environment for a moment, in which another thread's publisher finds no token.
    assert not list(configuration_problems(release.folder, manifest=release.manifest))
    return release


def published(hub: Hub, release: Release, *, repo: str, registry: TagRegistry | None = None, **order: Any) -> Published:
    """Publish without waiting."""
    publisher = Publisher(hub, format_of=format_of, registry=registry, pause=lambda _: None)
    return publisher.publish(PublishRequest(folder=release.folder, repo=repo, **order))


def expected_files(release: Release) -> dict[str, bytes]:
    """Path in the repository to content, of the files that are the variant's own."""
    variant = release.manifest.variant
    found: dict[str, bytes] = {}
    for path in release.folder.rglob("*"):
        if path.is_file():
            name = path.relative_to(release.folder).as_posix()
            moved = name if name.startswith((f"{variant}/", f"tables/{variant}/")) else f"{variant}/{name}"
            found[moved] = path.read_bytes()
    return found


def held_files(fake: FakeHub, repo: str, *, revision: str = "main") -> dict[str, bytes]:
    """Path to content, of all files of a commit."""
    git = fake.repos[repo].git
    return {
        path: fake.stored(entry.sha256).read_bytes() if entry.sha256 else git.blob(entry.blob)
        for path, entry in git.files(revision).items()
    }


def assert_holds(fake: FakeHub, repo: str, release: Release, *, revision: str | None = None) -> None:
    """The release is at its tag (or revision), whole, with nothing else of its variant."""
    variant, git = release.manifest.variant, fake.repos[repo].git
    at = revision or f"{variant}-v{release.version}"
    held = held_files(fake, repo, revision=at)
    own = {path: content for path, content in held.items() if path.startswith((f"{variant}/", f"tables/{variant}/"))}
    assert own == expected_files(release)
    assert set(held) - set(own) >= {".gitattributes", "README.md", "LICENSE"}
    assert all(len(entry.blob) == len(git_sha1(b"")) for entry in git.files(at).values())


def commits(fake: FakeHub, repo: str) -> int:
    """Commits on main after the first one."""
    return len(fake.repos[repo].git.log()) - 1


def tags(fake: FakeHub, repo: str) -> dict[str, str]:
    """Tags and the commits they are at."""
    return {name.removeprefix("refs/tags/"): sha for name, sha in fake.repos[repo].git.refs().items() if "/tags/" in name}


def commit_by_hand(fake: FakeHub, repo: str, adds: dict[str, bytes], *deletes: str) -> str:
    """The name of a commit on main that no publisher made."""
    git = fake.repos[repo].git
    return git.commit("refs/heads/main", base=git.resolve("main"), adds=adds, deletes=deletes, message="by hand")


def move_tag(fake: FakeHub, repo: str, sha: str) -> None:
    """The tag of the release that `a_release` makes by itself, at another commit."""
    fake.repos[repo].git.git("tag", "-f", "-a", "-m", "moved", "demo-v0.1.0", sha)
