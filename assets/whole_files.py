"""Files that appear only when they are whole, and names for those that are damaged."""

import errno
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

DAMAGED = ".damaged-"  # in the name of a file that was set aside; no command reads it


@contextmanager
def whole_file(path: Path) -> Generator[Path]:
    """Yield a draft beside `path` to write to, which takes its place at the end; an error leaves what was there before.

    Nothing is waited for: after a loss of power the file may be the earlier one. Raises OSError, also for a folder or a device.
    """
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "no file, and would be lost", str(path))
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")  # also two threads may write the same file
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def name_aside(path: Path) -> Path:
    """Return the first free name beside `path` for a damaged file, which keeps those that were damaged before."""
    number = 1
    while os.path.lexists(path.with_name(f"{path.name}{DAMAGED}{number}")):
        number += 1
    return path.with_name(f"{path.name}{DAMAGED}{number}")
