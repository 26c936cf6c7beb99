"""Calls of a package's functions, made in a process of their own under limits. The package is never imported in ours.

What holds code back, from the strongest to the weakest:
- a process that is killed with all its children, whose address space, processing time, open files, processes and size of
  written files (none) the kernel limits; on Linux, where user namespaces are allowed, without network and without sight of
  other processes;
- a forked child for the calls of each function, with a pipe to tell of its own results alone, and no other output; where a
  call ends it, another one makes the calls after it;
- a budget of lines, after which a call is too slow on any machine;
- an audit hook, which refuses to open files for writing, to read outside of the package and the standard library, sockets,
  programs, signals, and native code by ctypes. What it refused is no behaviour, even where the function went on.

What this is not: a wall against somebody who writes a package in order to break out of it. The hook lives in the same
interpreter as the code, and code that looks for it in the interpreter's frames can take it out and tell a result of its
choice, for its own call. The limits of the kernel stand even then, but reading what the user may read is only refused by
the hook. So run packages that one would install anyway.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from assets.code_qa.records.behaviours import SandboxLimits
from assets.code_qa.records.sources import CodeFile

WORKER = Path(__file__).with_name("worker.py")
MOST_BYTES = 64_000_000  # of all reports
CHUNK = 65_536
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
    """What came of a call. `text` is a literal or an exception's name; `own`: a raise statement of the package raised it.

    `lines` are the lines that ran in the function's file.
    """

    status: Status
    text: str = ""
    own: bool = False
    lines: tuple[int, ...] = ()


LOST = CallReport(status="died")


def run_calls(
    functions: Sequence[CalledFunction], *, files: Sequence[CodeFile], limits: SandboxLimits, hash_seed: int
) -> list[list[CallReport]]:
    """A report for each call of each function, in order. Blocks until all are made; run it in `PROCESSES`."""
    count = sum(len(one.calls) for one in functions)
    with tempfile.TemporaryDirectory(prefix="code-") as folder:
        for file in files:
            path = Path(folder) / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")
        job = {"root": folder, "limits": limits.model_dump(), "functions": [one.model_dump() for one in functions]}
        # Ten calls' time to import; a call may wait five times its time on a machine that has other things to do.
        told = _told(json.dumps(job).encode(), seconds=limits.seconds * (10 + 5 * count), hash_seed=hash_seed)
    reports = iter([_report(line) for line in told.split(b"\n") if line])
    return [[next(reports, LOST) for _ in one.calls] for one in functions]


def _told(job: bytes, *, seconds: float, hash_seed: int) -> bytes:
    """What the worker wrote until it ended, or until its time or the room for its reports was over."""
    with tempfile.TemporaryFile() as given:
        given.write(job)
        given.seek(0)
        # -I would ignore the seed of hashes as well; the environment has nothing else in it.
        command = [sys.executable, "-s", "-S", "-P", "-B", "-X", "utf8", str(WORKER)]
        environment = {"PYTHONHASHSEED": str(hash_seed), "TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        worker = subprocess.Popen(  # noqa: S603 - our own interpreter and script
            command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
        )
    assert worker.stdout is not None
    try:
        return _read(worker.stdout.fileno(), seconds)
    finally:
        _end(worker)


def _read(pipe: int, seconds: float) -> bytes:
    end = time.monotonic() + seconds
    told: list[bytes] = []
    while sum(map(len, told)) < MOST_BYTES:
        ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
        more = os.read(pipe, CHUNK) if ready else b""
        if not more:
            break
        told.append(more)
    return b"".join(told)


def _end(worker: "subprocess.Popen[bytes]") -> None:
    """Kill the worker with its group, in which its children are."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    if worker.stdout is not None:
        worker.stdout.close()


def _report(line: bytes) -> CallReport:
    try:
        return CallReport.model_validate_json(line)
    except ValidationError:
        return LOST
