"""The Hub as the publisher and the reader need it: a port, what comes back from it, and how it fails."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

from dataset_card.release.digests import file_sha256

MAIN = "main"
CHUNK = 1 << 20  # bytes at once, so that no file has to fit into memory
Visibility = Literal["private", "gated", "public"]


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
        """Return True when the repository has these very bytes."""
        if remote is None or remote.size != self.size:
            return False
        # The length tells which digest the Hub gave: a sha256 has 64 digits, a sha1 40.
        return remote.digest == (self._sha256 if len(remote.digest) == 64 else self._git_sha1)

    @cached_property
    def _sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest() if isinstance(self.content, bytes) else file_sha256(self.content)

    @cached_property
    def _git_sha1(self) -> str:
        # Git's name for a blob, which the Hub gives for files that it keeps in git itself; it guards no secret.
        digest = hashlib.sha1(f"blob {self.size}\0".encode(), usedforsecurity=False)
        if isinstance(self.content, bytes):
            digest.update(self.content)
            return digest.hexdigest()
        with self.content.open("rb") as stream:
            for chunk in iter(lambda: stream.read(CHUNK), b""):
                digest.update(chunk)
        return digest.hexdigest()


@dataclass(frozen=True)
class RepoState:
    """The commit and the visibility of a repository at one revision."""

    sha: str
    visibility: Visibility


@dataclass(frozen=True)
class Refs:
    """Names of branches and tags."""

    branches: frozenset[str]
    tags: frozenset[str]


@dataclass(frozen=True)
class TreeChange:
    """The changes of a commit to a tree. `new` are those of the `adds` whose path is not there yet."""

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

    def tag(self, repo: str, *, tag: str, sha: str, message: str) -> None: ...

    def set_visibility(self, repo: str, *, visibility: Visibility) -> None: ...
