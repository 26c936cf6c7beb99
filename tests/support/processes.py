"""The processes of this machine, as Linux tells of them; one that ends while it is looked at is left out."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def members(group: int) -> list[int]:
    """Return the processes of a group that still run; one that only waits for its parent to notice its end does not count."""
    found: list[int] = []
    for pid in _pids():
        # A process that ends between two steps has no file any more, or one that cannot be read.
        with suppress(OSError):
            fields = (PROC / f"{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            state, owner = fields[0], int(fields[2])
            if owner == group and state not in "ZX":
                found.append(pid)
    return found


def children(process: int) -> list[int]:
    """Return the processes that this one started and that are still there; none when it has ended itself."""
    with suppress(OSError):
        return [int(pid) for pid in (PROC / f"{process}/task/{process}/children").read_text(encoding="ascii").split()]
    return []


def _pids() -> Iterator[int]:
    for name in os.listdir(PROC):  # noqa: PTH208 - pathlib looks at each entry again, which fails for a process that has just ended
        if name.isdigit():
            yield int(name)
