"""The contents of a run's report: sections with sentences, tables and charts, once for Markdown, terminal and page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from assets.records.estimate import Estimate
from assets.reporting.plurals import counted
from pipelines.evaluation.arms import MEANINGS
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.isolated import CONDITIONS, IsolatedScores
from pipelines.evaluation.metrics.facts import FactFigures
from pipelines.evaluation.metrics.metrics import TABLE
from pipelines.evaluation.metrics.operations import MEANINGS as OPERATIONS
from pipelines.evaluation.metrics.operations import Operations
from pipelines.evaluation.metrics.results import Fidelity, Results
from pipelines.evaluation.report.formatting import (
    beside_the_paper,
    boundary_note,
    embedded_model_note,
    format_number,
    metric_label,
    nothing_recalled,
    unread_answers,
)

FAILURES = ("write_failure", "read_failure", "utilization_failure")
ISOLATED = (*CONDITIONS, "gain", "gain_share")
FACT_SHARES = ("right", "stale", "invented", "leaked", "not_known", "net", "in_texts")
FACTS_NOTE = (
    "Net is right less stale and leaked. In texts: a recalled text holds the value that was to be forgotten. Deleted facts are "
    "asked at once after the request, when the memory has finished its work (settled), after a mail has told them again, and "
    "at the end."
)
ISOLATED_HEAD = ("S: memory", "N: none", "O: needed facts", "F: everything", "S - N", "(S - N) / (O - N)")


@dataclass(frozen=True)
class ReportTable:
    """A table; estimates are shown with so many digits, and as `missing` where they do not exist.

    `whiskers`: the page draws each estimate's interval between 0 and 1 beside it. `users`: for each row, how many its estimates
    are over, where rows are of several runs.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str | Estimate]]
    digits: int = 3
    missing: str = "-"
    whiskers: bool = False
    users: Sequence[int] = ()


@dataclass(frozen=True)
class PeriodSeries:
    """Metrics by period; on the page a heat map whose cells open their answers."""

    metrics: Mapping[str, Sequence[Estimate]]


@dataclass(frozen=True)
class LineChart:
    """Lines by their labels, points of each from left to right; on the page alone. `top`: of the scale, else the highest."""

    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, Estimate]]]
    top: float | None = None


Block = str | ReportTable | PeriodSeries | LineChart


@dataclass(frozen=True)
class ReportSection:
    """A section; `key` names it in the page's address."""

    key: str
    title: str
    blocks: Sequence[Block]


def run_notes(run: FinishedRun) -> list[str]:
    """Return the sentences that a reader of the scores has to know."""
    notes = [
        unread_answers(run),
        nothing_recalled(run),
        boundary_note(run.manifest),
        run.results.control.sentence if run.results.control else "",
        embedded_model_note(run.manifest),
        beside_the_paper(run.manifest),
        run.results.no_memory_score,
    ]
    return list(filter(None, notes))


def run_contents(run: FinishedRun) -> Iterator[ReportSection]:
    """Yield the sections of a run's report, in order; none that the run has nothing for."""
    results = run.results
    own = {run.manifest.memory.name: results}
    yield ReportSection("scores", "Scores", [metric_table(results.metrics)])
    if results.isolated:
        yield ReportSection("isolated", "Isolated scores", [isolated_rows(own)])
    if results.arms:
        yield ReportSection("arms", "Controls in the memory's place", [_arms(results)])
    if results.episodes:
        yield ReportSection("episodes", "Episodes", [_episodes(results)])
    if results.facts:
        yield ReportSection("facts", "Facts", [FACTS_NOTE, facts_table(results.facts)])
    if results.isolated_by and not results.facts:
        yield ReportSection("lengths", "By length, and by needed facts", [_isolated_groups(results), *_group_charts(results)])
    if results.evidence_and_answers:
        yield ReportSection("evidence", "Evidence and answers", [_evidence(results)])
    if results.curve:
        points = [(point.tokens, point.overall) for point in results.curve]
        chart = LineChart("tokens of recalled text", "overall", {"overall": points}, top=1)
        yield ReportSection("budget", "Score against budget", [curve_rows(own), chart])
    yield ReportSection("baselines", "Baselines", [metric_table(results.baselines)])
    if results.periods:
        yield from _dialogue_sections(results)
    if results.operations:
        yield ReportSection("operations", "Operations of the memory", [_operations(results.operations)])
    counts = [[name, f"{count:,}"] for name, count in results.counts.items()]
    yield ReportSection("counts", "Counts", [ReportTable(["what", "count"], counts)])
    yield ReportSection("took", "What it took", _spending(results))


