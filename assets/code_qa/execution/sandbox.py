"""Calls of a package's functions, made inside the boundary of the system; the package is never imported in our process."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, ValidationError, model_validator

from assets.code_qa.records.behaviours import is_literal
from assets.code_qa.records.sources import CodeFile
from assets.isolation.boundary import Kind, run_isolated
from assets.recipe.code_qa import SandboxLimits
from assets.records.paths import path_inside

WORKER = Path(__file__).with_name("worker.py")
MOST_CHARACTERS = 2000  # of a result
# Processes at once, whatever number of items is worked on.
PROCESSES = ThreadPoolExecutor(max_workers=max(1, os.cpu_count() or 1), thread_name_prefix="sandbox")

Status = Literal["returns", "raises", "no_literal", "too_long", "too_slow", "refused", "unimportable", "died"]


class CalledFunction(BaseModel):
    """A function of a module and the calls to make: lists of literals, keywords as name=literal. `source` replaces it."""

    module: str
    name: str
    calls: tuple[tuple[str, ...], ...]
    source: str = ""


class CallReport(BaseModel):
    """The report of a call. `text` is a literal or an exception's name; `own`: a raise statement of the package raised it.

    `traceback` is that of what the package raised itself; `lines` are the lines that ran in the function's file.
    """

    status: Status
    text: Annotated[str, Field(max_length=MOST_CHARACTERS)] = ""
    own: bool = False
    traceback: Annotated[str, Field(max_length=MOST_CHARACTERS)] = ""
    lines: tuple[int, ...] = ()

    @model_validator(mode="after")
    def text_is_of_its_status(self) -> Self:
        """Foreign code may have told it."""
        if self.status == "returns":
            if not is_literal(self.text):
                raise ValueError("A result is a literal.")
        elif self.text and not self.text.isidentifier():
            raise ValueError("An exception has a name.")
        if self.traceback and self.traceback.rpartition("\n")[2].partition(":")[0] != self.text:
            raise ValueError("A traceback ends in its exception.")
        return self


LOST = CallReport(status="died")


def run_calls(
    functions: Sequence[CalledFunction],
    *,
    files: Sequence[CodeFile],
    limits: SandboxLimits,
    hash_seed: int,
    kind: Kind | None = None,
) -> list[list[CallReport]]:
    """Return a report for each call of each function, in order. Blocks until all are made; run it in `PROCESSES`.

    `kind`: another boundary than the first that this machine has. Raises NoBoundary.
    """
    count = sum(len(function.calls) for function in functions)
    if not count:
        return [[] for _ in functions]
    with tempfile.TemporaryDirectory(prefix="code-") as folder:
        for file in files:
            path = path_inside(Path(folder), file.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")
        job = {"root": folder, "limits": limits.model_dump(), "functions": [function.model_dump() for function in functions]}
        # For each call ten calls' time to import, and five to be made, on a machine that has other things to do.
        seconds = limits.seconds * (10 + 15 * count)
        told = run_isolated(WORKER, job=job, folder=Path(folder), seconds=seconds, hash_seed=hash_seed, kind=kind)
    # Calls of which the process told nothing before it ended are lost.
    reports = chain(_reports(told), repeat(LOST))
    return [list(islice(reports, len(function.calls))) for function in functions]


def _reports(told: bytes) -> Iterator[CallReport]:
    for line in told.splitlines():
        try:
            yield CallReport.model_validate_json(line)
        except ValidationError:
            yield LOST
