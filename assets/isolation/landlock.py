"""Landlock: files and folders that this process may read, and the one folder that it may write to."""

import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from assets.isolation.kernel import system_call

# Landlock's calls have the same numbers on all processors.
CREATE_RULESET = 444
ADD_RULE = 445
RESTRICT_SELF = 446
EXECUTE = 1
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_FOLDER = 1 << 3
SCOPES_SIGNALS = 6  # the version from which on nothing outside can be signalled
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


def landlock_version() -> int:
    """Return the kernel's version of Landlock; 0 where it has none."""
    try:
        return system_call(CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def make_ruleset(shown: Sequence[str], *, hidden: Sequence[str], resident: dict[str, Any] | None = None) -> int | None:
    """A ruleset that lets nothing be done with files but reading those shown; None where the kernel has no Landlock.

    A resident program may also write below its scratch folder, list the folders that it finds its modules in, and connect by
    TCP where it has declared that.
    """
    version = landlock_version()
    if not version:
        return None
    # What each version of Landlock has added: linking elsewhere, truncating, ioctl on devices; TCP; signals, abstract sockets.
    files = (1 << 13) - 1 | (version >= 2) << 13 | (version >= 3) << 14 | (version >= 5) << 15
    network = 0 if resident is not None and resident["network"] else 3
    words = [files] + [network] * (version >= 4) + [3] * (version >= SCOPES_SIGNALS)
    handled = struct.pack(f"={len(words)}Q", *words)
    ruleset = system_call(CREATE_RULESET, handled, len(handled), 0)
    reading = READ_FILE | READ_FOLDER | (EXECUTE if resident else 0)
    allowed = [rule for path in shown for rule in _rules(path, reading, hidden=hidden)]
    if resident is not None:
        allowed += [(path, reading) for path in resident["own"]]
        allowed.append((resident["scratch"], files))
        allowed += [(path, READ_FOLDER) for path in resident["listed"]]
        allowed += [(device, READ_FILE | WRITE_FILE) for device in DEVICES]
    for path, rights in allowed:
        if not os.path.isdir(path):  # noqa: PTH112 - pathlib takes a while to import
            rights &= EXECUTE | READ_FILE | WRITE_FILE
        opened = os.open(path, os.O_PATH)
        system_call(ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, opened), 0)
        os.close(opened)
    return ruleset


def _rules(path: str, rights: int, *, hidden: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield rules for all below the path but what is hidden: a folder around that can be listed, and its other entries read."""
    if path in hidden:
        return
    if not any(place.startswith(path + os.sep) for place in hidden):
        yield path, rights
        return
    yield path, READ_FOLDER
    for name in sorted(os.listdir(path)):  # noqa: PTH208
        below = os.path.join(path, name)  # noqa: PTH118
        if os.path.exists(below):  # noqa: PTH110 - a link may lead nowhere
            yield from _rules(below, rights, hidden=hidden)
