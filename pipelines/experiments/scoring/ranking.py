"""Runs side by side: names that tell them apart, groups that scores do not, and the table of their scores."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, compress

from assets.records.estimate import interval_note
from assets.reporting.plurals import counted
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.metrics import METRICS
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.report.formatting import (
    RED,
    boundary_note,
    embedded_model_note,
    gives_back_everything,
    loss_mark,
    loss_notes,
    nothing_recalled,
    reading_order,
    repeat_label,
    setting_labels,
    unread_answers,
)
from pipelines.evaluation.report.markdown import error_list
from pipelines.evaluation.report.numbers import format_estimate, format_number, headed_table
from pipelines.experiments.scoring.paired import compare_paired, counts_of, told_apart
from pipelines.memories.hosting.confinement import IN_PROCESS

Facts = Callable[[RunManifest], Mapping[str, str]]
COSTS = ("memory $", "reasoner $", "memory s", "reasoner s")
COSTS_NOTE = (
    "$: list price of 1,000 answers; s: seconds of one. The memory's are all that it caused, the reasoner's stand apart. A "
    "price is unknown where the memory may ask models by itself. Seconds are cached where the reply cache helped most answers, "
    "or most of the memory's calls of one kind, such as its recalls."
)
NO_GROUP = 0.1  # the share of unscored answers beyond which a run is in no group


@dataclass(frozen=True)
class RankedRun:
    """A run with a name that no other of its board has."""

    run: FinishedRun
    label: str

    @property
    def label_with_mark(self) -> str:
        """The label, marked where verification left something open or nobody verified the run."""
        return f"{self.label} (unverified)" if self.run.unverified else self.label


def rank_runs(runs: Sequence[FinishedRun]) -> list[RankedRun]:
    """Return the runs with their labels, the best first within each ranking."""
    labels = run_labels(runs)
    return [RankedRun(run, labels[run.manifest.run_id]) for run in best_first(runs)]


def rankings(runs: Sequence[FinishedRun]) -> list[list[FinishedRun]]:
    """Return the runs that compare, those over most users first: they have the same users, reasoner and user simulator."""
    found: dict[tuple[int, tuple[str, ...], str, str], list[FinishedRun]] = {}
    for run in runs:
        users = tuple(sorted(run.manifest.users))
        models = (_model_of(run.manifest, "assistant"), _model_of(run.manifest, "user"))
        found.setdefault((-len(users), users, *models), []).append(run)
    return [found[key] for key in sorted(found)]


def run_groups(runs: Sequence[FinishedRun]) -> dict[str, str]:
    """Return the letters of each run by its id. Runs that share one cannot be told apart; other rankings have other letters.

    It is "-" for a run with too many unscored answers, and "off" for one that failed verification or its control, or knows the
    release.
    """
    groups: dict[str, str] = {}
    first = 0
    for ranking in rankings(runs):
        judged: list[FinishedRun] = []
        for run in best_first(ranking):
            if off_board(run):
                groups[run.manifest.run_id] = "off"
            elif unscored_share(run) > NO_GROUP:
                groups[run.manifest.run_id] = "-"
            else:
                groups[run.manifest.run_id] = ""
                judged.append(run)
        alike = alike_groups(len(judged), apart=_told_apart(judged))
        for number, members in enumerate(alike, start=first):
            for place in members:
                groups[judged[place].manifest.run_id] += chr(ord("A") + number % 26) * (1 + number // 26)
        first += len(alike)
    return groups


def _told_apart(runs: Sequence[FinishedRun]) -> list[tuple[int, int]]:
    """Return the places of each two runs of a ranking that differ by more than chance, whatever the number of pairs."""
    name = ranking_metric(runs)
    tallies = [counts_of(run, users=sorted(run.manifest.users)) for run in runs]
    places = list(combinations(range(len(runs)), 2))
    p_values: list[float | None] = []
    for first, second in places:
        [paired] = compare_paired({name: METRICS[name]}, (tallies[first], tallies[second]))
        p_values.append(paired.p_value)
    return list(compress(places, told_apart(p_values)))


def alike_groups(count: int, *, apart: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the largest groups of which no two are told apart, by their places (Piepho 2004, insert and absorb)."""
    groups = [frozenset(range(count))] if count else []
    for pair in apart:
        parts: list[frozenset[int]] = []
        for group in groups:
            parts += [group - {place} for place in pair] if group.issuperset(pair) else [group]
        groups = [group for group in dict.fromkeys(parts) if not any(group < other for other in parts)]
    return sorted(map(sorted, groups))


