"""Runs side by side: names that tell them apart, their order and ranks, and the tables over them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import get_args

from assets.reporting.plurals import counted
from pipelines.evaluation.arms import MEANINGS as ARM_MEANINGS
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.facts import ALL, MOMENTS
from pipelines.evaluation.metrics.metrics import ASKING_BASELINES, BOARD
from pipelines.evaluation.metrics.operations import MEANINGS as OPERATIONS
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.report.contents import (
    FACTS_NOTE,
    Block,
    ReportSection,
    ReportTable,
    curve_rows,
    isolated_rows,
    operation_label,
    required_rows,
)
from pipelines.evaluation.report.formatting import (
    RED,
    boundary_note,
    embedded_model_note,
    format_estimate,
    format_number,
    headed_table,
    interval_note,
    metric_label,
    nothing_recalled,
    repeat_label,
    setting_labels,
    unread_answers,
)
from pipelines.evaluation.report.markdown import error_list, section_text
from pipelines.evaluation.spending import MemoryCall
from pipelines.experiments.scoring.question_worth import (
    NEGATIVE_TITLE,
    QUESTIONS,
    SHOWN,
    WORTH_TITLE,
    negative_table,
    worth_notes,
    worth_of_questions,
)
from pipelines.experiments.scoring.repetitions import REPETITIONS_TITLE, repetitions, repetitions_table
from pipelines.memories.registry import IN_PROCESS

Facts = Callable[[RunManifest], Mapping[str, str]]
OPERATIONS_TITLE = "Operations of the memories"
FACTS_TITLE = "Facts: right by kind of question"
FORGOTTEN_TITLE = "Facts that were to be forgotten"
ARMS_TITLE = "Right with controls in the memory's place, and harm"
SECONDS_TITLE = "Seconds of answers and of the memory's calls, p50 / p95 / p99"
HARM_NOTE = "Harm: the share of questions that are right with nothing, and wrong with the memory."
FORGOTTEN_NOTE = "The share of questions for which a recalled text held the deleted value, and of those that it answered."
NO_RANK = 0.1  # the share of unscored answers beyond which there is no rank


@dataclass(frozen=True)
class RankedRun:
    """A run with its place among others: a name that no other of them has, and its rank."""

    run: FinishedRun
    label: str
    rank: str


def ranked(runs: Sequence[FinishedRun]) -> list[RankedRun]:
    """Return the runs, the best first. Equal scores share a rank.

    It is "-" for a run with too many unscored answers, and "off" for one that failed verification or its control.
    """
    labels = run_labels(runs)
    metric = ranking_metric(runs)
    scores: list[float] = []
    board: list[RankedRun] = []
    for run in best_first(runs):
        scores.append(run.results.metrics[metric].value or 0.0)
        rank = "-" if unscored_share(run) > NO_RANK else str(scores.index(scores[-1]) + 1)
        if off_board(run):
            rank = "off"
        board.append(RankedRun(run, labels[run.manifest.run_id], rank))
    return board


def off_board(run: FinishedRun) -> str:
    """Return a sentence on why the run's scores are none; "" where it may stand on a board."""
    for problem in run.problems:
        return f"{run.manifest.run_id} is off the board, because it failed verification: {problem}"
    control = run.results.control
    if control is not None and not control.passed:
        return f"{run.manifest.run_id} is off the board. {control.sentence}"
    return ""


def unscored_share(run: FinishedRun) -> float:
    """Return the share of questions without a readable answer; they count as wrong."""
    return run.results.metrics["unscored"].value or 0.0


