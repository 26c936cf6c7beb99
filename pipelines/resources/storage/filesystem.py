"""Where snapshots, values and releases lie: the port, and the folder on a disk.

Files have names with slashes that say nothing of the place, so that what is kept reads the same everywhere. What
consists of several files is made in a folder on this machine, a draft, and settles under its name whole or not at all.
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


class Place(Protocol):
    """A place for files. Raises FileNotFoundError for what is not there, StoreError when the place cannot be used."""

    @property
    def address(self) -> str:
        """For sentences; free of secrets."""
        ...

    def read(self, name: str) -> bytes: ...

    def open(self, name: str) -> pa.NativeFile:
        """For reading here and there in a file, as Parquet does."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Replace a file; a kill midway leaves the one before."""
        ...

    def names(self, folder: str = "") -> list[str]:
        """All files below a folder, in order; none where it is not there. Drafts are not among them."""
        ...

    def local(self, name: str) -> Path:
        """The file on this machine; one that never changes, because it may be a copy that is kept."""
        ...

    def draft(self, folder: str) -> Path:
        """An empty folder on this machine for what is to settle in `folder`; what killed processes left there is cleared."""
        ...

    def settle(self, draft: Path, name: str, *, last: str, anew: bool = False) -> bool:
        """Put a draft into its place, its file `last` last; readers take that one as the sign that all is there.

        Where something with that sign is there already: False, and the draft stays; with `anew` it is taken over.
        """
        ...


class Folder:
    """The place that is a folder on a disk: what has settled has reached the disk."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def address(self) -> str:
        """The folder's path."""
        return str(self.root)

    def read(self, name: str) -> bytes:
        """The file's content."""
        return (self.root / name).read_bytes()

    def open(self, name: str) -> pa.NativeFile:
        """The open file."""
        return pa.OSFile(str(self.root / name), "r")

    def write(self, name: str, content: bytes) -> None:
        """Beside the file first, then in its place."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(draft_name())
        fresh.write_bytes(content)
        sync(fresh)
        fresh.replace(path)
        sync(path.parent)

    def names(self, folder: str = "") -> list[str]:
        """By walking through the folder."""
        home = self.root / folder
        found = (path.relative_to(self.root) for path in home.rglob("*") if path.is_file())
        return sorted(path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts))

    def local(self, name: str) -> Path:
        """The file itself."""
        return self.root / name

    def draft(self, folder: str) -> Path:
        """Beside its destination, so that settling is a rename within one file system."""
        return new_draft(self.root / folder)

    def settle(self, draft: Path, name: str, *, last: str, anew: bool = False) -> bool:
        """One rename; `last` came with the rest."""
        final = self.root / name
        sync(draft)
        if anew and final.exists():
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


def placed(root: Path | Place) -> Place:
    """The place; a path stands for its folder."""
    return Folder(root) if isinstance(root, Path) else root


def draft_name() -> str:
    """A name that tells whose draft it is."""
    return f".writing-{HOST}-{os.getpid()}-{secrets.token_hex(4)}"


def new_draft(parent: Path) -> Path:
    """An empty folder below `parent`, from which the drafts of dead processes are cleared."""
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(".writing-*"):
        with suppress(FileNotFoundError):
            if _abandoned(left):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
    draft = parent / draft_name()
    draft.mkdir()
    return draft


def _abandoned(left: Path) -> bool:
    """Whether its writer is dead. A writer on another host is given up after a day without a new file."""
    *_, pid, _ = left.name.split("-")
    if not left.name.startswith(f".writing-{HOST}-{pid}-"):
        return time.time() - left.stat().st_mtime > ABANDONED_SECONDS
    try:
        os.kill(int(pid), 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False
