"""The matrix's rows: each is printed when its cell is done, and all of them as a table at the end, also from many workers."""

import os
import signal
from collections.abc import Callable, Generator, Iterable
from dataclasses import astuple, fields
from functools import cache
from pathlib import Path

import pytest

from pipelines.embedded.app import embedded_app
from tests.faults.runs import Row, digest, end, start
from tests.pipelines.llm.scripted_server import on_a_port

ROW = "row of the matrix"
NAMES = tuple(field.name for field in fields(Row))
ROWS: list[str] = []


def line(cells: Iterable[object]) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |"


@pytest.fixture
def note(record_property: Callable[[str, object], None]) -> Callable[[Row], None]:
    """Takes down a row; it reaches the table with the test's report, from another process too."""
    return lambda row: record_property(ROW, line(astuple(row)))


@pytest.fixture(scope="session")
def undisturbed_home(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The data folder in which a shape was made when nothing went wrong."""

    @cache
    def make(shape: str) -> Path:
        home = tmp_path_factory.mktemp("undisturbed")
        with on_a_port(embedded_app()) as url:
            ended = end(start(home, url, shape=shape))
        assert ended.status == 0, ended.output
        return home

    return make


@pytest.fixture(scope="session")
def of_shape(undisturbed_home: Callable[[str], Path]) -> Callable[[str], str]:
    """The digest of a shape's data when nothing goes wrong."""
    return lambda shape: digest(undisturbed_home(shape), shape)


@pytest.fixture(scope="session")
def undisturbed(of_shape: Callable[[str], str]) -> str:
    """The digest of the demo's data when nothing goes wrong."""
    return of_shape("demo")


@pytest.fixture(scope="session", autouse=True)
def _commands_hear_ctrl_c() -> Generator[None]:
    """A shell ignores SIGINT for what runs in the background, and all who are started from there inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Print a cell's rows, because the whole takes hours."""
    if report.when == "teardown" and "PYTEST_XDIST_WORKER" not in os.environ:
        found = [str(value) for name, value in report.user_properties if name == ROW]
        ROWS.extend(found)
        print("", *found, sep="\n", flush=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the cells showed."""
    for row in [line(NAMES), line(["---"] * len(NAMES)), *ROWS] if ROWS else []:
        terminalreporter.write_line(row)