def _dialogue_sections(results: Results) -> Iterator[ReportSection]:
    """Yield the sections that only benchmarks of dialogues have."""
    yield ReportSection("probes", "State probes and answers", [_probes(results)])
    whole = _period_chart(results, ("overall", "memory", "upper_bound", "random"), y="share", top=1)
    yield ReportSection("periods", "By period", [PeriodSeries(results.periods), whole])
    failures = _period_chart(results, FAILURES, y="share of answers")
    yield ReportSection("failures", "Failures over the periods", [failures])
    needed = _grouped("needed values", results.by_required)
    yield ReportSection("required", "By number of needed values", [needed])
    ages = _grouped("age", results.by_age)
    by_age = [(float(age), estimate) for age, estimate in results.by_age.items()]
    chart = LineChart("periods since told", "overall", {"overall": by_age}, top=1)
    yield ReportSection("age", "By age of the oldest needed value, in periods", [ages, chart])
    yield ReportSection("simulator", "Simulated user", [_fidelity(results.fidelity)])


def metric_table(estimates: Mapping[str, Estimate]) -> ReportTable:
    """Return the metrics with their meanings and formulas, in the order of the table of metrics."""
    rows = list[Sequence[str | Estimate]]()
    for entry in TABLE:
        if entry.name in estimates:
            rows.append([metric_label(entry.name), estimates[entry.name], entry.meaning, entry.formula])
    return ReportTable(["", "", "meaning", "formula"], rows, whiskers=True)


def isolated_rows(named: Mapping[str, Results]) -> ReportTable:
    """Return S, N, O and F of each run by its name, and the memory's gain, with the same reasoner, budget and seed."""
    rows = list[Sequence[str | Estimate]]()
    users = list[int]()
    for name, results in named.items():
        if results.isolated:
            rows.append([f"{name}{_unasked(results.isolated)}", *_isolated_cells(results.isolated)])
            users.append(results.users)
    return ReportTable(["memory system", *ISOLATED_HEAD], rows, users=users)


def _arms(results: Results) -> ReportTable:
    rows = list[Sequence[str | Estimate]]()
    for arm in results.arms:
        rows.append([arm.name, MEANINGS[arm.name], f"{arm.items:,}", arm.right, arm.gain, arm.harm])
    return ReportTable(["arm", "in place of recalled text", "questions", "right", "minus none", "harm"], rows)


def _episodes(results: Results) -> ReportTable:
    rows = list[list[str]]()
    for one in results.episodes:
        passed = f"{one.passed:,} of {one.episodes:,}"
        means = [f"{mean:.1f}" for mean in (one.steps, one.lookups, one.writes, one.useless)]
        tokens = "-" if one.tokens_per_pass is None else f"{one.tokens_per_pass:,.0f}"
        shares = ["-" if share is None else f"{share:.0%}" for share in (one.fired, one.gave, one.filled)]
        asked = "-" if one.asked is None else f"{one.asked:.1f}"
        rows.append([one.kind.replace("_", " "), passed, *shares[:1], asked, *shares[1:], *means, tokens])
    memory = ["episodes in which the memory gave text", "times asked", "of these with text", "of these with a full budget"]
    head = ["asked with", "passed", *memory, "steps", "lookups", "writes", "no action or refused", "tokens per pass"]
    return ReportTable(head, rows)


def facts_table(figures: Sequence[FactFigures]) -> ReportTable:
    """Return the outcomes of each group of questions about facts."""
    rows = list[Sequence[str | Estimate]]()
    for one in figures:
        shares = [getattr(one, name) for name in FACT_SHARES]
        rows.append([one.by, one.value.replace("_", " "), f"{one.questions:,}", *shares])
    head = ["by", "", "questions", *(name.replace("_", " ") for name in FACT_SHARES)]
    return ReportTable(head, rows)


def _unasked(scores: IsolatedScores) -> str:
    """Return the mark of a line whose memory failed before some of its questions were asked."""
    if not scores.unasked:
        return ""
    return f" ({scores.unasked:,} of {scores.items:,} never asked, counted as wrong)"


def _isolated_cells(scores: IsolatedScores) -> Sequence[Estimate]:
    return attrgetter(*ISOLATED)(scores)


def _isolated_groups(results: Results) -> ReportTable:
    rows = list[Sequence[str | Estimate]]()
    for group in results.isolated_by:
        tokens = [f"{group.written_tokens:,.0f}", f"{group.recalled_tokens:,.0f}"]
        name = f"{group.value:,}{_unasked(group.scores)}"
        rows.append([group.by, name, *_isolated_cells(group.scores), group.fact_recall, *tokens])
    return ReportTable(["by", "", *ISOLATED_HEAD, "fact recall", "tokens written", "tokens recalled"], rows)