def best_first(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """Return the runs by the metric that ranks them, the highest first. Unranked ones come last."""
    name = ranking_metric(runs)
    return sorted(runs, key=partial(_order, metric=name))


def _order(run: FinishedRun, *, metric: str) -> tuple[bool, bool, float]:
    return bool(off_board(run)), unscored_share(run) > NO_RANK, -(run.results.metrics[metric].value or 0.0)


def ranking_metric(runs: Sequence[FinishedRun]) -> str:
    """Return the memory score's name; overall where one of the runs has none."""
    for run in runs:
        score = run.results.metrics.get("memory")
        if score is None or score.value is None:
            return "overall"
    return "memory"


def board_columns(run: FinishedRun) -> list[str]:
    """Return the metrics of a leaderboard that the run's benchmark has."""
    return [name for name in BOARD if name in run.results.metrics]


def unscored_label(run: FinishedRun) -> str:
    """Return the share of unscored answers, marked where it is high."""
    share = unscored_share(run)
    return f"{100 * share:.1f} %" + (" (!)" if share > RED else "")


def standings(runs: Sequence[FinishedRun]) -> str:
    """Return each run's score and what its memory brings: a table for 80 columns, and for Dagster's metadata."""
    rows: list[list[str]] = []
    for one in ranked(runs):
        results = one.run.results
        gain = format_estimate(results.isolated.gain, users=results.users) if results.isolated else "-"
        rows.append([one.rank, one.label, *_score_cells(one.run, ["overall"]), gain, unscored_label(one.run)])
    return headed_table(["rank", "memory system", "overall", "gain over none", "unscored"], rows)


def summary(runs: Sequence[FinishedRun]) -> str:
    """Return the standings, and what a reader of them has to know."""
    return "\n\n".join([standings(runs), *board_notes(runs), *run_warnings(runs)])


def run_warnings(runs: Sequence[FinishedRun]) -> list[str]:
    """Return what went wrong in each of the runs: answers that were not read, memories that gave nothing, errors."""
    found: list[str] = []
    for run in runs:
        warnings = [unread_answers(run), nothing_recalled(run)]
        found += [f"{run.manifest.run_id}: {warning}" for warning in warnings if warning]
        found += [f"{run.manifest.run_id}: {errors}" for errors in error_list(run)]
    return found


def leaderboard_table(runs: Sequence[FinishedRun]) -> str:
    """Return one line for each run, the best memory first, and below them what needs no memory or has a perfect one."""
    board = ranked(runs)
    best = board[0].run
    columns = board_columns(best)
    head = ["rank", "memory system", "mode", *map(metric_label, columns), "gain over none", "unscored", "tokens/answer"]
    head += ["$/1000 answers", "s/answer"]
    rows = [[one.rank, one.label, *_board_cells(one.run)] for one in board]
    for name, label in baseline_labels(best, board[0].label).items():
        cells = ["", label, "baseline", format_estimate(best.results.baselines[name], users=best.results.users)]
        rows.append(cells + [""] * (len(head) - len(cells)))
    return "\n\n".join([headed_table(head, rows), *board_notes([one.run for one in board])])


def leaderboard_section(runs: Sequence[FinishedRun]) -> str:
    """Return the leaderboard of these runs, and below it what `board_sections` has."""
    parts = [leaderboard_table(runs)]
    for section in board_sections(runs):
        parts += section_text(section)
    return "\n\n".join(parts)


def board_notes(runs: Sequence[FinishedRun]) -> list[str]:
    """Return the sentences that a reader of these runs' scores has to know, each once."""
    fewest = min(runs, key=lambda run: run.results.users)
    embedded = dict.fromkeys(embedded_model_note(run.manifest) for run in runs)
    free = dict.fromkeys(boundary_note(run.manifest) for run in runs if run.manifest.boundary == IN_PROCESS)
    off = filter(None, map(off_board, runs))
    repeated = dict.fromkeys(f"A repetition {repeat_label(run.manifest)}." for run in runs)
    return [*off, *filter(None, embedded), *free, *repeated, interval_note(fewest.results.users, fewest.manifest.noun)]


def baseline_labels(run: FinishedRun, assistant: str) -> dict[str, str]:
    """Return the run's baselines for a leaderboard; those that ask the reasoner say in whose run."""
    labels: dict[str, str] = {}
    for name in run.results.baselines:
        labels[name] = metric_label(name) + (f" of {assistant}" if name in ASKING_BASELINES else "")
    return labels


def _score_cells(run: FinishedRun, metrics: Sequence[str]) -> list[str]:
    return [format_estimate(run.results.metrics[metric], users=run.results.users) for metric in metrics]


def _board_cells(run: FinishedRun) -> list[str]:
    results = run.results
    return [
        run.manifest.mode,
        *_score_cells(run, board_columns(run)),
        format_estimate(results.isolated.gain, users=results.users) if results.isolated else "-",
        unscored_label(run),
        format_number(results.costs["input_tokens_per_answer"].value, digits=0),
        format_estimate(results.costs["usd_per_1000_answers"], digits=4, missing="unknown", users=results.users),
        format_estimate(run.latency.mean, digits=2, missing="unknown"),
    ]


def period_table(runs: Sequence[FinishedRun], name: str) -> str:
    """Return one of the series, a line for each run and a column for each period."""
    rows: list[list[str]] = []
    periods = 0
    for one in ranked(runs):
        series = one.run.results.periods[name]
        periods = max(periods, len(series))
        rows.append([one.label, *(format_number(score.value) for score in series)])
    return headed_table(["memory system", *map(str, range(periods))], rows)


def board_sections(runs: Sequence[FinishedRun]) -> list[ReportSection]:
    """Return what stands below a leaderboard: what is measured besides the scores, of runs that have it."""
    named = {one.label: one.run.results for one in ranked(runs)}
    sections: list[ReportSection] = []

    def add(key: str, title: str, *blocks: Block) -> None:
        sections.append(ReportSection(key, title, blocks))

    if any(results.isolated for results in named.values()):
        add("isolated", "Isolated scores", isolated_rows(named))
    if any(results.operations for results in named.values()):
        add("operations", OPERATIONS_TITLE, meanings_note(OPERATIONS), operations_table(runs))
    if any(results.facts for results in named.values()):
        add("kinds", FACTS_TITLE, FACTS_NOTE, facts_by_kind(runs))
        add("forgotten", FORGOTTEN_TITLE, FORGOTTEN_NOTE, durability_table(runs))
    if any(results.arms for results in named.values()):
        add("arms", ARMS_TITLE, f"{meanings_note(ARM_MEANINGS)} {HARM_NOTE}", arms_table(runs))
    repeated = repetitions(runs)
    if repeated:
        add("repetitions", REPETITIONS_TITLE, repetitions_table(repeated))
    worth = worth_of_questions(runs)
    if worth:
        add("worth", WORTH_TITLE, *worth_notes(worth), f"{QUESTIONS} beside the board's page has every question.")
        if worth.negative:
            add("negative", NEGATIVE_TITLE, f"The {SHOWN} lowest at most.", negative_table(worth))
    if any(one.latency.by_call for one in runs):
        add("seconds", SECONDS_TITLE, seconds_table(runs))
    if any(results.curve for results in named.values()):
        add("budget", "Overall against budget", curve_rows(named))
    if len({count for results in named.values() for count in results.by_required}) > 1:
        add("required", "Overall by number of needed values", required_rows(named))
    return sections


def meanings_note(meanings: Mapping[str, str]) -> str:
    """Return each name with its meaning, as sentences."""
    return " ".join(f"{metric_label(name).capitalize()}: {meaning}." for name, meaning in meanings.items())


def operations_table(runs: Sequence[FinishedRun]) -> ReportTable:
    """Return what each memory stores and takes, a line for each run."""
    rows = list[list[str]]()
    for one in ranked(runs):
        rows.append([one.label, *(operation_label(one.run.results.operations, name) for name in OPERATIONS)])
    return ReportTable(["memory system", *map(metric_label, OPERATIONS)], rows)


def facts_by_kind(runs: Sequence[FinishedRun]) -> ReportTable:
    """Return the share right of each kind of question about facts, and what was stale, a line for each run."""
    kinds = list(dict.fromkeys(one.value for run in runs for one in run.results.facts if one.by == "kind"))
    rows = list[list[str]]()
    for one in ranked(runs):
        found = {figures.value: figures for figures in one.run.results.facts if figures.by == "kind"}
        shown = [found[kind].right if kind in found else None for kind in kinds]
        shown += [found[ALL].stale, found[ALL].net] if found else [None, None]
        users = one.run.results.users
        rows.append([one.label, *(format_estimate(share, users=users) if share else "-" for share in shown)])
    return ReportTable(["memory system", *(kind.replace("_", " ") for kind in kinds), "stale", "net"], rows)


def durability_table(runs: Sequence[FinishedRun]) -> ReportTable:
    """Return how often a deleted value was in a recalled text, and answered, at each moment; a line for each run."""
    rows = list[list[str]]()
    for one in ranked(runs):
        found = {figures.value: figures for figures in one.run.results.facts if figures.by == "moment"}
        cells = list[str]()
        for moment in MOMENTS:
            own = found.get(moment)
            cells.append(f"{format_number(own.in_texts.value)} / {format_number(own.leaked.value)}" if own else "-")
        rows.append([one.label, *cells])
    return ReportTable(["memory system: in texts / answered", *MOMENTS], rows)


def arms_table(runs: Sequence[FinishedRun]) -> ReportTable:
    """Return the share right in each arm, a line for each run that has arms, and the memory's own harm."""
    rows = list[list[str]]()
    for one in ranked(runs):
        right = dict[str, str]()
        harm = "-"
        for arm in one.run.results.arms:
            right[arm.name] = format_estimate(arm.right, users=one.run.results.users)
            if arm.name == "memory":
                harm = format_estimate(arm.harm, users=one.run.results.users)
        rows.append([one.label, *(right.get(name, "-") for name in ARM_MEANINGS), harm])
    return ReportTable(["memory system", *ARM_MEANINGS, "harm of the memory"], rows)


def seconds_table(runs: Sequence[FinishedRun]) -> ReportTable:
    """Return the quantiles of seconds by what was called, a line for each run."""
    calls = ("answer", *get_args(MemoryCall))
    rows: list[list[str]] = []
    for one in ranked(runs):
        measured = one.run.latency.by_call
        row = [one.label]
        for call in calls:
            seconds = measured.get(call)
            row.append(seconds.quantiles if seconds else "-")
        rows.append(row)
    return ReportTable(["memory system", *calls], rows)


def run_labels(runs: Sequence[FinishedRun]) -> dict[str, str]:
    """Return a name for each run by its id, no two alike.

    It names the facts in which the runs differ; where those leave runs alike, also the details in which these differ, and
    at last the end of the id.
    """
    manifests: dict[str, RunManifest] = {}
    labels: dict[str, str] = {}
    for run in runs:
        manifests[run.manifest.run_id] = run.manifest
        mark = f" ({IN_PROCESS})" if run.manifest.boundary == IN_PROCESS else ""
        labels[run.manifest.run_id] = f"{run.manifest.memory.name}{mark}"
    _add_differences(labels, list(manifests.values()), facts=_facts)
    for facts in (_details, _number):
        alike: dict[str, list[RunManifest]] = {}
        for run_id, manifest in manifests.items():
            alike.setdefault(labels[run_id], []).append(manifest)
        for group in alike.values():
            if len(group) > 1:
                _add_differences(labels, group, facts=facts)
    return labels


def _add_differences(labels: dict[str, str], manifests: Sequence[RunManifest], *, facts: Facts) -> None:
    """Add to the runs' labels the facts that are not the same for all of these runs."""
    found = list(map(facts, manifests))
    for name in dict.fromkeys(chain.from_iterable(found)):
        if len({one.get(name) for one in found}) > 1:
            for manifest, one in zip(manifests, found, strict=True):
                if name in one:
                    labels[manifest.run_id] += f", {one[name]}"


def _facts(manifest: RunManifest) -> Mapping[str, str]:
    return {
        "mode": manifest.mode,
        "model": manifest.model_of("assistant"),
        "attempt": f"attempt {manifest.attempt}",
        "seed": f"seed {manifest.seed}",
        "users": counted(len(manifest.users), manifest.noun),
        "tokens": counted(manifest.tokens, "token"),
        "wording": f"{manifest.wording} questions",
        "recall_query": f"recall by {manifest.recall_query.replace('-', ' ')}",
        "probes": f"probes by {manifest.probes}",
        "simulator": f"user simulated by {_model_of(manifest, 'user')}",
        "generator": manifest.generator,
    }


def _model_of(manifest: RunManifest, role: str) -> str:
    return manifest.model_of(role) if role in manifest.models else "none"


def _details(manifest: RunManifest) -> Mapping[str, str]:
    details = {
        "version": manifest.memory_version,
        "source": f"code {manifest.memory_source}",
        "memory": f"memory by {manifest.model_of('memory')}",
        "embedding": f"embeddings by {_model_of(manifest, 'embedding')}",
        "judge": f"user checked by {_model_of(manifest, 'judge')}",
        "places": " and ".join(manifest.places),
        "replayed": f"dialogues of {manifest.replayed_run}",
    }
    return {**setting_labels(manifest.memory), **details}


def _number(manifest: RunManifest) -> Mapping[str, str]:
    return {"id": f"run ...{manifest.run_id[-6:]}"}  # the digest stands at the end of an id
