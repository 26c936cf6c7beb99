"""Reports of runs in Markdown: scores with intervals, where memories were lost, and the usage."""

from collections.abc import Mapping, Sequence

from assets.records.estimate import Estimate
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.results import Results
from pipelines.evaluation.report.formatting import (
    LEADERBOARD_METRICS,
    MEANINGS,
    baseline_labels,
    format_estimate,
    format_number,
    metric_label,
    mode_label,
    run_labels,
    settings_line,
    table,
)


def best_first(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The runs by their memory score, the highest first."""
    return sorted(runs, key=lambda run: -(run.results.metrics["memory"].value or 0.0))


def leaderboard(runs: Sequence[FinishedRun]) -> str:
    """One line for each run, the best memory first, and below them what needs no memory or has a perfect one."""
    names = run_labels(runs)
    best, *_ = board = best_first(runs)
    head = [
        "assistant",
        "mode",
        *map(metric_label, LEADERBOARD_METRICS),
        "upper bound",
        "tokens/answer",
        "$/1000 answers",
        "s/answer",
        "unscored",
    ]
    baselines = [
        [label, "baseline", format_estimate(best.results.baselines[name]), *[""] * (len(head) - 3)]
        for name, label in baseline_labels(names[best.manifest.run_id]).items()
    ]
    return table(head, [*(_line(run, names[run.manifest.run_id]) for run in board), *baselines])


def _line(run: FinishedRun, name: str) -> list[str]:
    results = run.results
    return [
        name,
        run.manifest.mode,
        *(format_estimate(results.metrics[name]) for name in LEADERBOARD_METRICS),
        format_estimate(results.baselines["upper_bound"]),
        format_number(results.costs["input_tokens_per_answer"].value, digits=0),
        format_estimate(results.costs["usd_per_1000_answers"], digits=4, missing="unknown"),
        format_estimate(run.latency.mean, digits=2, missing="unknown"),
        str(results.counts.get("question.unscored", 0)),
    ]


def period_table(runs: Sequence[FinishedRun], name: str) -> str:
    """One of the series, a line for each run and a column for each period."""
    names = run_labels(runs)
    board = [(names[run.manifest.run_id], run.results.periods[name]) for run in best_first(runs)]
    head = ["assistant", *map(str, range(max(len(series) for _, series in board)))]
    return table(head, [[assistant, *(format_number(one.value) for one in series)] for assistant, series in board])


def run_report(run: FinishedRun) -> str:
    """The whole report of one run."""
    manifest, results = run.manifest, run.results
    settings = settings_line(manifest.assistant)
    parts = [
        f"# {manifest.assistant.name} on {manifest.dataset}",
        f"Run `{manifest.run_id}`, {mode_label(manifest)}; {len(manifest.users)} users; {settings}; user simulated by "
        f"{manifest.simulator}.",
        "Brackets hold 95 % intervals over users (bootstrap, expanded percentile).",
        *_section("Scores", _estimates(results.metrics)),
        *_section("Baselines", _estimates(results.baselines)),
        *_section("By period", _periods(results)),
        *_section("By number of needed values", _groups("needed values", results.by_required)),
        *_section("By age of the oldest needed value, in periods", _groups("age", results.by_age)),
        *_section("Simulated user", _fidelity(results)),
        *_section("Counts", table(["what", "count"], [[name, f"{count:,}"] for name, count in results.counts.items()])),
        *_section("What it took", _spending(results)),
    ]
    return "\n\n".join(parts) + "\n"


def _section(title: str, content: str) -> tuple[str, str]:
    return f"## {title}", content


def _estimates(estimates: Mapping[str, Estimate]) -> str:
    return table(
        ["", "", "meaning"], [[metric_label(name), format_estimate(one), MEANINGS[name]] for name, one in estimates.items()]
    )


def _periods(results: Results) -> str:
    series = results.periods
    count = max(map(len, series.values()), default=0)
    return table(
        ["period", *map(metric_label, series)],
        [[str(p), *(format_estimate(s[p]) for s in series.values())] for p in range(count)],
    )


def _groups(name: str, groups: Mapping[str, Estimate]) -> str:
    return table([name, "overall"], [[value, format_estimate(estimate)] for value, estimate in groups.items()])


def _fidelity(results: Results) -> str:
    fidelity = results.fidelity
    if fidelity.score is None:
        return "Every session consists of its opening query alone, so the simulated user said nothing of its own."
    kinds = ", ".join(f"{count} {kind}" for kind, count in fidelity.breaches.items()) or "none"
    return (
        f"Fidelity {format_number(fidelity.score)}: of {fidelity.messages:,} messages after the opening ones, "
        f"{fidelity.kept_with_breach:,} still tell a tracked value ({kinds}); {fidelity.asked_again:,} were asked for again."
    )


def _spending(results: Results) -> str:
    rows = [
        [name, f"{used.calls:,}", f"{used.input_tokens:,}", f"{used.output_tokens:,}", _dollars(used.usd)]
        for name, used in results.spending.items()
    ]
    each = [[metric_label(name), format_estimate(one, digits=4, missing="unknown")] for name, one in results.costs.items()]
    cut = f"In {results.cut_calls:,} calls the oldest messages had no room in the context." if results.cut_calls else ""
    lost = f"{results.failed_writes:,} writes to the memory failed twice and were lost." if results.failed_writes else ""
    parts = [table(["purpose", "calls", "input tokens", "output tokens", "cost"], rows), table(["each", ""], each), cut, lost]
    return "\n\n".join(filter(None, parts))


def _dollars(usd: float | None) -> str:
    return "unknown" if usd is None else f"${usd:.4f}"
