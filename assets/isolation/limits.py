"""Limits of a program that stays, and how its process ended, as its exit code tells it."""

import signal
from typing import NamedTuple

# Exit codes of the keeper. Those between 128 and 192 are signals, as shells write them.
ENDED_BY_SIGNAL = 128
TOO_MUCH_MEMORY = 200
TOO_MANY_PROCESSES = 201
TOO_MUCH_DISK = 202
OUT_OF_MEMORY = 203


class ResidentLimits(NamedTuple):
    """What a program that stays may take, with everything that it starts. Threads count as processes do."""

    memory_mb: int = 8192
    processes: int = 512
    disk_mb: int = 2048


DEFAULT_LIMITS = ResidentLimits()


def describe_end(code: int, limits: ResidentLimits) -> str:
    """Return how a process ended, and which setting would let it go on. A negative code is a signal."""
    over = {
        TOO_MUCH_MEMORY: f"it held more than {limits.memory_mb} MB of memory; the setting max_memory_mb allows more",
        TOO_MANY_PROCESSES: f"it had more than {limits.processes} processes and threads; the setting max_processes allows more",
        TOO_MUCH_DISK: f"it wrote more than {limits.disk_mb} MB of files; the setting max_disk_mb allows more",
        OUT_OF_MEMORY: "the kernel killed it, because this machine had no memory left",
    }
    if code in over:
        return over[code]
    number = -code if code < 0 else code - ENDED_BY_SIGNAL
    if number not in {known.value for known in signal.Signals}:
        return f"with status {code}"
    why = {
        "SIGSEGV": "a library that it uses read or wrote where it must not",
        "SIGBUS": "a library that it uses read or wrote where it must not",
        "SIGABRT": "a library that it uses gave up, as they do where memory runs out",
        "SIGKILL": "somebody killed it; the kernel does where memory runs out",
    }
    name = signal.Signals(number).name
    return f"by signal {number} ({name}): {why[name]}" if name in why else f"by signal {number} ({name})"
