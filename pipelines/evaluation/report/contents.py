"""The contents of a run's report: sections with sentences, tables and charts, once for Markdown, terminal and page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from assets.records.estimate import Estimate
from assets.reporting.plurals import counted
from pipelines.evaluation.arms import arms_section
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.isolated import CONDITIONS
from pipelines.evaluation.metrics.fresh import FreshScore
from pipelines.evaluation.metrics.isolated_scores import IsolatedScores
from pipelines.evaluation.metrics.metrics import TABLE
from pipelines.evaluation.metrics.operations import operations_section
from pipelines.evaluation.metrics.own import own_metrics_of
from pipelines.evaluation.metrics.results import Fidelity, Results
from pipelines.evaluation.records import FAILURES
from pipelines.evaluation.report.formatting import (
    beside_the_paper,
    boundary_note,
    embedded_model_note,
    gives_back_everything,
    loss_mark,
    loss_notes,
    more_models_note,
    nothing_recalled,
    opened_note,
    price_note,
    reading_order,
    unread_answers,
)
from pipelines.evaluation.report.numbers import format_number, metric_label
from pipelines.evaluation.report.sections import Block, LineChart, PeriodSeries, ReportSection, ReportTable

FRESH_TITLE = "Users that nobody has seen"
ISOLATED = (*CONDITIONS, "gain", "gain_share")
ISOLATED_HEAD = ("S: memory", "N: none", "O: needed facts", "F: everything", "S - N", "(S - N) / (O - N)")


def run_notes(run: FinishedRun) -> list[str]:
    """Return the sentences that a reader of the scores has to know."""
    notes = [
        *loss_notes(run),
        price_note(run.results),
        unread_answers(run),
        nothing_recalled(run),
        gives_back_everything(run),
        reading_order(run),
        boundary_note(run.manifest),
        more_models_note(run.manifest),
        opened_note(run),
        run.results.control.sentence if run.results.control else "",
        run.fresh.sentence if run.fresh else "",
        embedded_model_note(run),
        beside_the_paper(run.manifest),
        run.results.no_memory_score,
    ]
    return list(filter(None, notes))


def run_contents(run: FinishedRun) -> Iterator[ReportSection]:
    """Yield the sections of a run's report, in order; none that the run has nothing for."""
    results = run.results
    named = {run.manifest.memory.name: results}
    yield ReportSection("scores", "Scores", [metric_table(results.metrics, mark=loss_mark(results))])
    if results.isolated:
        yield ReportSection("isolated", "Isolated scores", [isolated_rows(named)])
    if results.arms:
        yield arms_section(results.arms)
    if run.fresh:
        yield ReportSection("fresh", FRESH_TITLE, [fresh_rows({run.manifest.memory.name: run.fresh})])
    own = own_metrics_of(run.manifest.mode)
    if own is not None:
        yield from own.sections(results.own)
    if results.isolated_by and not (own and own.groups_answers):
        yield ReportSection("lengths", "By length, and by needed facts", [_isolated_groups(results), *_group_charts(results)])
    if results.curve:
        points = [(point.tokens, point.overall) for point in results.curve]
        chart = LineChart("tokens of recalled text", "overall", {"overall": points})
        yield ReportSection("budget", "Score against budget", [curve_rows(named), chart])
    yield ReportSection("baselines", "Baselines", [metric_table(results.baselines)])
    if results.periods:
        yield from _dialogue_sections(results)
    yield operations_section(results.operations)
    counts = [[name, f"{count:,}"] for name, count in results.counts.items()]
    yield ReportSection("counts", "Counts", [ReportTable(["what", "count"], counts)])
    yield ReportSection("took", "What it took", _spending(results))


def _dialogue_sections(results: Results) -> Iterator[ReportSection]:
    """Yield the sections that only benchmarks of dialogues have."""
    shown = {name: series for name, series in results.periods.items() if any(estimate.value is not None for estimate in series)}
    whole = _period_chart(shown, ("overall", "memory", "upper_bound", "random"), y="share")
    yield ReportSection("periods", "By period", [PeriodSeries(shown), whole])
    if shown.keys() & FAILURES:
        yield ReportSection("failures", "Failures over the periods", [_period_chart(shown, FAILURES, y="share of answers")])
    needed = _group_table("needed values", results.by_required)
    yield ReportSection("required", "By number of needed values", [needed])
    ages = _group_table("age", results.by_age)
    by_age = [(float(age), estimate) for age, estimate in results.by_age.items()]
    chart = LineChart("periods since told", "overall", {"overall": by_age})
    yield ReportSection("age", "By age of the oldest needed value, in periods", [ages, chart])
    yield ReportSection("simulator", "Simulated user", [_fidelity(results.fidelity)])


