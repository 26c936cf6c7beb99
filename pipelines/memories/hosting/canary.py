"""Writes that can be recalled only later: a memory finishes them itself (`settle()`), or is waited for (`settle=SECONDS`).

A canary shows that the wait was long enough: another memory of the same kind is told something when the wait begins, and must
recall it when it ends. So it stands in no memory that is evaluated.
"""

from collections.abc import Sequence

from pipelines.errors import EvaluationError
from pipelines.memories.contract import MemoryEvent

CANARY = "wrenhollow"  # which nobody else would say
BOAT_QUERY = "What do you know of my boat, and what is it called?"
CANARY_TOKENS = 2000


class MemoryLags(EvaluationError):
    """What is written cannot be recalled in time, so that every answer would be asked too early: the run stops."""


def boat_named(word: str) -> str:
    """Return a message of which `BOAT_QUERY` asks for the word."""
    return f"My new boat is called {word}, and {word} is my favourite word of all."


def canary_events(*, like: Sequence[MemoryEvent]) -> list[MemoryEvent]:
    """Return what a canary is told, at the time of these events."""
    at = like[-1].at if like else None
    events = list[MemoryEvent]()
    # A memory that keeps the last messages apart has to store the first.
    for said in (boat_named(CANARY), "The weather was fine today, nothing else."):
        events += [MemoryEvent(said, "user", at), MemoryEvent("That is good to know.", "assistant", at)]
    return events


def check_canary(recalled: Sequence[str], *, name: str, seconds: float) -> None:
    """Raise MemoryLags where the canary is not among what was recalled after so many seconds."""
    if CANARY not in " ".join(recalled).lower():
        raise MemoryLags(
            f"Memory {name!r} does not recall after {seconds:g} seconds what it is told, so that questions would be asked too "
            "early; raise the option settle, or give the memory a method `settle` that ends when it has finished its work."
        )
