"""The store of snapshots, asset values and releases: the port, and local files.

File names have slashes and say nothing of where the store is, so that references read the same everywhere. What consists
of several files is written in a draft, a folder on this machine, and committed under its name whole or not at all.
"""

import os
import secrets
import shutil
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from dataset_card.release.writers import sync

HOST = socket.gethostname()
ABANDONED_SECONDS = 24 * 3600


class FileStore(Protocol):
    """Raises FileNotFoundError for a missing file and StoreError when the store cannot be used."""

    @property
    def address(self) -> str:
        """A path or URL for messages and metadata, free of secrets."""
        ...

    def read(self, name: str) -> bytes: ...

    def open(self, name: str) -> pa.NativeFile:
        """For random access, as Parquet reads."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Replace a file; a kill midway leaves the one before."""
        ...

    def names(self, folder: str = "") -> list[str]:
        """All files below a folder, sorted, without drafts; an empty list for a missing folder."""
        ...

    def local_path(self, name: str) -> Path:
        """The file on this machine, perhaps a cached copy; only for files that never change."""
        ...

    def draft(self, folder: str) -> Path:
        """An empty folder on this machine for what is to be committed in `folder`; drafts of dead processes are removed."""
        ...

    def commit(self, draft: Path, name: str, *, last: str, overwrite: bool = False) -> bool:
        """Move a draft to its name, its file `last` last; readers take that file as the sign that all is there.

        Where that file is there already: False, and the draft stays; with `overwrite` it is replaced.
        """
        ...

    def raise_store_error(self, error: Exception) -> None:
        """Raise StoreError where the error came from the store, and not from the reader of what the store had sent."""
        ...


class LocalFiles:
    """Files below a folder; what is committed has reached the disk."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def address(self) -> str:
        return str(self.root)

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def open(self, name: str) -> pa.NativeFile:
        return pa.OSFile(str(self.root / name), "r")

    def write(self, name: str, content: bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(draft_name())
        fresh.write_bytes(content)
        sync(fresh)
        fresh.replace(path)
        sync(path.parent)

    def names(self, folder: str = "") -> list[str]:
        names: list[str] = []
        for file in (self.root / folder).rglob("*"):
            path = file.relative_to(self.root)
            # Drafts begin with a dot.
            if file.is_file() and not any(part.startswith(".") for part in path.parts):
                names.append(path.as_posix())
        return sorted(names)

    def local_path(self, name: str) -> Path:
        return self.root / name

    def draft(self, folder: str) -> Path:
        """Beside its destination, so that a commit is a rename within one file system."""
        return new_draft(self.root / folder)

    def commit(self, draft: Path, name: str, *, last: str, overwrite: bool = False) -> bool:
        """One rename; `last` came with the rest."""
        final = self.root / name
        sync(draft)
        if overwrite and final.exists():
            broken = draft.with_name(f"{draft.name}0")
            final.rename(broken)
            draft.rename(final)
            shutil.rmtree(broken)
        else:
            try:
                draft.rename(final)
            except OSError:
                if not final.exists():
                    raise
                return False
        sync(final.parent)
        return True

    def raise_store_error(self, error: Exception) -> None:
        """A disk's own errors name the file."""


def as_file_store(root: Path | FileStore) -> FileStore:
    """A path means the local files below it."""
    return LocalFiles(root) if isinstance(root, Path) else root


def draft_name() -> str:
    """A name that says which process writes it."""
    return f".writing-{HOST}-{os.getpid()}-{secrets.token_hex(4)}"


def new_draft(parent: Path) -> Path:
    """An empty folder below `parent`, from which the drafts of dead processes are removed."""
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(".writing-*"):
        with suppress(FileNotFoundError):
            if not _abandoned(left):
                continue
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()
    draft = parent / draft_name()
    draft.mkdir()
    return draft


def _abandoned(left: Path) -> bool:
    """Return True when its writer is dead. A writer on another host is given up after a day without a new file."""
    *_, pid, _ = left.name.split("-")
    if not left.name.startswith(f".writing-{HOST}-{pid}-"):
        return time.time() - left.stat().st_mtime > ABANDONED_SECONDS
    try:
        os.kill(int(pid), 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False
