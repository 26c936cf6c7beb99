"""What a running command shows: a line that lives on a terminal, plain lines elsewhere."""

import io
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from assets.engine.ports import StageProgress
from assets.engine.progress import Steps
from assets.records.base import Failure
from pipelines.cli.terminal import (
    LINE_SECONDS,
    LiveProgress,
    TextConsole,
    print_markdown,
    print_plain,
    print_table,
    stdout_console,
)
from pipelines.errors import EvaluationError, sentence_of

UNDER_WAY = StageProgress(
    stage="answers",
    unit="demo",
    seconds_left=45.0,
    done=1,
    total=3,
    calls=12,
    repeated=2,
    seconds=4.0,
    noun="user",
    cost_usd=0.0125,
    rate=3.0,
)
PROGRAM = """
import os
from pipelines.cli.terminal import LiveProgress, stderr_console
from tests.pipelines.cli.test_terminal import UNDER_WAY

with LiveProgress(stderr_console()) as live:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # as Dagster does while a step runs
    live.show(UNDER_WAY)
"""


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (140, "1/3 users, 12 calls, 3.0/s, $0.0125, 45 s left, 0 awaited, 2 from the cache"),
        (80, "1/3 users, 12 calls, 3.0/s, $0.0125, 45 s left, 0 awaited"),
        (40, "1/3 users, 12 calls"),
    ],
)
def test_a_stage_under_way_is_one_line_of_a_terminal_of_any_width_although_dagster_redirects_stderr(
    columns: int, told: str
) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns)}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = read_all(ours)
    assert process.returncode == 0, shown
    lines = {line.rstrip() for line in re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown))}
    assert any("demo: answers" in line and told in line for line in lines), lines
    assert max(map(len, lines)) <= columns


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
    told = "answers of demo: 3 of 3 users, 12 calls (2 from the cache)"
    assert lines_without_terminal(UNDER_WAY, done, done, seconds=0.5) == [told]
    line = (
        "answers of demo: 1 of 3 users, 12 calls (2 from the cache, 3.0/s), 0 replies awaited, $0.0125 so far, about 45 s left"
    )
    assert lines_without_terminal(UNDER_WAY, UNDER_WAY, UNDER_WAY, done, seconds=LINE_SECONDS) == [line, line, told]


def test_who_was_given_up_why_and_where_all_of_them_stand_is_told_when_the_stage_is_done() -> None:
    failures = [
        Failure(
            item_id=f"u{n}",
            position=n,
            stage="answers",
            reason="gate_exhausted",
            message=f"Answer {n}.",
            last_reply="",
        )
        for n in range(5)
    ]
    _, *told = lines_without_terminal(replace(UNDER_WAY, done=3, given_up=failures), seconds=1.0)
    assert told[:2] == [
        "  given up: user u0 at answers: Answer 0.",
        "  given up: user u1 at answers: Answer 1.",
    ]
    assert told[3:] == [
        "  and 2 more users.",
        "  Items of the reserve replace them. The files failures.parquet of the snapshots list all that were given up.",
    ]


def test_quiet_shows_no_progress() -> None:
    assert lines_without_terminal(UNDER_WAY, replace(UNDER_WAY, done=3), seconds=LINE_SECONDS, quiet=True) == []


HEAD = ("rank", "memory", "overall", "meaning")
ROWS = [
    ("1", "full-history", ".812 [.750, .871]", "The share of questions that were answered rightly"),
    ("2", "bm25", ".5", "Of all of them"),
]


def table_at(width: int) -> list[str]:
    written = io.StringIO()
    print_table(Console(file=written, width=width), HEAD, ROWS, title="Both")
    return [line.rstrip() for line in written.getvalue().splitlines()]


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_no_cell_of_a_table_is_cut_and_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = table_at(width)
    assert max(map(len, lines)) <= width
    told = " ".join(" ".join(lines).split())
    assert all(word in told for row in ROWS for cell in row for word in cell.split())