def group_note(runs: Sequence[FinishedRun]) -> str:
    """Return the sentences on what the letters say; "" for a single run."""
    if len(runs) < 2:
        return ""
    several = rankings(runs)
    note = "Runs that share a letter cannot be told apart (Student's t over pairs of runs, corrected for their number by Holm)."
    if len(several) == 1:
        return note
    groups = run_groups(runs)
    parts: list[str] = []
    for ranking in several:
        letters = sorted({groups[run.manifest.run_id] for run in ranking})
        manifest = ranking[0].manifest
        users = counted(len(manifest.users), manifest.noun)
        parts.append(f"{', '.join(letters)}: {users}, answered by {manifest.model_of('assistant')}")
    return f"{note} Runs over others or with other models do not compare: {'; '.join(parts)}."


def off_board(run: FinishedRun) -> str:
    """Return a sentence on why the run's scores are none; "" where it may stand on a board."""
    for problem in run.problems:
        return f"{run.manifest.run_id} is off the board, because it failed verification: {problem}"
    control = run.results.control
    if control is not None and not control.passed:
        return f"{run.manifest.run_id} is off the board. {control.sentence}"
    if run.fresh is not None and run.fresh.knows_release:
        return f"{run.manifest.run_id} is off the board. {run.fresh.sentence}"
    return ""


def unscored_share(run: FinishedRun) -> float:
    """Return the share of questions without a readable answer; they count as wrong."""
    return run.results.metrics["unscored"].value or 0.0


