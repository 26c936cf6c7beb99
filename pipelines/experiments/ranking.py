"""Runs side by side: names that tell them apart, their order and ranks, and the tables over them."""

from collections.abc import Callable, Mapping, Sequence

from assets.reporting.plurals import counted
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.metrics import ASKING_BASELINES, BOARD
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.report.formatting import (
    RED,
    format_estimate,
    format_number,
    interval_note,
    metric_label,
    plumbing_note,
    setting_labels,
    table,
)
from pipelines.evaluation.report.markdown import curve_table, isolated_table

Facts = Callable[[RunManifest], Mapping[str, str]]
NO_RANK = 0.1  # the share of unscored answers beyond which there is no rank


def unscored_share(run: FinishedRun) -> float:
    """The share of questions without a readable answer; they count as wrong."""
    return run.results.metrics["unscored"].value or 0.0


def best_first(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The runs by the metric that ranks them, the highest first. Unranked ones come last."""
    name = ranking_metric(runs)
    return sorted(runs, key=lambda run: (unscored_share(run) > NO_RANK, -(run.results.metrics[name].value or 0.0)))


def ranking_metric(runs: Sequence[FinishedRun]) -> str:
    """The memory score; overall where one of the runs has none."""
    scored = (run.results.metrics.get("memory") for run in runs)
    return "memory" if all(score is not None and score.value is not None for score in scored) else "overall"


def board_columns(run: FinishedRun) -> list[str]:
    """The metrics of a leaderboard that the run's benchmark has."""
    return [name for name in BOARD if name in run.results.metrics]


def ranks(board: Sequence[FinishedRun]) -> dict[str, str]:
    """The rank of each run of a sorted board by its id; "-" for one with too many unscored answers. Equal scores share one."""
    name = ranking_metric(board)
    scores = [run.results.metrics[name].value or 0.0 for run in board]
    return {
        run.manifest.run_id: "-" if unscored_share(run) > NO_RANK else str(scores.index(score) + 1)
        for run, score in zip(board, scores, strict=True)
    }


def unscored_label(run: FinishedRun) -> str:
    """The share of unscored answers, marked where it is high."""
    share = unscored_share(run)
    return f"{100 * share:.1f} %" + (" (!)" if share > RED else "")


def standings(runs: Sequence[FinishedRun]) -> str:
    """The leaderboard's first columns: short enough to stand in Dagster's table of metadata."""
    best, *_ = board = best_first(runs)
    names, rank = run_labels(runs), ranks(board)
    scores = [name for name in ("overall", "memory") if name in best.results.metrics]
    lines = [
        [
            rank[run.manifest.run_id],
            names[run.manifest.run_id],
            run.manifest.mode,
            *(format_estimate(run.results.metrics[metric], users=run.results.users) for metric in scores),
            unscored_label(run),
        ]
        for run in board
    ]
    return table(["rank", "memory system", "mode", *map(metric_label, scores), "unscored"], lines)


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
    return "\n\n".join([table(head, [*lines, *baselines]), *board_notes(board)])


def board_notes(runs: Sequence[FinishedRun]) -> list[str]:
    """What has to be known of the scores of these runs; each sentence once."""
    fewest = min(runs, key=lambda run: run.results.users)
    plumbing = (plumbing_note(run.manifest) for run in runs)
    return [*dict.fromkeys(filter(None, plumbing)), interval_note(fewest.results.users, fewest.manifest.noun)]


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
        format_estimate(results.costs["usd_per_1000_answers"], digits=4, missing="unknown", users=users),
        format_estimate(run.latency.mean, digits=2, missing="unknown"),
    ]


def period_table(runs: Sequence[FinishedRun], name: str) -> str:
    """One of the series, a line for each run and a column for each period."""
    names = run_labels(runs)
    board = [(names[run.manifest.run_id], run.results.periods[name]) for run in best_first(runs)]
    head = ["memory system", *map(str, range(max(len(series) for _, series in board)))]
    return table(head, [[assistant, *(format_number(one.value) for one in series)] for assistant, series in board])


def board_sections(runs: Sequence[FinishedRun]) -> dict[str, str]:
    """What stands below a leaderboard by its title: isolated scores, and scores against budget, of the runs that have them."""
    names = run_labels(runs)
    named = {names[run.manifest.run_id]: run.results for run in best_first(runs)}
    sections = {
        "Isolated scores": isolated_table(named) if any(one.isolated for one in named.values()) else "",
        "Overall against budget": curve_table(named) if any(one.curve for one in named.values()) else "",
    }
    return {title: content for title, content in sections.items() if content}


def run_labels(runs: Sequence[FinishedRun]) -> dict[str, str]:
    """A name for each run by its id, no two alike.

    It names the facts in which the runs differ; where those leave runs alike, also the details in which these differ, and
    at last the end of the id.
    """
    every = list({run.manifest.run_id: run.manifest for run in runs}.values())
    differing = _distinguishing(every, _facts)
    names = {one.run_id: ", ".join([one.memory.name, *differing[one.run_id]]) for one in every}
    for facts in (_details, _number):
        for alike in _alike(every, names):
            for run_id, words in _distinguishing(alike, facts).items():
                names[run_id] = ", ".join([names[run_id], *words])
    return names


def _alike(every: Sequence[RunManifest], names: Mapping[str, str]) -> list[list[RunManifest]]:
    groups: dict[str, list[RunManifest]] = {}
    for one in every:
        groups.setdefault(names[one.run_id], []).append(one)
    return [group for group in groups.values() if len(group) > 1]


def _distinguishing(every: Sequence[RunManifest], facts: Facts) -> dict[str, list[str]]:
    """By run id, the facts that are not the same for all of these runs."""
    found = {one.run_id: facts(one) for one in every}
    names = dict.fromkeys(name for one in found.values() for name in one)
    apart = [name for name in names if len({one.get(name) for one in found.values()}) > 1]
    return {run_id: [one[name] for name in apart if name in one] for run_id, one in found.items()}


def _facts(manifest: RunManifest) -> Mapping[str, str]:
    return {
        "mode": manifest.mode,
        "model": manifest.models["assistant"],
        "attempt": f"attempt {manifest.attempt}",
        "seed": f"seed {manifest.seed}",
        "users": counted(len(manifest.users), manifest.noun),
        "tokens": counted(manifest.tokens, "token"),
        "wording": f"{manifest.wording} questions",
        "probes": f"probes by {manifest.probes}",
        "simulator": f"user simulated by {manifest.models.get('user')}",
        "generator": manifest.generator,
    }


def _details(manifest: RunManifest) -> Mapping[str, str]:
    details = {
        "version": manifest.memory_version,
        "source": f"code {manifest.memory_source}",
        "memory": f"memory by {manifest.models['memory']}",
        "embedding": f"embeddings by {manifest.models.get('embedding')}",
        "judge": f"user checked by {manifest.models.get('judge')}",
        "places": " and ".join(manifest.places),
        "replayed": f"dialogues of {manifest.replayed_run}",
    }
    return {**setting_labels(manifest.memory), **details}


def _number(manifest: RunManifest) -> Mapping[str, str]:
    return {"id": f"run ...{manifest.run_id[-6:]}"}
