"""The processes of this machine, as Linux tells of them; one that ends while it is looked at is left out."""

import os
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def members(group: int) -> list[int]:
    """Return the processes of a group that still run; one that only waits for its parent to notice its end does not count."""
    found: list[int] = []
    for pid in numbers_in(PROC):
        # A process that ends between two steps has no file any more, or one that cannot be read.
        with suppress(OSError):
            fields = (PROC / f"{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            state, owner = fields[0], int(fields[2])
            if owner == group and state not in "ZX":
                found.append(pid)
    return found


def children(process: int) -> list[int]:
    """Return the processes that the threads of this one started and that are still there; none when it has ended itself."""
    found: list[int] = []
    for thread in numbers_in(PROC / f"{process}/task"):
        with suppress(OSError):
            found += map(int, (PROC / f"{process}/task/{thread}/children").read_text(encoding="ascii").split())
    return found


def numbers_in(folder: Path) -> list[int]:
    """Return the processes or threads that a folder lists; none where it has gone. `Path.glob` would raise an error then."""
    with suppress(OSError):
        return [int(name) for name in os.listdir(folder) if name.isdigit()]  # noqa: PTH208
    return []
