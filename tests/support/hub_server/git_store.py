"""Bare git repositories as the Hub keeps them: large files are pointers in git, and their bytes lie elsewhere."""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ATTRIBUTES = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"
LARGE = 10_000_000
READS = {"for-each-ref", "ls-tree", "cat-file", "log"}
IDENTITY = {f"GIT_{who}_{what}": "hub" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
CLEAN = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, **IDENTITY}


class Moved(Exception):
    """The reference is not where the caller believed."""


@dataclass(frozen=True)
class Entry:
    """A file of a commit; `sha256` is set for a large one, whose size is that of its bytes."""

    path: str
    blob: str
    size: int
    sha256: str | None


@dataclass
class GitRepo:
    """One repository."""

    folder: Path
    pointers: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    # Every commit ever made, with its files once they were asked for: a commit never changes.
    _refs: dict[str, str] | None = None
    _blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    _known: dict[str, dict[str, Entry] | None] = field(default_factory=dict[str, "dict[str, Entry] | None"])

    @classmethod
    def made(cls, folder: Path) -> "GitRepo":
        """With one commit, as on the Hub."""
        folder.mkdir(parents=True)
        repo = cls(folder)
        repo.git("init", "--quiet", "--bare", "--initial-branch=main", "--template=")
        repo.commit("refs/heads/main", base=None, adds={".gitattributes": ATTRIBUTES}, deletes=(), message="initial commit")
        return repo

    def git(self, *arguments: str, content: bytes | None = None, index: str | None = None) -> bytes:
        """Run git here; what was known of the references is forgotten unless the command only reads."""
        if arguments[0] not in READS:
            self._refs = None
        environment = {**CLEAN, **({"GIT_INDEX_FILE": index} if index else {})}
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(command, input=content, env=environment, check=True, capture_output=True).stdout

    def resolve(self, revision: str) -> str | None:
        """The commit of a full name, a branch, a tag or a sha; a branch wins over a tag."""
        refs = self.refs()
        names = (revision, f"refs/heads/{revision}", f"refs/tags/{revision}")
        found = next((refs[name] for name in names if name in refs), None)
        return found or (revision if revision in self._known else None)

    def refs(self) -> dict[str, str]:
        """Full names to commits; annotated tags are followed."""
        if self._refs is None:
            lines = self.git("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)").decode().splitlines()
            self._refs = {name: peeled[-1] for name, *peeled in (line.split() for line in lines)}
        return self._refs

    def log(self, revision: str = "main") -> list[str]:
        """Commits, newest first."""
        return self.git("log", "--format=%H", revision).decode().split()

    def message(self, revision: str) -> str:
        """A commit's message."""
        return self.git("log", "-1", "--format=%B", revision).decode().strip()

    def files(self, revision: str) -> dict[str, Entry]:
        """All files of a commit."""
        sha = self.resolve(revision) if revision not in self._known else revision
        assert sha is not None, revision
        listed = self._known.get(sha)
        if listed is None:
            listed = self._known[sha] = self._listed(sha)
        return listed

    def _listed(self, sha: str) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for line in self.git("ls-tree", "-r", "-l", "-z", sha).decode().split("\0"):
            if line:
                facts, _, path = line.partition("\t")
                _, _, blob, size = facts.split()
                sha256, real = self.pointers.get(blob, (None, int(size)))
                found[path] = Entry(path, blob, real, sha256)
        return found

    def blob(self, sha: str) -> bytes:
        """What git itself holds."""
        if sha not in self._blobs:
            self._blobs[sha] = self.git("cat-file", "blob", sha)
        return self._blobs[sha]

    def pointer(self, *, sha256: str, size: int) -> bytes:
        """The text that stands for a large file; it is recognized later."""
        text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()
        self.pointers[git_sha1(text)] = (sha256, size)
        return text

    def commit(self, ref: str, *, base: str | None, adds: Mapping[str, bytes], deletes: Sequence[str], message: str) -> str:
        """Commit onto `base` and move the reference there. Raises Moved when it points elsewhere."""
        with tempfile.TemporaryDirectory() as folder:
            index = f"{folder}/index"
            if base is not None:
                self.git("read-tree", base, index=index)
            blobs = self._stored(list(adds.values()), Path(folder))
            lines = [f"100644 {blob}\t{path}" for path, blob in zip(adds, blobs, strict=True)]
            lines.extend(f"0 {'0' * 40}\t{path}" for path in deletes)
            self.git("update-index", "--index-info", content="".join(f"{line}\n" for line in lines).encode(), index=index)
            tree = self.git("write-tree", index=index).decode().strip()
        parents = ["-p", base] if base else []
        sha = self.git("commit-tree", tree, *parents, "-m", message).decode().strip()
        expected = base if ref.startswith("refs/heads/") and base else "0" * 40
        try:
            self.git("update-ref", ref, sha, expected)
        except subprocess.CalledProcessError as error:
            raise Moved(ref) from error
        self._known[sha] = None
        return sha

    def tag(self, name: str, *, sha: str, message: str) -> None:
        """An annotated tag. Raises Moved when there is one of this name."""
        if f"refs/tags/{name}" in self.refs():
            raise Moved(name)
        self.git("tag", "-a", name, sha, "-m", message or name)

    def _stored(self, contents: Sequence[bytes], folder: Path) -> list[str]:
        for number, content in enumerate(contents):
            (folder / str(number)).write_bytes(content)
        paths = "".join(f"{folder}/{number}\n" for number in range(len(contents)))
        return self.git("hash-object", "-w", "--stdin-paths", content=paths.encode()).decode().split()


def git_sha1(content: bytes) -> str:
    """Git's name for a blob."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
