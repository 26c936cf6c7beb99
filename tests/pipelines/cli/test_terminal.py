"""What a running command shows: a line that lives on a terminal, plain lines elsewhere."""

import io
import os
import pty
import subprocess
import sys
from dataclasses import replace

from rich.console import Console

from assets.engine.ports import StageProgress
from pipelines.cli.terminal import LINE_SECONDS, LiveProgress

UNDER_WAY = StageProgress(
    stage="answers", unit="demo", done=1, total=3, failed=0, calls=12, repeated=2, seconds=4.0, noun="user", cost_usd=0.0125
)
PROGRAM = """
import os, time
from pipelines.cli.terminal import LiveProgress, stderr_console
from tests.pipelines.cli.test_terminal import UNDER_WAY

with LiveProgress(stderr_console()) as live:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # as Dagster does while a step runs
    live.show(UNDER_WAY)
    time.sleep(0.3)
"""


def test_a_stage_under_way_is_shown_on_the_terminal_although_dagster_redirects_stderr() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "140"}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = read_all(ours)
    assert process.returncode == 0, shown
    assert "demo: answers" in shown
    assert "1/3 users, 12 calls, 0 replies awaited, $0.0125 so far" in shown


def read_all(descriptor: int) -> str:
    """What is written on a terminal until nobody has it open any more, which Linux says with an error."""
    parts = list[bytes]()
    with os.fdopen(descriptor, "rb", buffering=0) as terminal:
        try:
            while part := terminal.read(4096):
                parts.append(part)
        except OSError:
            pass
    return b"".join(parts).decode(errors="replace")


def lines_without_terminal(*progress: StageProgress, seconds: float, quiet: bool = False) -> list[str]:
    """What is printed where so many seconds pass between one progress and the next."""
    written, now = io.StringIO(), 0.0
    with LiveProgress(Console(file=written), quiet=quiet, clock=lambda: now) as live:
        for one in progress:
            live.show(one)
            now += seconds
    return written.getvalue().splitlines()


def test_without_a_terminal_a_stage_has_a_line_when_it_is_done_and_one_now_and_then() -> None:
    done = replace(UNDER_WAY, done=3)
    told = "answers of demo: 3 of 3 users, 12 calls (2 from the cache, 3.0/s)"
    assert lines_without_terminal(UNDER_WAY, done, done, seconds=0.5) == [told]
    line = "answers of demo: 1 of 3 users, 12 calls (2 from the cache, 3.0/s), 0 replies awaited, $0.0125 so far"
    assert lines_without_terminal(UNDER_WAY, UNDER_WAY, UNDER_WAY, done, seconds=LINE_SECONDS) == [line, line, told]


def test_quiet_shows_no_progress() -> None:
    assert lines_without_terminal(UNDER_WAY, replace(UNDER_WAY, done=3), seconds=LINE_SECONDS, quiet=True) == []
