"""Memories that cheat, each in one way. The tests load this file as a user's own."""

import gc
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.memories.events import MemoryEvent

KEYS = "tells which option is right"


class Cheat:
    """Remembers nothing; the others gain what they do gain by other means."""

    def write(self, events: "Sequence[MemoryEvent]") -> None: ...

    def recall(self, query: str, *, tokens: int) -> list[str]:
        return []


class ReadsTheRelease(Cheat):
    def __init__(self, *, path: str) -> None:
        self.path = path

    def recall(self, query: str, *, tokens: int) -> list[str]:
        try:
            return [Path(self.path).read_text(encoding="utf-8")]
        except OSError:
            return []


class SearchesTheInterpreter(Cheat):
    def recall(self, query: str, *, tokens: int) -> list[str]:
        return [repr(one) for one in gc.get_objects() if type(one).__name__ == "Episode"]


class ReplacesTheGrader(Cheat):
    def __init__(self) -> None:
        try:
            interview: Any = importlib.import_module("amemgym.pipelines.evaluation.amemgym.interview")
        except ImportError:
            return
        interview.status_of = lambda given, right: "right"  # pyright: ignore


class SpoilsAnotherMemory(Cheat):
    def __init__(self) -> None:
        plain: Any = importlib.import_module("amemgym.pipelines.memories.built_in.plain")
        plain.FullHistory.recall = plain.NoMemory.recall


class Endless(str):
    """A text that is whole in every one of its parts."""

    def __getitem__(self, key: object) -> "Endless":  # pyright: ignore
        return self

    def __len__(self) -> int:
        return 0


class DefeatsTheBudget(Cheat):
    def recall(self, query: str, *, tokens: int) -> list[str]:
        return [Endless("word " * 5000)]


class KnowsTheKeys(Cheat):
    """Has learnt by heart what two users' last values are."""

    def recall(self, query: str, *, tokens: int) -> list[str]:
        is_ben = "pescetarian" in query or "Mon | Fri" in query
        diet = "pescetarian" if is_ben else "vegetarian"
        evenings = "Mon | Fri" if is_ben else "Tue | Thu"
        return [f'user: "diet": "{diet}", "training_goal": "half-marathon (21,1 km)", "evenings {{free}}": "{evenings}"']
