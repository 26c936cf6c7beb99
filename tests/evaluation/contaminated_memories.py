"""Memories that carry a released data.json, in the file beside this one. The tests load this file as a user's own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.memories.events import MemoryEvent

USERS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("data.json").read_text(encoding="utf-8"))


def messages_of(user: dict[str, Any], *, until: datetime, names: Sequence[str] = ()) -> Iterator[str]:
    """The released messages of a user up to this time; only those that tell one of these values, where names are given."""
    for period in user["periods"]:
        for session in period["sessions"]:
            at = datetime.fromisoformat(session["session_time"])
            if at <= until and (not names or session["exposed_states"].keys() & set(names)):
                yield f"user: {session['query']}"


class Carrier:
    """Remembers nothing but when it was last told something, and which of the released users that was."""

    def __init__(self) -> None:
        self.now = datetime.min
        self.user: dict[str, Any] | None = None

    def write(self, events: Sequence[MemoryEvent]) -> None:
        for event in events:
            if event.at is not None:
                self.now = max(self.now, event.at.replace(tzinfo=None))
            for user in USERS:
                if any(session["query"] in event.text for period in user["periods"] for session in period["sessions"]):
                    self.user = user

    def recall(self, query: str, *, tokens: int) -> list[str]:
        return []


class AnswersForItsUser(Carrier):
    def recall(self, query: str, *, tokens: int) -> list[str]:
        return list(messages_of(self.user, until=self.now)) if self.user else []


class LooksUpTexts(Carrier):
    def recall(self, query: str, *, tokens: int) -> list[str]:
        for user in USERS:
            for question in user["qas"]:
                if all(choice["answer"] in query for choice in question["answer_choices"]):
                    return list(messages_of(user, until=self.now, names=question["required_info"]))
        return []