def metric_table(estimates: Mapping[str, Estimate], *, mark: str = "") -> ReportTable:
    """Return the metrics with their meanings and formulas, in the order of the table of metrics. `mark`: of what was lost."""
    rows = list[Sequence[str | Estimate]]()
    for entry in TABLE:
        if entry.name in estimates:
            rows.append([f"{metric_label(entry.name)}{mark}", estimates[entry.name], entry.meaning, entry.formula])
    return ReportTable(["", "", "meaning", "formula"], rows, whiskers=True)


def isolated_rows(named: Mapping[str, Results]) -> ReportTable:
    """Return S, N, O and F of each run by its name, and the memory's gain, with the same reasoner, budget and seed."""
    rows = list[Sequence[str | Estimate]]()
    for name, results in named.items():
        if results.isolated:
            rows.append([f"{name}{_unasked_mark(results.isolated)}", *_isolated_cells(results.isolated)])
    return ReportTable(["memory system", *ISOLATED_HEAD], rows)


def fresh_rows(named: Mapping[str, FreshScore]) -> ReportTable:
    """Return the scores on public and on fresh users of each run by its name."""
    rows = list[Sequence[str | Estimate]]()
    for name, score in named.items():
        mark = " (knows the release)" if score.knows_release else ""
        rows.append([f"{name}{mark}", str(len(score.users)), score.public, score.fresh, score.gap])
    return ReportTable(["memory system", "fresh", "public", "on fresh", "public minus fresh"], rows)


def _unasked_mark(scores: IsolatedScores) -> str:
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
        name = f"{group.value:,}{_unasked_mark(group.scores)}"
        rows.append([group.by, name, *_isolated_cells(group.scores), group.fact_recall, *tokens])
    return ReportTable(["by", "", *ISOLATED_HEAD, "fact recall", "tokens written", "tokens recalled"], rows)


def _group_charts(results: Results) -> Iterator[LineChart]:
    for by, x in (("length", "length in tokens"), ("facts", "needed facts")):
        groups = [group for group in results.isolated_by if group.by == by]
        lines = dict[str, Sequence[tuple[float, Estimate]]]()
        for condition in CONDITIONS:
            label = "no memory" if condition == "none" else condition
            lines[label] = [(group.value, getattr(group.scores, condition)) for group in groups]
        yield LineChart(x, "right", lines)


def curve_rows(named: Mapping[str, Results]) -> ReportTable:
    """Return overall by budget, a line for each run by its name."""
    scores: dict[str, dict[int, Estimate]] = {}
    for name, results in named.items():
        scores[name] = {point.tokens: point.overall for point in results.curve}
    return _side_by_side(scores, column="token")


def required_rows(named: Mapping[str, Results]) -> ReportTable:
    """Return overall by the number of needed values, a line for each run by its name."""
    scores: dict[str, dict[int, Estimate]] = {}
    for name, results in named.items():
        scores[name] = {int(count): overall for count, overall in results.by_required.items()}
    return _side_by_side(scores, column="needed value")


def _side_by_side(scores: Mapping[str, Mapping[int, Estimate]], *, column: str) -> ReportTable:
    """Return a line for each run, and a column for each number that any of them has."""
    numbers = sorted({number for own in scores.values() for number in own})
    rows = list[Sequence[str | Estimate]]()
    for name, own in scores.items():
        # Runs may have been asked at different budgets, or over different users.
        rows.append([name, *(own.get(number, "-") for number in numbers)])
    return ReportTable(["memory system", *(counted(number, column) for number in numbers)], rows)


def _period_chart(periods: Mapping[str, Sequence[Estimate]], names: Iterable[str], *, y: str) -> LineChart:
    lines = {metric_label(name): list(enumerate(periods[name])) for name in names if name in periods}
    return LineChart("period", y, lines)


def _group_table(name: str, groups: Mapping[str, Estimate]) -> ReportTable:
    return ReportTable([name, "overall"], list(groups.items()))


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
    each = [[metric_label(name), cost] for name, cost in results.costs.items()]
    blocks: list[Block] = [
        ReportTable(["purpose", "calls", "input tokens", "output tokens", "cost"], rows),
        ReportTable(["each", ""], each, digits=4, missing="unknown"),
    ]
    return blocks