def best_first(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """Return the runs by ranking, and by the metric that ranks them, the highest first. Those in no group come last.

    Where that is equal, as on tasks that one missing value fails, whoever gave back more of the needed values is first.
    """
    names = (ranking_metric(runs), "fact_recall")

    def scores_of(run: FinishedRun) -> list[float]:
        metrics = run.results.metrics
        return [metrics[name].value or 0.0 for name in names if name in metrics]

    ordered: list[FinishedRun] = []
    for ranking in rankings(runs):
        ordered += sorted(ranking, key=scores_of, reverse=True)
    return sorted(ordered, key=lambda run: (bool(off_board(run)), unscored_share(run) > NO_GROUP))


def ranking_metric(runs: Sequence[FinishedRun]) -> str:
    """Return the memory score's name; overall where one of the runs has none."""
    for run in runs:
        score = run.results.metrics.get("memory")
        if score is None or score.value is None:
            return "overall"
    return "memory"


def unscored_label(run: FinishedRun) -> str:
    """Return the share of unscored answers, marked where it is high."""
    share = unscored_share(run)
    return f"{100 * share:.1f} %" + (" (!)" if share > RED else "")


def standings(runs: Sequence[FinishedRun]) -> str:
    """Return each run's score and what its memory brings: a table for 80 columns, and for Dagster's metadata."""
    rows: list[list[str]] = []
    groups = run_groups(runs)
    for run in rank_runs(runs):
        results = run.run.results
        gain = format_estimate(results.isolated.gain) if results.isolated else "-"
        group = groups[run.run.manifest.run_id]
        rows.append([group, run.label, *score_cells(run.run, ["overall"]), gain, unscored_label(run.run)])
    return headed_table(["group", "memory system", "overall", "gain over none", "unscored"], rows)


def cost_cells(run: FinishedRun) -> list[str]:
    """Return price and seconds for each answer: all that the memory caused, and the reasoner's apart."""
    results = run.results
    cells = list[str]()
    for name in ("memory_usd_per_1000_answers", "reasoner_usd_per_1000_answers"):
        cells.append(format_estimate(results.costs[name], digits=4, missing="unknown"))
    seconds = run.latency.memory_mean
    cells.append("cached" if seconds is None else format_number(seconds, digits=2))
    return [*cells, format_estimate(run.latency.mean, digits=2, missing="cached")]


def cost_table(runs: Sequence[FinishedRun]) -> str:
    """Return what each run's answers took, and the share of the memory's calls that were made again: for 80 columns."""
    rows = list[list[str]]()
    for run in rank_runs(runs):
        repeated = run.run.results.operations.repeated_calls
        rows.append([run.label, *cost_cells(run.run), "-" if repeated is None else f"{100 * repeated:.2f} %"])
    return headed_table(["memory system", *COSTS, "made again"], rows)


def summary(runs: Sequence[FinishedRun]) -> str:
    """Return the standings, and what a reader of them has to know."""
    return "\n\n".join([standings(runs), cost_table(runs), COSTS_NOTE, *board_notes(runs), *run_warnings(runs)])


def run_warnings(runs: Sequence[FinishedRun]) -> list[str]:
    """Return what went wrong in each of the runs: answers that were not read, memories that gave nothing, errors."""
    found: list[str] = []
    for run in runs:
        warnings = [*loss_notes(run), unread_answers(run), nothing_recalled(run), reading_order(run)]
        found += [f"{run.manifest.run_id}: {warning}" for warning in warnings if warning]
        found += [f"{run.manifest.run_id}: {errors}" for errors in error_list(run)]
    return found


def board_notes(runs: Sequence[FinishedRun]) -> list[str]:
    """Return the sentences that a reader of these runs' scores has to know, each once."""
    fewest = min(runs, key=lambda run: run.results.users)
    embedded = dict.fromkeys(embedded_model_note(run) for run in runs)
    everything = dict.fromkeys(map(gives_back_everything, runs))
    free = dict.fromkeys(boundary_note(run.manifest) for run in runs if run.manifest.boundary == IN_PROCESS)
    off = map(off_board, runs)
    tried = [f"{run.manifest.run_id}: {run.fresh.sentence}" for run in runs if run.fresh and not run.fresh.knows_release]
    unverified = dict[str, list[str]]()
    for run in runs:
        for what in run.unverified:
            unverified.setdefault(what, []).append(run.manifest.run_id)
    left_open = [f"Not verified of {', '.join(names)}: {what.rstrip('.')}." for what, names in unverified.items()]
    repeated = dict.fromkeys(f"A repetition {repeat_label(run.manifest)}." for run in runs)
    intervals = interval_note(fewest.results.users, fewest.manifest.noun)
    return list(filter(None, [*off, *tried, *left_open, *everything, *embedded, *free, *repeated, intervals, group_note(runs)]))


def score_cells(run: FinishedRun, metrics: Sequence[str]) -> list[str]:
    return [f"{format_estimate(run.results.metrics[metric])}{loss_mark(run.results)}" for metric in metrics]


def run_labels(runs: Sequence[FinishedRun]) -> dict[str, str]:
    """Return a name for each run by its id, no two alike.

    It names the facts in which the runs differ; where those leave runs alike, also the details in which these differ, and
    at last the end of the id.
    """
    manifests: dict[str, RunManifest] = {}
    labels: dict[str, str] = {}
    for run in runs:
        manifests[run.manifest.run_id] = run.manifest
        marks = [IN_PROCESS] if run.manifest.boundary == IN_PROCESS else []
        if run.manifest.more_models:
            marks.append(f"may also ask {' and '.join(run.manifest.more_models)}")
        labels[run.manifest.run_id] = " ".join([run.manifest.memory.name, *(f"({mark})" for mark in marks)])
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
    facts_of_runs = {manifest.run_id: facts(manifest) for manifest in manifests}
    for name in dict.fromkeys(chain.from_iterable(facts_of_runs.values())):
        if len({own.get(name) for own in facts_of_runs.values()}) > 1:
            for run_id, own in facts_of_runs.items():
                if name in own:
                    labels[run_id] += f", {own[name]}"


def _facts(manifest: RunManifest) -> Mapping[str, str]:
    return {
        "mode": manifest.policy,
        "model": manifest.model_of("assistant"),
        "attempt": f"attempt {manifest.attempt}",
        "seed": f"seed {manifest.seed}",
        "users": counted(len(manifest.users), manifest.noun),
        "questions": counted(manifest.questions, "question") if manifest.questions else "all questions",
        "tokens": counted(manifest.tokens, "token"),
        "wording": f"{manifest.wording} questions",
        "recall_query": f"recall by {manifest.recall_query.replace('-', ' ')}",
        "later_holds": "told that the later holds" if manifest.later_holds else "not told that the later holds",
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
