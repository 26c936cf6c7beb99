"""Keeps a resident program: looks after what it takes, and ends it with everything that it has started.

The keeper is the parent of the process that runs foreign code, and runs none itself. Where processes have a namespace it is
process 1 of it; else the kernel gives it all that lose their parent. Its exit code says how the program ended.
"""

import contextlib
import os
import resource
import select
import signal
import time
from collections.abc import Iterator

from assets.isolation.kernel import CHILD_SUBREAPER, DUMPABLE, control_process, die_with_parent
from assets.isolation.limits import (
    ENDED_BY_SIGNAL,
    OUT_OF_MEMORY,
    TOO_MANY_PROCESSES,
    TOO_MUCH_DISK,
    TOO_MUCH_MEMORY,
    ResidentLimits,
)

LOOK_SECONDS = 0.1  # between two looks at what the program takes
CLOSE_LOOK = 5  # looks, of which one goes through files
MB = 1024 * 1024
BLOCK = 512  # bytes, of st_blocks
LEAST_OF_A_FILE = 4096  # bytes; an empty one takes room as well


def keep_child(limits: ResidentLimits, *, processes: int, scratch: str, answers: int) -> None:
    """Return in a child, which may run foreign code and has a session of its own. The parent stays here until it has ended.

    `processes`: the folder of /proc, open. `scratch`: the folder that nothing but this bounds; "" for none.
    """
    if os.getpid() != 1:
        control_process(CHILD_SUBREAPER, 1)
    child = os.fork()
    if child:
        os._exit(_Keeper(child, limits, processes=processes, scratch=scratch).keep(answers))
    os.close(processes)
    os.setsid()
    die_with_parent(answers)
    # So that the keeper can look into it; what runs here itself can look into nobody.
    control_process(DUMPABLE, 1)
    _limit(limits)


def _limit(limits: ResidentLimits) -> None:
    """Have the kernel bound each process by itself, so that it is told what it cannot have.

    Not its memory: databases reserve thousands of times what they use, and the kernel counts what is reserved.
    """
    # With 1, no program that collects core dumps is started either.
    most = {"FSIZE": limits.disk_mb * MB, "CORE": 1}
    for name, value in most.items():
        # A limit that is lower already stays.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))


def _wake_up(*_: object) -> None:
    """Have the signal interrupt a wait."""


class _Keeper:
    def __init__(self, child: int, limits: ResidentLimits, *, processes: int, scratch: str) -> None:
        self._child = child
        self._limits = limits
        self._processes = processes
        self._scratch = scratch
        # As that folder calls it, which may be of another namespace.
        self._own = os.readlink("self", dir_fd=processes)
        self._lists_children = bool(self._text(f"{self._own}/task/{self._own}/children"))
        self._killed_before = self._kills_for_memory()
        self._stopping = False

    def keep(self, answers: int) -> int:
        """Wait until the child has ended, takes too much or is asked for no more; end everything, and return the exit code."""
        woken, waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waking)
        signal.signal(signal.SIGCHLD, _wake_up)
        if os.getpid() != 1:
            # Process 1 ends with the one outside that started it, and is told nothing by those inside.
            signal.signal(signal.SIGTERM, self._stop)
        poll = select.poll()
        poll.register(answers, 0)
        poll.register(woken, select.POLLIN)
        looks = 0
        code = self._reap_children()
        while code is None and not self._stopping:
            for opened, _ in poll.poll(LOOK_SECONDS * 1000):
                if opened == answers:
                    self._stopping = True  # whoever asks is gone
                else:
                    os.read(woken, 1024)
            looks += 1
            code = self._reap_children()
            if code is None:
                code = self._excess(close=looks % CLOSE_LOOK == 0)
        self._end_all()
        return code or 0

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _reap_children(self) -> int | None:
        """Take in processes that have ended. Return the child's exit code if it is one of them."""
        code = None
        with contextlib.suppress(ChildProcessError):
            while True:
                ended, status = os.waitpid(-1, os.WNOHANG)
                if not ended:
                    break
                if ended == self._child:
                    code = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGKILL and self._kills_for_memory() > self._killed_before:
            return OUT_OF_MEMORY
        return ENDED_BY_SIGNAL - code if code is not None and code < 0 else code

    def _excess(self, *, close: bool) -> int | None:
        """Return the exit code for what the program takes too much of; None where it keeps its limits.

        `close`: look at files too.
        """
        processes = list(self._descendants())
        states = [self._numbers_of(f"{process}/status", "RssAnon", "RssShmem", "Threads") for process in processes]
        if sum(state.get("Threads", 0) for state in states) > self._limits.processes:
            return TOO_MANY_PROCESSES
        most = self._limits.memory_mb * 1024
        held = [state.get("RssAnon", 0) + state.get("RssShmem", 0) for state in states]
        if sum(held) > most:
            # Pages that processes share are counted once.
            shares = [self._numbers_of(f"{process}/smaps_rollup", "Pss_Anon", "Pss_Shmem") for process in processes]
            if sum(sum(share.values()) if share else whole for share, whole in zip(shares, held, strict=True)) > most:
                return TOO_MUCH_MEMORY
        if close and self._scratch and _bytes_below(self._scratch) > self._limits.disk_mb * MB:
            return TOO_MUCH_DISK
        return None

    def _descendants(self) -> Iterator[str]:
        """Yield the numbers of all processes that came of the child, parents first."""
        due = [self._own]
        for process in due:
            due += self._children_of(process)
        yield from due[1:]

    def _children_of(self, process: str) -> list[str]:
        if self._lists_children:
            threads = self._names(f"{process}/task")
            return [child for thread in threads for child in self._text(f"{process}/task/{thread}/children").split()]
        # Some kernels are built without the list.
        others = [name for name in self._names(".") if name.isdigit()]
        return [other for other in others if self._text(f"{other}/stat").rpartition(")")[2].split()[1:2] == [process]]

    def _numbers_of(self, path: str, *names: str) -> dict[str, int]:
        """Return what a file of a process says of these: counts, or kilobytes. Nothing of a process that has ended."""
        found: dict[str, int] = {}
        for line in self._text(path).splitlines():
            name, _, value = line.partition(":")
            if name in names:
                found[name] = int(value.split()[0])
        return found

    def _kills_for_memory(self) -> int:
        for line in self._text("vmstat").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        return 0

    def _names(self, path: str) -> list[str]:
        with contextlib.suppress(OSError):
            folder = os.open(path, os.O_RDONLY, dir_fd=self._processes)
            try:
                return os.listdir(folder)  # noqa: PTH208
            finally:
                os.close(folder)
        return []

    def _text(self, path: str) -> str:
        # Of a process that has ended meanwhile there is none.
        with contextlib.suppress(OSError), os.fdopen(os.open(path, os.O_RDONLY, dir_fd=self._processes)) as file:
            return file.read()
        return ""

    def _end_all(self) -> None:
        """Kill all that came of the child, and what these start meanwhile, until none is left."""
        while True:
            if os.getpid() == 1:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)
            else:
                for process in self._descendants():
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(int(process), signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            time.sleep(0.005)


def _bytes_below(folder: str) -> int:
    """Return what the files below a folder take of the disk. Those that go meanwhile count for nothing."""
    size = 0
    due = [folder]
    for path in due:
        with contextlib.suppress(OSError), os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    due.append(entry.path)
                with contextlib.suppress(OSError):
                    size += max(entry.stat(follow_symlinks=False).st_blocks * BLOCK, LEAST_OF_A_FILE)
    return size
