"""The program that makes released calls again, inside the boundary (`assets/isolation/`), with the standard library alone.

It shares nothing with the program that found the results: it imports from an archive, makes all calls in one process, in
order, and compares values, not texts. The job is JSON: `archive`, and `calls`, each as it is written with outcome and result.
It answers a line for each: after =, in hex, nothing where it came to the same, else what it came to.
"""

import ast
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it runs where this project is not to be seen
    from assets.isolation.confine import Boundary, Tell

MEGABYTES = 1024
# A pure function may import modules and look files up, and needs none of the other audited events.
HARMLESS = (
    "compile",
    "exec",
    "import",
    "marshal.",
    "object.",
    "code.",
    "builtins.id",
    "sys._getframe",
    "os.listdir",
    "os.scandir",
)


def guard(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse all that is not harmless: what is not known to be is not needed to call a pure function."""
    if event == "open":
        writes = isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        inside = str(arguments[0]).startswith((sys.path[0], sys.base_prefix, sys.prefix))
        if not writes and inside:
            return
    elif event.startswith(HARMLESS):
        return
    raise PermissionError(event)


def came_to(line: dict[str, str]) -> str:
    """Return "" when the call comes to what the line says, else a few words about what it comes to."""
    call = ast.parse(line["call"], mode="eval").body
    assert isinstance(call, ast.Call)
    module, _, name = ast.unparse(call.func).rpartition(".")
    values = list(map(ast.literal_eval, call.args))
    named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    try:
        result = getattr(importlib.import_module(module), name)(*values, **named)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a call may raise anything, and that is its result
        told = type(error).__name__
        return "" if (line["outcome"], line["result"]) == ("raises", told) else f"raises {told}"
    if line["outcome"] != "returns" or not same(result, ast.literal_eval(line["result"])):
        return f"returns {result!r}"[:300]
    return ""


def same(first: Any, other: Any) -> bool:
    """Return True when two values are equal and of the same types, in all their parts."""
    if type(first) is not type(other) or first != other:
        return False
    if isinstance(first, list | tuple):
        return all(map(same, first, other))  # pyright: ignore
    if isinstance(first, dict):
        return list(first) == list(other) and all(map(same, first.values(), other.values()))  # pyright: ignore
    return True


def main(boundary: "Boundary") -> None:
    job = boundary.job

    def make_again(tell: "Tell") -> None:
        sys.path.insert(0, os.path.realpath(job["archive"]))
        sys.addaudithook(guard)
        for call in job["calls"]:
            tell(b"=" + came_to(call).encode(errors="replace").hex().encode())

    seconds = job["seconds"]
    outcome = boundary.run(
        make_again, most_lines=len(job["calls"]), memory_mb=MEGABYTES, silent=(seconds, seconds), seconds=seconds
    )
    for line in outcome.lines:
        boundary.answer(line)
