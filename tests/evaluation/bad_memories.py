"""Memories that break the contract, each in one way. The tests load this file as a user's own."""

import asyncio
import os
import re
import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.memories.contract import MemoryEvent


class Plain:
    """Keeps every line. The others differ from it in one thing."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, events: "Sequence[MemoryEvent]") -> None:
        self.lines += [event.line for event in events]

    def recall(self, query: str, *, tokens: int) -> Any:
        return self.lines


class BestFirst(Plain):
    def recall(self, query: str, *, tokens: int) -> Any:
        wanted = set(query.lower().split())
        return sorted(self.lines, key=lambda line: -len(wanted & set(line.lower().split())))


class NewestFirst(Plain):
    def recall(self, query: str, *, tokens: int) -> Any:
        return self.lines[::-1]


class CrashesAtFirst(Plain):
    def __init__(self) -> None:
        raise RuntimeError("no disk")


class CrashesOnAFullDisk(Plain):
    def __init__(self) -> None:
        if "DISK_IS_FULL" in os.environ:
            raise OSError("no space left")
        super().__init__()


class CrashesInWrite(Plain):
    def write(self, events: "Sequence[MemoryEvent]") -> None:
        raise KeyError("boat")


class CrashesForOneUser(Plain):
    made = 0

    def __init__(self) -> None:
        super().__init__()
        self.first = not CrashesForOneUser.made
        CrashesForOneUser.made += 1

    def write(self, events: "Sequence[MemoryEvent]") -> None:
        if self.first:
            raise KeyError("boat")
        super().write(events)


class CrashesInRecall(Plain):
    def recall(self, query: str, *, tokens: int) -> Any:
        return self.lines[10_000]


class CrashesInFork(Plain):
    def fork(self) -> "Plain":
        raise OSError("no space left")


class LeavesTheProcess(Plain):
    def recall(self, query: str, *, tokens: int) -> Any:
        raise SystemExit(3)


class ForgetsWhenItSettles(Plain):
    """Drops lines about what it was asked to forget only when it settles, and takes in what comes later."""

    due: tuple[str, ...] = ()

    def forget(self, request: "MemoryEvent") -> None:
        self.due = (*self.due, *re.findall(r"forget my ([^,.]+?)(?:,| for)", request.text))

    def settle(self) -> None:
        self.lines = [
            line for line in self.lines if not any(f"{label} is" in line or f"my {label}" in line for label in self.due)
        ]
        self.due = ()


class ForgetsNothing(Plain):
    def forget(self, request: "MemoryEvent") -> None: ...


class GivesNothing(Plain):
    def recall(self, query: str, *, tokens: int) -> Any:
        return None


class GivesLetters(Plain):
    def recall(self, query: str, *, tokens: int) -> Any:
        return "\n".join(self.lines)


class GivesNumbers(Plain):
    def recall(self, query: str, *, tokens: int) -> Any:
        return [1, 2]


class GivesSurrogates(Plain):
    def recall(self, query: str, *, tokens: int) -> Any:
        return ["half of \ud83d"]


class Hangs(Plain):
    async def recall(self, query: str, *, tokens: int) -> Any:
        await asyncio.Event().wait()


class Blocks(Plain):
    async def recall(self, query: str, *, tokens: int) -> Any:
        time.sleep(30)  # noqa: ASYNC251


class CancelsItself(Plain):
    async def recall(self, query: str, *, tokens: int) -> Any:
        raise asyncio.CancelledError


class CancelsItsTask(Plain):
    """As a cancelled scope does, whose end nobody awaits."""

    async def recall(self, query: str, *, tokens: int) -> Any:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return self.lines


class CancelsItsLoop(Plain):
    async def recall(self, query: str, *, tokens: int) -> Any:
        for task in asyncio.all_tasks():
            task.cancel()
        await asyncio.sleep(0)


class RunsALoopOfItsOwn(Plain):
    def recall(self, query: str, *, tokens: int) -> Any:
        return asyncio.run(self.found())

    async def found(self) -> list[str]:
        await asyncio.sleep(0)
        return self.lines


class ComesLater(Plain):
    """As a service that indexes in the background."""

    def __init__(self, *, lag: float = 0.05) -> None:
        super().__init__()
        self.lag = lag
        self.indexed = 0.0

    def write(self, events: "Sequence[MemoryEvent]") -> None:
        super().write(events)
        self.indexed = time.monotonic() + self.lag

    def recall(self, query: str, *, tokens: int) -> Any:
        return self.lines if time.monotonic() >= self.indexed else []


class RecallsNothing(Plain):
    def recall(self, query: str, *, tokens: int) -> Any:
        return []


class HasAThread(Plain):
    def __init__(self) -> None:
        super().__init__()
        threading.Thread(target=threading.Event().wait, daemon=True).start()


class HasATask(Plain):
    async def recall(self, query: str, *, tokens: int) -> Any:
        self.task = asyncio.ensure_future(asyncio.Event().wait())
        return self.lines


class HasAChild(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.child = subprocess.Popen(["sleep", "1000"])


class ComesAtTheSecondLook(HasAThread):
    """As a service that indexes in the background, on a machine of any speed."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def write(self, events: "Sequence[MemoryEvent]") -> None:
        super().write(events)
        self.looks = 0

    def recall(self, query: str, *, tokens: int) -> Any:
        self.looks += 1
        return self.lines if self.looks > 1 else []


