"""What must hold of one benchmark, in one value, from which its checks and its quality report follow."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assets.engine.benchmark import Benchmark
from validation.expectations.validate import TableExpectations
from validation.report.builder import ReportSpec
from validation.rules import Rule


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
