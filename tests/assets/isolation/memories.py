"""Memories of others that try to break out: each text asked of one is an attempt, and the answer says what came of it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from pipelines.memories.failures import MemoryFailed
from pipelines.memories.hosting.confinement import host_memory
from pipelines.memories.hosting.hosted import HostedMemory
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel
from tests.evaluation.test_memories import tools

CODE = '''
import atexit, ctypes, fcntl, mmap, os, resource, select, signal, socket, struct, subprocess, sys, tempfile, threading, time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
kept = []


def call(*arguments):
    result = libc.syscall(*(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def lock(path, kind):
    kept.append(open(path, "rb"))
    fcntl.fcntl(kept[-1], 6, struct.pack("hhqqi4x", kind, 0, 0, 0, 0))


def lock_of_others(path):
    told = fcntl.fcntl(open(path, "rb"), 5, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    assert struct.unpack("hhqqi4x", told)[0] != fcntl.F_UNLCK


def cannot_lock(path):
    try:
        fcntl.flock(open(path, "rb"), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    raise AssertionError


def daemon():
    """A process that has no parent and no session of anybody's."""
    def start():
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
    os.waitpid(in_child(start), 0)


class Attempts:
    def write(self, events):
        pass

    def recall(self, query, *, tokens):
        try:
            exec(query, globals())
        except (OSError, ValueError, AssertionError) as error:
            return [f"no: {type(error).__name__} {error}"]
        return ["done"]
'''
SECONDS = 40.0


class Item:
    """An item's memory of others, which is asked to make attempts. Settings such as `network` are those of a memory."""

    def __init__(self, folder: Path, **settings: str) -> None:
        path = folder / "own" / "attempts.py"
        if not path.exists():
            path.parent.mkdir()
            path.write_text(CODE, encoding="utf-8")
        spec = find_memory(f"{path}:Attempts").model_copy(update={"settings": settings})
        self._loop = asyncio.new_event_loop()
        self._memory: HostedMemory | None = None
        self.host = host_memory(spec, tools(HonestModel()), deadline=SECONDS)

    def __enter__(self) -> Self:
        self._memory = self._loop.run_until_complete(self.host.new_memory())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._loop.run_until_complete(self.host.close())
        self._loop.close()

    def answer(self, attempt: str) -> str:
        """Return "done", or why not. Raises MemoryFailed where its process ended."""
        assert self._memory is not None
        return self._loop.run_until_complete(self._memory.recall(attempt, tokens=200))[0]

    def done(self, attempts: Mapping[str, str]) -> list[str]:
        """Return the names of the attempts that were possible."""
        return [name for name, attempt in attempts.items() if self.answer(attempt) == "done"]

    def end_of(self, attempt: str) -> str:
        """Return how the process ended in an attempt; "" where it goes on."""
        try:
            return self.answer(attempt) and ""
        except MemoryFailed as error:
            return str(error)
