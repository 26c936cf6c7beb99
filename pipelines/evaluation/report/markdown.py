"""Reports of runs in Markdown: scores with intervals, where memories were lost, and the usage."""

from collections.abc import Iterable, Iterator, Mapping

from assets.records.estimate import Estimate
from assets.reporting.plurals import counted
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.isolated import CONDITIONS, IsolatedScores
from pipelines.evaluation.metrics.metrics import BASELINES, FRONT, METRICS, TABLE
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
    settings_line,
    table,
)


def run_report(run: FinishedRun) -> str:
    """The whole report of one run."""
    manifest, results = run.manifest, run.results
    own = {manifest.memory.name: results}
    settings = ", ".join(
        filter(None, [settings_line(manifest.memory), f"{counted(manifest.tokens, 'token')} of recalled text"])
    )
    simulated = f", user simulated by {manifest.models['user']}" if "user" in manifest.models else ""
    parts = [
        f"# {manifest.memory.name} on {manifest.dataset}",
        f"Run `{manifest.run_id}`, {mode_label(manifest)}; {counted(len(manifest.users), manifest.noun)}; {settings}; answered "
        f"by {manifest.models['assistant']}{simulated}.",
        *filter(None, [nothing_recalled(run), plumbing_note(manifest), beside_the_paper(manifest), results.no_memory_score]),
        *_errors(run),
        interval_note(results.users, manifest.noun),
        *_section("Scores", _estimates(results.metrics, FRONT, users=results.users)),
        *(_section("Isolated scores", isolated_table(own)) if results.isolated else ()),
        *(_section("By length, and by needed facts", _isolated_groups(results)) if results.isolated_by else ()),
        *(_section("Score against budget", curve_table(own)) if results.curve else ()),
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
    yield from _section("By number of needed values", _groups("needed values", results.by_required, users=results.users))
    yield from _section("By age of the oldest needed value, in periods", _groups("age", results.by_age, users=results.users))
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
        f"**Finished with errors**: {counted(len(errors), run.manifest.noun)} could not be evaluated to the end; their other "
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


def isolated_table(named: Mapping[str, Results]) -> str:
    """S, N, O and F of each run by its name, and what the memory brings, with the same reasoner, budget and seed."""
    lines = [
        [f"{name}{_unasked(results.isolated)}", *_isolated_cells(results.isolated, users=results.users)]
        for name, results in named.items()
        if results.isolated
    ]
    return table(["memory system", *ISOLATED_HEAD], lines)


def _unasked(scores: IsolatedScores) -> str:
    """The mark of a line whose memory failed before some of its questions were asked."""
    return f" ({scores.unasked:,} of {scores.items:,} never asked, counted as wrong)" if scores.unasked else ""


def _isolated_cells(scores: IsolatedScores, *, users: int) -> list[str]:
    return [format_estimate(getattr(scores, name), users=users) for name in ISOLATED]


def _isolated_groups(results: Results) -> str:
    head = ["by", "", *ISOLATED_HEAD, "fact recall", "tokens written", "tokens recalled"]
    lines = [
        [
            group.by,
            f"{group.value:,}{_unasked(group.scores)}",
            *_isolated_cells(group.scores, users=results.users),
            format_estimate(group.fact_recall, users=results.users),
            f"{group.written_tokens:,.0f}",
            f"{group.recalled_tokens:,.0f}",
        ]
        for group in results.isolated_by
    ]
    return table(head, lines)


def curve_table(named: Mapping[str, Results]) -> str:
    """Overall by budget, a line for each run by its name."""
    budgets = sorted({point.tokens for results in named.values() for point in results.curve})
    lines = list[list[str]]()
    for name, results in named.items():
        found = {point.tokens: format_estimate(point.overall, users=results.users) for point in results.curve}
        lines.append([name, *(found.get(tokens, "-") for tokens in budgets)])
    return table(["memory system", *(counted(tokens, "token") for tokens in budgets)], lines)


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


def _groups(name: str, groups: Mapping[str, Estimate], *, users: int) -> str:
    return table([name, "overall"], [[value, format_estimate(estimate, users=users)] for value, estimate in groups.items()])


def _fidelity(results: Results) -> str:
    fidelity = results.fidelity
    if fidelity.score is None:
        return "Every session consists of its opening query alone, so the simulated user said nothing of its own."
    kinds = ", ".join(f"{count} {kind}" for kind, count in fidelity.breaches.items()) or "none"
    return (
        f"Fidelity {format_number(fidelity.score)}: of {counted(fidelity.messages, 'message')} after the opening ones, "
        f"{fidelity.kept_with_breach:,} still tell a tracked value ({kinds}); {fidelity.asked_again:,} were asked for again."
    )


def _spending(results: Results) -> str:
    rows = [
        [name, f"{used.calls:,}", f"{used.input_tokens:,}", f"{used.output_tokens:,}", _dollars(used.usd)]
        for name, used in results.spending.items()
    ]
    each = [
        [metric_label(name), format_estimate(one, digits=4, missing="unknown", users=results.users)]
        for name, one in results.costs.items()
    ]
    was = "was" if results.lost_writes == 1 else "were"
    lost = f"{counted(results.lost_writes, 'write')} to the memory failed twice and {was} lost." if results.lost_writes else ""
    parts = [table(["purpose", "calls", "input tokens", "output tokens", "cost"], rows), table(["each", ""], each), lost]
    return "\n\n".join(filter(None, parts))


def _dollars(usd: float | None) -> str:
    return "unknown" if usd is None else f"${usd:.4f}"
