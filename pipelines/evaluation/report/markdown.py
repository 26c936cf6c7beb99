"""Reports of runs in Markdown: scores with intervals, where memories were lost, and the usage."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from assets.records.estimate import Estimate
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.isolated import CONDITIONS, IsolatedScores
from pipelines.evaluation.metrics.metrics import ASKING_BASELINES, BASELINES, BOARD, FRONT, METRICS, TABLE
from pipelines.evaluation.metrics.results import Results
from pipelines.evaluation.report.formatting import (
    beside_the_paper,
    format_estimate,
    format_number,
    interval_note,
    metric_label,
    mode_label,
    nothing_recalled,
    plumbing_note,
    run_labels,
    settings_line,
    table,
)

RED, NO_RANK = 0.02, 0.1  # shares of unscored answers: marked, and without a rank


def unscored_share(run: FinishedRun) -> float:
    """The share of questions without a readable answer; they count as wrong."""
    return run.results.metrics["unscored"].value or 0.0


def best_first(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The runs by memory score, the highest first; by overall where one has no memory score. Unranked ones come last."""
    scored = (run.results.metrics.get("memory") for run in runs)
    name = "memory" if all(score is not None and score.value is not None for score in scored) else "overall"
    return sorted(runs, key=lambda run: (unscored_share(run) > NO_RANK, -(run.results.metrics[name].value or 0.0)))


def board_columns(run: FinishedRun) -> list[str]:
    """The metrics of a leaderboard that the run's benchmark has."""
    return [name for name in BOARD if name in run.results.metrics]


def ranks(board: Sequence[FinishedRun]) -> dict[str, str]:
    """The rank of each run of a sorted board by its id; "-" for one with too many unscored answers."""
    return {
        run.manifest.run_id: "-" if unscored_share(run) > NO_RANK else str(place) for place, run in enumerate(board, start=1)
    }


def unscored_label(run: FinishedRun) -> str:
    """The share of unscored answers, marked where it is high."""
    share = unscored_share(run)
    return f"{100 * share:.1f} %" + (" (!)" if share > RED else "")


def leaderboard(runs: Sequence[FinishedRun]) -> str:
    """One line for each run, the best memory first, and below them what needs no memory or has a perfect one."""
    names = run_labels(runs)
    best, *_ = board = best_first(runs)
    rank = ranks(board)
    head = [
        "rank",
        "memory system",
        "mode",
        *map(metric_label, board_columns(best)),
        "gain over none",
        "unscored",
        "tokens/answer",
    ]
    head += ["$/1000 answers", "s/answer"]
    lines = [[rank[run.manifest.run_id], *_line(run, names[run.manifest.run_id])] for run in board]
    blank = len(head) - 4
    baselines = [
        ["", label, "baseline", format_estimate(best.results.baselines[name], users=best.results.users), *[""] * blank]
        for name, label in baseline_labels(best, names[best.manifest.run_id]).items()
    ]
    notes = dict.fromkeys(filter(None, (plumbing_note(run.manifest) for run in board)))
    return "\n\n".join([table(head, [*lines, *baselines]), *notes])


def baseline_labels(run: FinishedRun, assistant: str) -> dict[str, str]:
    """The run's baselines for a leaderboard; those that ask the reasoner say in whose run."""
    return {
        name: metric_label(name) + (f" of {assistant}" if name in ASKING_BASELINES else "") for name in run.results.baselines
    }


def _line(run: FinishedRun, name: str) -> list[str]:
    results, users = run.results, run.results.users
    return [
        name,
        run.manifest.mode,
        *(format_estimate(results.metrics[metric], users=users) for metric in board_columns(run)),
        format_estimate(results.isolated.gain, users=users) if results.isolated else "-",
        unscored_label(run),
        format_number(results.costs["input_tokens_per_answer"].value, digits=0),
        format_estimate(results.costs["usd_per_1000_answers"], digits=4, missing="unknown"),
        format_estimate(run.latency.mean, digits=2, missing="unknown"),
    ]


def period_table(runs: Sequence[FinishedRun], name: str) -> str:
    """One of the series, a line for each run and a column for each period."""
    names = run_labels(runs)
    board = [(names[run.manifest.run_id], run.results.periods[name]) for run in best_first(runs)]
    head = ["memory system", *map(str, range(max(len(series) for _, series in board)))]
    return table(head, [[assistant, *(format_number(one.value) for one in series)] for assistant, series in board])


