"""What may go wrong with a request, one fault at a time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["status", "drop", "lost", "stall", "flip", "truncate", "before", "after"]


@dataclass
class Fault:
    """Befalls `times` requests of a route, after letting `skip` of them pass.

    status: answered so, undone. drop: the connection ends before anything is done; lost: after it is done. stall: done,
    but the answer takes `seconds`. flip, truncate: of the answer's body. before, after: `act` is called around the work.
    """

    route: str
    kind: Kind = "status"
    status: int = 503
    headers: dict[str, str] = field(default_factory=dict[str, str])
    times: int = 1
    skip: int = 0
    body: str = '{"error": "injected"}'
    seconds: float = 0.0
    act: Callable[[], None] = lambda: None


class Faults:
    """The faults still to come."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []

    def add(self, *faults: Fault) -> None:
        self._waiting.extend(faults)

    def clear(self) -> None:
        self._waiting.clear()

    def take(self, route: str) -> Fault | None:
        """The fault that this request meets."""
        for fault in self._waiting:
            if fault.route != route or not fault.times:
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            fault.times -= 1
            return fault
        return None
