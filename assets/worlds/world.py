"""The one World: what an agent acts in, whoever made it."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class World(Protocol):
    """What an agent acts in. Calls change it, and may block; nothing that an agent does raises. Close it after use."""

    @property
    def opening(self) -> str:
        """The user's first message."""
        ...

    @property
    def rules(self) -> str:
        """Whom the agent works for, and by which rules."""
        ...

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """Each tool as a prompt shows it: its name, what it does, and the JSON schema of its arguments."""
        ...

    @property
    def ended(self) -> bool:
        """Return True once the user has gone."""
        ...

    def writes(self, tool: str) -> bool:
        """Return True for a tool that changes something."""
        ...

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Return what a tool gives back, or a sentence that begins with `REFUSED`."""
        ...

    def say(self, text: str) -> str:
        """Return the user's reply."""
        ...

    @property
    def final_state(self) -> str:
        """What the grade reads beside the steps, once the episode has ended; "" for nothing."""
        ...

    def close(self) -> None:
        """Let go of whatever the world holds open."""
        ...