def _group_charts(results: Results) -> Iterator[LineChart]:
    for by, x in (("length", "length in tokens"), ("facts", "needed facts")):
        groups = [group for group in results.isolated_by if group.by == by]
        lines = dict[str, Sequence[tuple[float, Estimate]]]()
        for condition in CONDITIONS:
            label = "no memory" if condition == "none" else condition
            lines[label] = [(group.value, getattr(group.scores, condition)) for group in groups]
        yield LineChart(x, "right", lines, top=1)


def curve_rows(named: Mapping[str, Results]) -> ReportTable:
    """Return overall by budget, a line for each run by its name."""
    scores: dict[str, dict[int, Estimate]] = {}
    for name, results in named.items():
        scores[name] = {point.tokens: point.overall for point in results.curve}
    return _side_by_side(named, scores, column="token")


def required_rows(named: Mapping[str, Results]) -> ReportTable:
    """Return overall by the number of needed values, a line for each run by its name."""
    scores: dict[str, dict[int, Estimate]] = {}
    for name, results in named.items():
        scores[name] = {int(count): overall for count, overall in results.by_required.items()}
    return _side_by_side(named, scores, column="needed value")


def _side_by_side(named: Mapping[str, Results], scores: Mapping[str, Mapping[int, Estimate]], *, column: str) -> ReportTable:
    """Return a line for each run, and a column for each number that any of them has."""
    numbers = sorted({number for own in scores.values() for number in own})
    rows = list[Sequence[str | Estimate]]()
    for name, own in scores.items():
        # Runs may have been asked at different budgets, or over different users.
        rows.append([name, *(own.get(number, "-") for number in numbers)])
    users = [results.users for results in named.values()]
    return ReportTable(["memory system", *(counted(number, column) for number in numbers)], rows, users=users)


def _evidence(results: Results) -> ReportTable:
    found = results.evidence_and_answers
    rows = list[list[str]]()
    for recalled in ("all", "some", "none"):
        rows.append([recalled, f"{found[f'{recalled}, right']:,}", f"{found[f'{recalled}, not right']:,}"])
    return ReportTable(
        ["of the messages that state the needed values, recalled word for word", "answered rightly", "not"], rows
    )


def _probes(results: Results) -> ReportTable:
    found = results.probes_and_answers
    rows = list[list[str]]()
    for known in ("known", "not known"):
        rows.append([known, f"{found[f'{known}, right']:,}", f"{found[f'{known}, not right']:,}"])
    return ReportTable(["all needed values by the probes", "answered rightly", "not"], rows)


def _period_chart(results: Results, names: Iterable[str], *, y: str, top: float | None = None) -> LineChart:
    lines = {metric_label(name): list(enumerate(results.periods[name])) for name in names}
    return LineChart("period", y, lines, top=top)


def _grouped(name: str, groups: Mapping[str, Estimate]) -> ReportTable:
    return ReportTable([name, "overall"], list(groups.items()))


def _operations(operations: Operations) -> ReportTable:
    rows = list[Sequence[str | Estimate]]()
    for name, meaning in OPERATIONS.items():
        rows.append([metric_label(name), operation_label(operations, name), meaning])
    return ReportTable(["", "", "meaning"], rows)


def operation_label(operations: Operations | None, name: str) -> str:
    """Return one of the figures as tables show it; "-" where there is none."""
    value: float | None = getattr(operations, name, None)
    if name == "prefix_kept" and value is not None:
        return f"{100 * value:.1f} %"
    return format_number(value, digits=0 if name in ("stored_per_event", "tokens_per_right") else 2)


def _fidelity(fidelity: Fidelity) -> str:
    if fidelity.score is None:
        return "Every session consists of its opening query alone, so the simulated user said nothing of its own."
    kinds = ", ".join(f"{count} {kind}" for kind, count in fidelity.breaches.items()) or "none"
    return (
        f"Fidelity {format_number(fidelity.score)}: of {counted(fidelity.messages, 'message')} after the opening ones, "
        f"{fidelity.kept_with_breach:,} still tell a tracked value ({kinds}); {fidelity.asked_again:,} were asked for again."
    )


def _spending(results: Results) -> list[Block]:
    rows = list[Sequence[str | Estimate]]()
    for name, used in results.spending.items():
        dollars = "unknown" if used.usd is None else f"${used.usd:.4f}"
        rows.append([name, f"{used.calls:,}", f"{used.input_tokens:,}", f"{used.output_tokens:,}", dollars])
    each = [[metric_label(name), one] for name, one in results.costs.items()]
    blocks: list[Block] = [
        ReportTable(["purpose", "calls", "input tokens", "output tokens", "cost"], rows),
        ReportTable(["each", ""], each, digits=4, missing="unknown"),
    ]
    if results.lost_writes:
        was = "was" if results.lost_writes == 1 else "were"
        blocks.append(f"{counted(results.lost_writes, 'write')} to the memory failed twice and {was} lost.")
    return blocks
