"""What must hold of one benchmark, in one value, from which its checks and its quality report follow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assets.engine.benchmark import Benchmark
from validation.expectations.validate import TableExpectations
from validation.report.builder import MakeBuilder, minimal_builder
from validation.report.page import render_minimal_page
from validation.rules import Rule


@dataclass(frozen=True)
class CheckOutcome:
    """What a check of the report came to, as Dagster shows it."""

    passed: bool
    description: str
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class ReportCheck:
    """A check of the report that blocks a release, beside those that every report has."""

    name: str
    description: str
    outcome: Callable[[Any], CheckOutcome]


def no_metadata(_: Any) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class ReportSpec:
    """What a benchmark's quality report is. Without any of this it counts, and lists rules, columns and failures.

    `render` gives the HTML page, `metadata` what the Dagster UI shows beside what every report has, `sources` the code that
    the asset names as its own.
    """

    builder: MakeBuilder = minimal_builder
    render: Callable[[Any], str] = render_minimal_page
    metadata: Callable[[Any], dict[str, Any]] = no_metadata
    checks: tuple[ReportCheck, ...] = ()
    description: str = "How good the finished set is, as a record and a page: rules, columns of the tables, what was replaced."
    tags: Mapping[str, str] = field(default_factory=lambda: {"asks_a_model": "no"})
    sources: tuple[Callable[..., Any], ...] = ()


@dataclass(frozen=True)
class Validation:
    """A benchmark's rules by stage, what it expects of its tables, and its quality report.

    A stage without rules has no checks. Expectations that follow from the classes of the tables' rows need not be given,
    and a report with rules, columns and failures is made for every benchmark.
    """

    benchmark: Benchmark
    rules: Mapping[str, tuple[Rule, ...]] = field(default_factory=dict[str, tuple[Rule, ...]])
    expectations: TableExpectations = field(default_factory=TableExpectations)
    report: ReportSpec = field(default_factory=ReportSpec)
