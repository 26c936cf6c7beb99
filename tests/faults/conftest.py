"""The matrix's rows, printed as a table when all cells are done."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields

import pytest


@dataclass(frozen=True)
class Row:
    """What one cell showed. `silence`: the longest time between two good replies, in seconds. `wasted`: replies paid twice."""

    cell: str
    users: str
    wasted: int
    silence: float
    seconds: float
    ending: str


class Table(list[Row]):
    """Rows that are printed as they come, because the whole takes hours."""

    def append(self, row: Row, /) -> None:
        print(f"\n{line(astuple(row))}", flush=True)
        super().append(row)


def line(cells: Iterable[object]) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(map(str, cells))} |"


ROWS = Table()


@pytest.fixture(scope="session")
def table() -> list[Row]:
    """The rows of the cells so far."""
    return ROWS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the cells showed."""
    names = [field.name for field in fields(Row)]
    for cells in [names, ["---"] * len(names), *(astuple(row) for row in ROWS)] if ROWS else []:
        terminalreporter.write_line(line(cells))
