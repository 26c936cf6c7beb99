"""The program that looks whether a boundary holds: it tries what foreign code must not do, and answers what it could do."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it runs where this project is not to be seen
    from assets.isolation.confine import Boundary, Tell


def main(boundary: "Boundary") -> None:
    def attempts(tell: "Tell") -> None:
        for name in _what_is_possible(boundary.job["hidden"], boundary.job["shown"]):
            tell(name.encode())
        tell(b"done")

    outcome = boundary.run(attempts, most_lines=10, memory_mb=64, silent=(10, 10), seconds=10)
    boundary.answer(b",".join(outcome.lines))


def _what_is_possible(hidden: str, shown: str) -> list[str]:
    import _socket

    attempts = {
        "read a file outside": lambda: os.open(hidden, os.O_RDONLY),
        "write a file": lambda: os.open(f"{shown}/left", os.O_WRONLY | os.O_CREAT),
        "start a process": os.fork,
        "open a socket": lambda: _socket.socket(_socket.AF_UNIX),
        "signal another process": lambda: os.kill(os.getppid(), 0),
    }
    possible: list[str] = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            continue
        possible.append(name)
    return possible
