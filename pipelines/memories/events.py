"""What a memory is given to write. A module that imports next to nothing: the processes of foreign memories begin with it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

EventKind = Literal["user", "assistant", "document", "tool"]


@dataclass(frozen=True)
class MemoryEvent:
    """Something that was perceived. `at`: its time in the episode, if it has one. `source`: what names it, such as a title."""

    text: str
    kind: EventKind
    at: datetime | None = None
    source: str = ""

    @property
    def time(self) -> str:
        """Its time as a line begins with it; "" where it has none."""
        return f"[{self.at.isoformat(sep=' ')}] " if self.at else ""

    @property
    def line(self) -> str:
        """The event as one line: its time, who or what it is, and its words."""
        source = f" ({self.source})" if self.source else ""
        return f"{self.time}{self.kind}{source}: {' '.join(self.text.split())}"
