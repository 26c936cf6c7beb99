"""A benchmark's rules, expectations and report as one value, from which its checks and its quality report follow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from assets.engine.benchmark import Benchmark
from assets.records.estimate import Estimate
from validation.expectations.validate import TableExpectations
from validation.report.builder import MakeBuilder, MinimalReportBuilder
from validation.report.page import render_minimal_page
from validation.rules import Rule


@dataclass(frozen=True)
class CheckOutcome:
    """The result of a check of the report, as Dagster shows it."""

    passed: bool
    description: str
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


def values_by_name(estimates: Mapping[str, Estimate]) -> dict[str, float]:
    """Return the values that there are as metadata of a check; Dagster draws each over the runs."""
    values: dict[str, float] = {}
    for name, estimate in estimates.items():
        if estimate.value is not None:
            values[name.replace(" ", "_")] = estimate.value
    return values


@dataclass(frozen=True)
class ReportCheck:
    """A check of the report that blocks a release, beside those that every report has."""

    name: str
    description: str
    outcome: Callable[[Any], CheckOutcome]


@dataclass(frozen=True)
class ReportSpec:
    """The parts of a quality report that a benchmark adds. Without them it counts, and lists rules, columns and failures.

    `render` returns the HTML page, `metadata` the benchmark's own metadata for the Dagster UI; `sources` is the code that the
    asset links to.
    """

    builder: MakeBuilder = MinimalReportBuilder
    render: Callable[[Any], str] = render_minimal_page
    metadata: Callable[[Any], dict[str, Any]] = lambda _: {}
    checks: tuple[ReportCheck, ...] = ()
    description: str = "How good the finished set is, as a record and a page: rules, columns of the tables, what was replaced."
    tags: Mapping[str, str] = field(default_factory=lambda: {"asks_a_model": "no"})
    sources: tuple[Callable[..., Any], ...] = ()


@dataclass(frozen=True)
class Validation:
    """A benchmark's rules by stage, what it expects of its tables, and its quality report.

    A stage without rules has no checks. Expectations that follow from the classes of the tables' rows need not be given.
    `source_check`: the asset check that the items' source is as it was when the recipe was resolved.
    """

    benchmark: Benchmark
    rules: Mapping[str, tuple[Rule, ...]] = field(default_factory=dict[str, tuple[Rule, ...]])
    expectations: TableExpectations = field(default_factory=TableExpectations)
    report: ReportSpec = field(default_factory=ReportSpec)
    source_check: Any = None


def rules_by_stage(
    benchmark: Benchmark, package: str, *, shared: Mapping[str, tuple[Rule, ...]] | None = None
) -> dict[str, tuple[Rule, ...]]:
    """Return each stage's rules: those shared with other benchmarks, then the `RULES` of its module in the package.

    A stage's module, its place in `shared` and what rules read have its name without the benchmark's prefix. `package` is ""
    where a benchmark has no rules of its own.
    """
    rules: dict[str, tuple[Rule, ...]] = {}
    for stage in benchmark.stages:
        name = stage.name.removeprefix(benchmark.prefix)
        found = [*(shared or {}).get(name, ())]
        if package and find_spec(f"{package}.{name}") is not None:
            found += import_module(f"{package}.{name}").RULES
        rules[stage.name] = tuple(replace(rule, reads=tuple(map(benchmark.key, rule.reads))) for rule in found)
    return rules
