"""A run, or several, told in Markdown: what was reached, where memories were lost, and how sure that is."""

from collections.abc import Iterable, Mapping, Sequence

from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.intervals import Estimate
from pipelines.evaluation.results import Results

MEANINGS = {
    "overall": "questions answered rightly, of those with a readable answer (section 3.3)",
    "overall_unscored_as_wrong": "the same with unreadable answers counted as wrong",
    "memory": "between random (0) and the upper bound (1): mean of the periods' scores, the paper's way",
    "memory_of_means": "the same of the means over all periods",
    "write_failure": "wrong, and a needed value was not known even when it had just been told",
    "read_failure": "wrong, and a needed value was known when told, but not any more",
    "utilization_failure": "wrong, although every needed value is known",
    "undiagnosed": "wrong, and the deciding state probe could not be read",
    "write_failure_if_unsure": 'write failure by the probes that allow "don\'t know"',
    "read_failure_if_unsure": "read failure by these probes",
    "utilization_failure_if_unsure": "utilization failure by these probes",
    "state_recall": "state probes answered rightly",
    "state_recall_corrected": "the same, corrected for guessing (0: guessing, 1: all known)",
    "state_recall_when_told_corrected": "the same at the end of the period in which the value was told",
    "state_recall_if_unsure": 'state probes answered rightly where "don\'t know" is allowed',
    "state_unknown": 'state probes answered with "don\'t know"',
    "random": "a uniform guess, in closed form",
    "upper_bound": "the same assistant with the true state laid open",
    "options_only": "the same assistant with the options alone",
    "no_memory": "the same assistant with question and options, without any conversation",
    "constant": "always the first option shown",
    "stale": "always the option that was right at the start",
}
LEADERBOARD = ("overall", "memory", "write_failure", "read_failure", "utilization_failure", "state_recall")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shown(estimate: Estimate) -> str:
    """The number with its 95 % interval, as in .412 [.350, .471]."""
    if estimate.value is None:
        return "-"
    interval = "" if estimate.low is None or estimate.high is None else f" [{_short(estimate.low)}, {_short(estimate.high)}]"
    return _short(estimate.value) + interval


def _short(value: float) -> str:
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def leaderboard(runs: Sequence[FinishedRun]) -> str:
    """One line for each run, the best memory first."""
    ordered = sorted(runs, key=lambda run: -(run.results.metrics["memory"].value or 0.0))
    rows = [
        [
            run.manifest.assistant.name,
            run.manifest.mode,
            *(shown(run.results.metrics[name]) for name in LEADERBOARD),
            shown(run.results.baselines["upper_bound"]),
            str(run.results.counts.get("question.unscored", 0)),
        ]
        for run in ordered
    ]
    return table(["assistant", "mode", *map(_words, LEADERBOARD), "upper bound", "unscored"], rows)


def run_report(run: FinishedRun) -> str:
    """The whole report of one run."""
    manifest, results = run.manifest, run.results
    settings = ", ".join(f"{name} {value}" for name, value in manifest.assistant.settings.items())
    parts = [
        f"# {manifest.assistant.name} on {manifest.dataset}",
        f"Run `{manifest.run_id}`, {manifest.mode}"
        + (f" with the dialogues of `{manifest.replayed_run}`" if manifest.replayed_run else "")
        + f"; {len(manifest.users)} users; {settings}; user simulated by {manifest.simulator}.",
        "Brackets hold 95 % intervals over users (bootstrap, expanded percentile).",
        *_section("Scores", _estimates(results.metrics)),
        *_section("Baselines", _estimates(results.baselines)),
        *_section("By period", _periods(results)),
        *_section("By number of needed values", _groups("needed values", results.by_required)),
        *_section("By age of the oldest needed value, in periods", _groups("age", results.by_age)),
        *_section("Simulated user", _fidelity(results)),
        *_section("Counts", table(["what", "count"], [[name, f"{count:,}"] for name, count in results.counts.items()])),
        *_section("Usage", _usage(results)),
    ]
    return "\n\n".join(parts) + "\n"


def _section(title: str, content: str) -> tuple[str, str]:
    return f"## {title}", content


def _estimates(estimates: Mapping[str, Estimate]) -> str:
    return table(["", "", "meaning"], [[_words(name), shown(one), MEANINGS[name]] for name, one in estimates.items()])


def _periods(results: Results) -> str:
    series = results.periods
    count = max(map(len, series.values()), default=0)
    return table(["period", *map(_words, series)], [[str(p), *(shown(s[p]) for s in series.values())] for p in range(count)])


def _groups(name: str, groups: Mapping[str, Estimate]) -> str:
    return table([name, "overall"], [[value, shown(estimate)] for value, estimate in groups.items()])


def _fidelity(results: Results) -> str:
    found = results.fidelity
    if found.score is None:
        return "Every session consists of its opening query alone, so the simulated user said nothing of its own."
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.breaches.items()) or "none"
    return (
        f"Fidelity {_short(found.score)}: of {found.messages:,} messages after the opening ones, {found.kept_with_breach:,} "
        f"still tell a tracked value ({kinds}); {found.asked_again:,} were asked for again."
    )


def _usage(results: Results) -> str:
    rows = [[name, f"{u.calls:,}", f"{u.input_tokens:,}", f"{u.output_tokens:,}"] for name, u in results.usage.items()]
    asked = results.counts.get("question.asked", 0)
    used = results.usage.get("interview")
    each = f"\n\nThe interview read {used.input_tokens / asked:,.0f} tokens for each question." if used and asked else ""
    cut = f"\n\nIn {results.cut_calls:,} calls the oldest messages had no room in the context." if results.cut_calls else ""
    return table(["purpose", "calls", "input tokens", "output tokens"], rows) + each + cut


def _words(name: str) -> str:
    return name.replace("_", " ")
