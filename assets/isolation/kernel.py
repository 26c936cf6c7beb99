"""Calls of the kernel that Python has no name for. Each raises OSError where the kernel refuses it."""

import ctypes
import os
import select
import signal
import struct
from typing import Any

# prctl(2)
DIE_WITH_PARENT = 1
DUMPABLE = 4
SECCOMP = 22
CHILD_SUBREAPER = 36
NO_NEW_PRIVILEGES = 38
CAPABILITIES_VERSION = 0x20080522


def libc() -> Any:
    """Return the C library, which keeps the kernel's error numbers."""
    return ctypes.CDLL(None, use_errno=True)


def check_result(result: int, what: str) -> int:
    """Return the result of a call. Raises OSError for one that failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def system_call(number: int, *arguments: Any) -> int:
    """Make a call that the C library has no name for."""
    given = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return check_result(libc().syscall(ctypes.c_long(number), *given), f"system call {number}")


def control_process(option: int, value: int, pointer: Any = None) -> None:
    """Set an option of this process: prctl(2)."""
    check_result(libc().prctl(option, ctypes.c_ulong(value), pointer, None, None), f"prctl {option}")


def drop_privileges() -> None:
    """Give up all capabilities, new privileges by programs, core dumps, and being looked into by other processes."""
    header = struct.pack("=Ii", CAPABILITIES_VERSION, 0)
    check_result(libc().capset(header, bytes(24)), "capset")
    control_process(NO_NEW_PRIVILEGES, 1)
    control_process(DUMPABLE, 0)


def die_with_parent(answers: int) -> None:
    """End when the parent does, and at once where nobody reads the answers any more, so that it has ended already."""
    control_process(DIE_WITH_PARENT, signal.SIGKILL)
    poll = select.poll()
    poll.register(answers, 0)
    if poll.poll(0):
        os._exit(1)
