"""The Hub as the publisher and the reader need it: a port, what comes back from it, and how it fails."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

from dataset_card.release.digests import file_digest

MAIN = "main"
CHUNK = 1 << 20
Visibility = Literal["private", "gated", "public"]


class HubError(Exception):
    """Something the Hub did or holds that stops the work; the message is one sentence, free of secrets."""


class HubDenied(HubError):
    """The token, or its absence, does not allow this."""


class HubMissing(HubError):
    """No such repository, revision or file, or none that this token may see."""


class HubUnreachable(HubError):
    """No answer after several tries, or working offline. Nothing was changed by what was asked."""


class HubStale(HubError):
    """Something was there or had moved before this write, which therefore did nothing."""


class UnfitRelease(HubError):
    """The release, or the name it would get, cannot be published as it is."""


class PublishRefused(HubError):
    """The repository is not one that this release may be added to, or not under this version, or not as it is."""


class HubUncertain(HubError):
    """A write whose outcome is unknown: look again before doing anything else. `wait` is in seconds."""

    def __init__(self, message: str, *, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True)
class RemoteFile:
    """A file of a commit. `digest` is the sha256 of a large file's bytes, or else git's sha1 of the blob, in hex."""

    path: str
    size: int
    digest: str


@dataclass(frozen=True)
class LocalFile:
    """A file as it shall be in the repository: its path there, and its bytes or where they are."""

    path: str
    content: Path | bytes

    @cached_property
    def size(self) -> int:
        """The number of bytes, read from the disk for a path."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    def is_at(self, remote: RemoteFile | None) -> bool:
        """Whether the repository has these very bytes."""
        if remote is None or remote.size != self.size:
            return False
        return remote.digest == (self._sha256 if len(remote.digest) == 64 else self._git_sha1)

    @cached_property
    def _sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest() if isinstance(self.content, bytes) else file_digest(self.content)

    @cached_property
    def _git_sha1(self) -> str:
        # Git's name for a blob, which the Hub gives for files that it keeps in git itself; it guards no secret.
        digest = hashlib.sha1(f"blob {self.size}\0".encode(), usedforsecurity=False)
        if isinstance(self.content, bytes):
            digest.update(self.content)
            return digest.hexdigest()
        with self.content.open("rb") as stream:
            while chunk := stream.read(CHUNK):
                digest.update(chunk)
        return digest.hexdigest()


@dataclass(frozen=True)
class RepoState:
    """The commit and the visibility of a repository at one revision."""

    sha: str
    visibility: Visibility


@dataclass(frozen=True)
class Refs:
    """Names of branches and tags; pull requests by number with the commit that each proposes."""

    branches: frozenset[str]
    tags: frozenset[str]
    pull_requests: Mapping[int, str] = field(default_factory=dict[int, str])


@dataclass(frozen=True)
class TreeChange:
    """What a commit would do to a tree. `new` are those of the `adds` whose path is not there yet."""

    adds: Sequence[LocalFile]
    deletes: Sequence[str]
    new: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.adds or self.deletes)


@dataclass(frozen=True)
class CommitMessage:
    """`title` is the first line, `description` all that follows it."""

    title: str
    description: str


class Hub(Protocol):
    """Dataset repositories on a Hub. Reading is tried again inside; each write is sent once.

    Reading raises HubDenied, HubMissing, HubUnreachable or HubError; writing raises also HubStale, when it did nothing
    because something else was there first, and HubUncertain, when it may or may not have happened.
    """

    @property
    def endpoint(self) -> str: ...

    def repo_state(self, repo: str, *, revision: str = MAIN) -> RepoState | None:
        """None: there is no such repository or revision, or it is hidden from this token."""
        ...

    def check_access(self, repo: str, *, write: bool) -> None:
        """Raise HubDenied unless this token may read, or write."""
        ...

    def refs(self, repo: str) -> Refs: ...

    def files(self, repo: str, *, sha: str) -> dict[str, RemoteFile]:
        """All files of a commit by path."""
        ...

    def read(self, repo: str, *, sha: str, path: str) -> bytes:
        """One small file of a commit."""
        ...

    def download(self, repo: str, *, sha: str, patterns: Sequence[str], force: bool) -> Path:
        """A folder with the commit's files that match; `force`: do not trust what an earlier download left."""
        ...

    def create(self, repo: str) -> None:
        """Create a private repository without files."""
        ...

    def commit(self, repo: str, *, change: TreeChange, message: CommitMessage, parent: str) -> str:
        """One commit onto main, which has to be at `parent`; its sha."""
        ...

    def propose(self, repo: str, *, change: TreeChange, message: CommitMessage, parent: str) -> int:
        """One commit as a new pull request; its number."""
        ...

    def tag(self, repo: str, *, tag: str, sha: str, message: str) -> None: ...

    def set_visibility(self, repo: str, *, visibility: Visibility) -> None: ...