def test_a_table_that_is_too_wide_breaks_sentences_and_then_is_a_block_for_each_row() -> None:
    assert [line.split()[0] for line in table_at(80)[3:] if line[:1].strip()] == ["1", "2"]
    assert table_at(60)[1:4] == ["1", "  memory: full-history", "  overall: .812 [.750, .871]"]
    assert table_at(30)[1:4] == ["1", "  memory: full-history", "  overall: .812 [.750, .871]"]


@pytest.mark.parametrize("width", [*range(28, 140)])
def test_a_table_of_columns_is_printed_at_every_width(width: int) -> None:
    written = io.StringIO()
    head = ["group", "memory", *(f"metric {number}" for number in range(9))]
    print_table(Console(file=written, width=width), head, [["A", "bm25", *("0.5" for _ in range(9))]])
    assert max(map(len, written.getvalue().splitlines())) <= width
    assert written.getvalue().count("0.5") == 9


def test_a_table_of_many_columns_is_printed_as_several_that_name_their_rows() -> None:
    written = io.StringIO()
    head = ["group", "memory", *(f"metric {number}" for number in range(9))]
    rows = [["A", name, *(".5" for _ in range(9))] for name in ("bm25", "full-history")]
    print_table(Console(file=written, width=60), head, rows)
    lines = [line.split() for line in written.getvalue().splitlines()]
    assert [line[:2] for line in lines if line and line[0] == "A"] == [["A", "bm25"], ["A", "full-history"]] * 3
    assert max(map(len, written.getvalue().splitlines())) <= 60


def test_in_a_pipe_no_line_is_broken_or_coloured_unless_columns_are_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    sentence = " ".join(["word"] * 60)
    print_table(stdout_console(), ("rank", "meaning"), [("1", sentence)], title="Both")
    print_markdown(f"{sentence}\n\n| rank | meaning |\n|---|---|\n| 1 | {sentence} |")
    told = capsys.readouterr().out
    assert told.count(sentence) == 3
    assert "\x1b" not in told
    monkeypatch.setenv("COLUMNS", "80")
    assert stdout_console().width == 80


def test_numbers_stand_to_the_right() -> None:
    assert ".812 [.750, .871]   The share" in table_at(200)[3]
    assert "               .5   Of all" in table_at(200)[4]


def test_report_and_release_have_lines_that_stay_and_the_time_of_checks_is_counted() -> None:
    written = io.StringIO()
    seconds = iter([0.0, 2.0, 5.0, 6.0])  # a stage ends; its checks; the release ends; its checks
    with LiveProgress(Console(file=written, force_terminal=True, width=120), clock=lambda: next(seconds)) as live:
        live.show(replace(UNDER_WAY, done=3))
        steps = Steps("demo: release", tell=live.show_step)
        steps.begin("writing tables, card and files")
        steps.end("0.1.0, 31 files")
    assert "demo: release: writing tables, card and files" in written.getvalue()
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.getvalue()).split("\r")[-1]
    assert not last.strip(), "the line of what is under way goes with the command's end"
    assert "demo: release 0.1.0, 31 files, 0 s" in written.getvalue()
    assert "demo: its checks" in written.getvalue()
    assert live.seconds_after == 3.0


def test_on_a_terminal_a_sentence_breaks_between_words_and_a_path_stays_whole() -> None:
    sentence = "The release is in /home/ada/benchmarks/of/lives/demo/0.1.0 and may be published."
    written = io.StringIO()
    print_plain(Console(file=written, force_terminal=True, width=30), sentence)
    lines = written.getvalue().splitlines()
    assert lines == ["The release is in", "/home/ada/benchmarks/of/lives/demo/0.1.0", "and may be published."]


def test_texts_of_others_steer_no_terminal() -> None:
    printed = io.StringIO()
    console = TextConsole(file=printed, force_terminal=True, width=80, color_system="standard")
    hostile = "one\x1b[2J\x1b]0;title\x07 two\x9b31m three\r\nfour\tfive"
    print_plain(console, hostile)
    print_table(console, ["name", "said"], [["a", hostile]], title="own")
    words = printed.getvalue()
    assert "\x1b[3m" in words  # the title, in italics
    assert [sign for sign in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\r") if sign in words] == []
    assert words.count("two31m three") == 2
    assert sentence_of(EvaluationError(hostile)) == "one two31m three\nfour\tfive"
