"""The store of snapshots, asset values and releases: the port, and local files.

File names contain slashes but not the store's location, so references are the same everywhere. A set of files is written to a
draft, a folder on this machine, and then committed under its name, completely or not at all.
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
    """Files by name. Methods raise FileNotFoundError for a missing file, and StoreError if the store cannot be used."""

    @property
    def address(self) -> str:
        """The store's path or URL for messages and metadata. It contains no secrets."""
        ...

    def read(self, name: str) -> bytes: ...

    def open(self, name: str) -> pa.NativeFile:
        """Open a file for random access, as Parquet needs."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Write or replace a file. If the process is killed midway, the old file stays."""
        ...

    def names(self, folder: str = "") -> list[str]:
        """Return the names of all files below a folder, sorted, without drafts; an empty list for a missing folder."""
        ...

    def draft(self, folder: str) -> Path:
        """Return an empty folder on this machine, to be committed in `folder`. Drafts of dead processes are removed."""
        ...

    def commit(self, draft: Path, name: str, *, last: str, overwrite: bool = False) -> bool:
        """Move a draft to its name and return True. The file `last` moves last; readers take it as the sign of a complete set.

        If `last` already exists under the name, return False and keep the draft; with `overwrite`, replace the old files.
        """
        ...

    def raise_store_error(self, error: Exception) -> None:
        """Raise StoreError if the error came from the store itself, not from parsing what the store had sent."""
        ...


class LocalFiles:
    """The FileStore port over a folder. Committed files have been flushed to the disk."""

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
            # The names of drafts begin with a dot.
            if file.is_file() and not any(part.startswith(".") for part in path.parts):
                names.append(path.as_posix())
        return sorted(names)

    def draft(self, folder: str) -> Path:
        """Create the draft beside its destination, so that a commit is a rename within one file system."""
        return new_draft(self.root / folder)

    def commit(self, draft: Path, name: str, *, last: str, overwrite: bool = False) -> bool:
        """Rename the draft as a whole, so `last` arrives together with the other files."""
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
        """Raise nothing: errors of the local disk already name the file."""


def as_file_store(root: Path | FileStore) -> FileStore:
    """Return the store itself, or for a path the store of the local files below it."""
    return LocalFiles(root) if isinstance(root, Path) else root


def draft_name() -> str:
    """Return a new draft's name, which contains the host and process that write it."""
    return f".writing-{HOST}-{os.getpid()}-{secrets.token_hex(4)}"


def new_draft(parent: Path) -> Path:
    """Create an empty folder below `parent`, and remove the drafts of dead processes there."""
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(".writing-*"):
        with suppress(FileNotFoundError):
            if not _is_abandoned(left):
                continue
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()
    draft = parent / draft_name()
    draft.mkdir()
    return draft


def _is_abandoned(left: Path) -> bool:
    """Return whether a draft's writer is dead. A writer on another host counts as dead after a day without a new file."""
    *_, pid, _ = left.name.split("-")
    if not left.name.startswith(f".writing-{HOST}-{pid}-"):
        return time.time() - left.stat().st_mtime > ABANDONED_SECONDS
    try:
        os.kill(int(pid), 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False