def run_report(run: FinishedRun) -> str:
    """The whole report of one run."""
    manifest, results = run.manifest, run.results
    settings = ", ".join(filter(None, [settings_line(manifest.memory), f"{manifest.tokens:,} tokens of recalled text"]))
    simulated = f", user simulated by {manifest.models['user']}" if "user" in manifest.models else ""
    parts = [
        f"# {manifest.memory.name} on {manifest.dataset}",
        f"Run `{manifest.run_id}`, {mode_label(manifest)}; {len(manifest.users)} {manifest.noun}s; {settings}; answered by "
        f"{manifest.models['assistant']}{simulated}.",
        *filter(None, [nothing_recalled(run), plumbing_note(manifest), beside_the_paper(manifest), results.no_memory_score]),
        *_errors(run),
        interval_note(results.users, manifest.noun),
        *_section("Scores", _estimates(results.metrics, FRONT, users=results.users)),
        *(_section("Isolated scores", isolated_table([run])) if results.isolated else ()),
        *(_section("By length, and by needed facts", _isolated_groups(results)) if results.isolated_by else ()),
        *(_section("Score against budget", curve_table([run])) if results.curve else ()),
        *_section("Baselines", _estimates(results.baselines, BASELINES, users=results.users)),
        *(_dialogue_sections(results) if results.periods else ()),
        *_section("Counts", table(["what", "count"], [[name, f"{count:,}"] for name, count in results.counts.items()])),
        *_section("What it took", _spending(results)),
    ]
    return "\n\n".join(parts) + "\n"


def _dialogue_sections(results: Results) -> Iterator[str]:
    """What only benchmarks of dialogues have."""
    yield from _section("State probes and answers", _probes(results))
    yield from _section("By period", _periods(results))
    yield from _section("By number of needed values", _groups("needed values", results.by_required))
    yield from _section("By age of the oldest needed value, in periods", _groups("age", results.by_age))
    yield from _section("Simulated user", _fidelity(results))
    yield from _section("More about the probes", _estimates(results.metrics, METRICS.keys() - set(FRONT), users=results.users))


def _section(title: str, content: str) -> tuple[str, str]:
    return f"## {title}", content


def _errors(run: FinishedRun) -> list[str]:
    errors = run.results.errors
    if not errors:
        return []
    lines = "\n".join(f"- {error.sentence}" for error in errors)
    return [
        f"**Finished with errors**: {len(errors)} {run.manifest.noun}s could not be evaluated to the end; their other "
        f"questions count as wrong. The same command tries these again.\n\n{lines}"
    ]


def _estimates(estimates: Mapping[str, Estimate], names: Iterable[str], *, users: int) -> str:
    wanted = set(names) & estimates.keys()
    entries = [entry for entry in TABLE if entry.name in wanted]
    return table(
        ["", "", "meaning", "formula"],
        [
            [metric_label(entry.name), format_estimate(estimates[entry.name], users=users), entry.meaning, entry.formula]
            for entry in entries
        ],
    )


ISOLATED = (*CONDITIONS, "gain", "gain_share")
ISOLATED_HEAD = ("S: memory", "N: none", "O: needed facts", "F: everything", "S - N", "(S - N) / (O - N)")


def isolated_table(runs: Sequence[FinishedRun]) -> str:
    """S, N, O and F of each run, and what the memory brings, with the same reasoner, budget and seed."""
    names = run_labels(runs)
    lines = [
        [names[run.manifest.run_id], *_isolated_cells(scores, users=run.results.users)]
        for run in runs
        if (scores := run.results.isolated)
    ]
    return table(["memory system", *ISOLATED_HEAD], lines)


def _isolated_cells(scores: IsolatedScores, *, users: int) -> list[str]:
    return [format_estimate(getattr(scores, name), users=users) for name in ISOLATED]


def _isolated_groups(results: Results) -> str:
    head = ["by", "", *ISOLATED_HEAD, "fact recall", "tokens written", "tokens recalled"]
    lines = [
        [
            group.by,
            f"{group.value:,}",
            *_isolated_cells(group.scores, users=results.users),
            format_estimate(group.fact_recall, users=results.users),
            f"{group.written_tokens:,.0f}",
            f"{group.recalled_tokens:,.0f}",
        ]
        for group in results.isolated_by
    ]
    return table(head, lines)


def curve_table(runs: Sequence[FinishedRun]) -> str:
    """Overall by budget, a line for each run."""
    names = run_labels(runs)
    budgets = sorted({point.tokens for run in runs for point in run.results.curve})
    lines = list[list[str]]()
    for run in runs:
        found = {point.tokens: format_estimate(point.overall, users=run.results.users) for point in run.results.curve}
        lines.append([names[run.manifest.run_id], *(found.get(tokens, "-") for tokens in budgets)])
    return table(["memory system", *(f"{tokens:,} tokens" for tokens in budgets)], lines)


def _probes(results: Results) -> str:
    found = results.probes_and_answers
    return table(
        ["all needed values by the probes", "answered rightly", "not"],
        [[known, f"{found[f'{known}, right']:,}", f"{found[f'{known}, not right']:,}"] for known in ("known", "not known")],
    )


def _periods(results: Results) -> str:
    series = results.periods
    count = max(map(len, series.values()), default=0)
    return table(
        ["period", *map(metric_label, series)],
        [[str(p), *(format_estimate(s[p], users=results.users) for s in series.values())] for p in range(count)],
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
    lost = f"{results.lost_writes:,} writes to the memory failed twice and were lost." if results.lost_writes else ""
    parts = [table(["purpose", "calls", "input tokens", "output tokens", "cost"], rows), table(["each", ""], each), lost]
    return "\n\n".join(filter(None, parts))


def _dollars(usd: float | None) -> str:
    return "unknown" if usd is None else f"${usd:.4f}"
