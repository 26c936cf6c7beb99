"""Namespaces that a process makes for itself: it is process 1 of them, and sees the files that it is shown, read-only."""

import contextlib
import ctypes
import os
import signal
import struct
from collections.abc import Sequence
from typing import Any

from assets.isolation.kernel import check_result, die_with_parent, libc, system_call
from assets.isolation.landlock import DEVICES

INSIDE_ID = "1000"  # of user and group, whoever runs it
# unshare(2): mounts, host name, IPC, users, processes, network.
NEW_NAMESPACES = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
NEW_NETWORK = 0x40000000
MOUNT_BIND = 0x1000
MOUNT_RECURSIVE = 0x4000
MOUNT_PRIVATE = 0x40000
DETACH = 2
MOUNT_SETATTR = 442
RECURSIVE = 0x8000
AT_CWD = -100
READ_ONLY = 1
NO_SUID = 2
READ_ONLY_NO_SUID_NO_DEVICES = READ_ONLY | NO_SUID | 4
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
SCRATCH = "/tmp"  # noqa: S108 - of the process's own root
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - likewise


def enter_namespaces(
    root: str, shown: Sequence[str], *, hidden: Sequence[str], answers: int, resident: dict[str, Any] | None
) -> None:
    """Return as process 1 of new namespaces, whose files are those of `shown`, read-only, below a new root."""
    _become_first_process(answers, network=resident is not None and resident["network"])
    _build_root(root, shown, hidden=hidden, resident=resident)
    os.chdir(root)
    # The old root comes to lie over the new one, and is taken off.
    system_call(PIVOT_ROOT[os.uname().machine], b".", b".")
    check_result(libc().umount2(b".", DETACH), "umount")
    os.chdir("/")


def _become_first_process(answers: int, *, network: bool) -> None:
    """Return in a child that is process 1 of new namespaces; this process waits for it, and ends as it does."""
    user = os.getuid()
    group = os.getgid()
    namespaces = NEW_NAMESPACES & ~NEW_NETWORK if network else NEW_NAMESPACES
    check_result(libc().unshare(namespaces), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{INSIDE_ID} {user} 1"), ("gid_map", f"{INSIDE_ID} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib takes a while to import
            file.write(text)
    check_result(libc().sethostname(b"inside", 6), "sethostname")
    server = os.fork()
    if server:
        die_with_parent(answers)
        signal.signal(signal.SIGTERM, lambda _number, _frame: os.kill(server, signal.SIGKILL))
        _, status = os.waitpid(server, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _build_root(root: str, shown: Sequence[str], *, hidden: Sequence[str], resident: dict[str, Any] | None) -> None:
    """Mount what the process is to see below `root`, read-only but for scratch, shared memory and devices."""
    _mount(None, "/", flags=MOUNT_RECURSIVE | MOUNT_PRIVATE)
    _mount("tmpfs", root, kind="tmpfs", data="size=64k,mode=755")
    if resident is not None:
        # Before what is shown, which may lie below it.
        _make_scratch(root + SCRATCH, megabytes=resident["limits"][2])
        os.makedirs(root + "/proc")  # noqa: PTH103
        os.makedirs(root + SHARED_MEMORY)  # noqa: PTH103
        for device in DEVICES:
            _mount_point(device, root + device)
    _bind(root, shown)
    for path in hidden:
        _mount("tmpfs", root + path, kind="tmpfs", data="size=64k,mode=755")
    if resident is not None:
        _bind(root, resident["own"])
    _set_attributes(root, added=READ_ONLY_NO_SUID_NO_DEVICES, recursive=True)
    if resident is not None:
        _set_attributes(root + SCRATCH, removed=READ_ONLY)
        _make_scratch(root + SHARED_MEMORY, megabytes=resident["limits"][2])
        # Of its own processes alone; some machines let nobody mount it, and few programs miss it. Whoever is root outside could
        # set the kernel's options there, were it not read-only.
        with contextlib.suppress(OSError):
            _mount("proc", root + "/proc", kind="proc")
            _set_attributes(root + "/proc", added=READ_ONLY_NO_SUID_NO_DEVICES)
        for device in DEVICES:
            _mount(device, root + device, flags=MOUNT_BIND)
            _set_attributes(root + device, added=READ_ONLY | NO_SUID)


def _bind(root: str, paths: Sequence[str]) -> None:
    for path in paths:
        _mount_point(path, root + path)
        _mount(path, root + path, flags=MOUNT_BIND | MOUNT_RECURSIVE)


def _make_scratch(place: str, *, megabytes: int) -> None:
    os.makedirs(place, exist_ok=True)  # noqa: PTH103
    _mount("tmpfs", place, kind="tmpfs", data=f"size={megabytes}m,mode=1777")


def _mount_point(path: str, place: str) -> None:
    """Make an empty folder or file at the place, whichever the path is."""
    if os.path.isdir(path):  # noqa: PTH112
        os.makedirs(place, exist_ok=True)  # noqa: PTH103
        return
    os.makedirs(os.path.dirname(place), exist_ok=True)  # noqa: PTH103, PTH120
    os.close(os.open(place, os.O_CREAT | os.O_RDONLY, 0o644))


def _mount(source: str | None, target: str, *, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind, data)]
    check_result(libc().mount(*texts[:3], ctypes.c_ulong(flags), texts[3]), f"mount {target}")


def _set_attributes(path: str, *, added: int = 0, removed: int = 0, recursive: bool = False) -> None:
    attributes = struct.pack("=QQQQ", added, removed, 0, 0)
    system_call(MOUNT_SETATTR, AT_CWD, path.encode(), RECURSIVE if recursive else 0, attributes, len(attributes))
