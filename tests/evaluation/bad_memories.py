"""Memories that break the contract, each in one way. The tests load this file as a user's own."""

import asyncio
import os
import time
from collections.abc import Sequence
from typing import Any

from pipelines.evaluation.contract import MemoryEvent


class Plain:
    """Keeps every line. The others differ from it in one thing."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, events: Sequence[MemoryEvent]) -> None:
        self.lines += [event.line for event in events]

    def recall(self, query: str, *, tokens: int) -> Any:
        return self.lines


class CrashesAtFirst(Plain):
    def __init__(self) -> None:
        raise RuntimeError("no disk")


class CrashesOnAFullDisk(Plain):
    def __init__(self) -> None:
        if "DISK_IS_FULL" in os.environ:
            raise OSError("no space left")
        super().__init__()


class CrashesInWrite(Plain):
    def write(self, events: Sequence[MemoryEvent]) -> None:
        raise KeyError("boat")


class CrashesForOneUser(Plain):
    made = 0

    def __init__(self) -> None:
        super().__init__()
        self.first = not CrashesForOneUser.made
        CrashesForOneUser.made += 1

    def write(self, events: Sequence[MemoryEvent]) -> None:
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
    def write(self, events: Sequence[MemoryEvent]) -> None: ...