class SettlesItself(ComesLater):
    def __init__(self) -> None:
        super().__init__(lag=1_000)

    async def settle(self) -> None:
        await asyncio.sleep(0)
        self.indexed = 0.0


class IsSlow(Plain):
    def recall(self, query: str, *, tokens: int) -> Any:
        time.sleep(0.2)
        return self.lines


class PrintsAndLeavesThreads(Plain):
    """Prints by Python and by another program, and leaves threads that never end."""

    def __init__(self) -> None:
        super().__init__()
        print("a memory is made")
        subprocess.run(["echo", "a memory is made by a shell"], check=True)
        threading.Thread(target=threading.Event().wait, daemon=False).start()
        self.pool = ThreadPoolExecutor()
        self.pool.submit(threading.Event().wait)

    def recall(self, query: str, *, tokens: int) -> Any:
        print("recalling")
        return self.lines


class ForksToAnId(Plain):
    def fork(self) -> Any:
        return "session-2"


class GivesAFarSurrogate(Plain):
    def recall(self, query: str, *, tokens: int) -> Any:
        return [*self.lines, "word " * 200_000 + "\ud83d"]


class IsItsOwnFork(Plain):
    def fork(self) -> "Plain":
        return self


class ForksToNothing(Plain):
    def fork(self) -> None:
        return None


class SharesItsLines(Plain):
    """As a service does that takes an id for a copy."""

    def fork(self) -> "Plain":
        copy = SharesItsLines()
        copy.lines = self.lines
        return copy


class SharesItsStore(Plain):
    """Its copies have the newest events for themselves, and a store of the older ones in common."""

    newest = 20

    def __init__(self) -> None:
        super().__init__()
        self.store: list[str] = []

    def write(self, events: "Sequence[MemoryEvent]") -> None:
        super().write(events)
        self.store += self.lines[: -self.newest]
        self.lines = self.lines[-self.newest :]

    def recall(self, query: str, *, tokens: int) -> Any:
        return [*self.store, *self.lines]

    def fork(self) -> "Plain":
        copy = SharesItsStore()
        copy.store = self.store
        copy.lines = list(self.lines)
        return copy


class SharesItsStoreAcrossUsers(SharesItsStore):
    everything: list[str] = []  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.store = SharesItsStoreAcrossUsers.everything


class ForgetsInFork(Plain):
    def fork(self) -> "Plain":
        return Plain()


class SharesAcrossUsers(Plain):
    everything: list[str] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.lines = SharesAcrossUsers.everything


class RemembersQuestions(Plain):
    def recall(self, query: str, *, tokens: int) -> Any:
        self.lines = [*self.lines, query]
        return self.lines


class HasNoRecall:
    def write(self, events: "Sequence[MemoryEvent]") -> None: ...
