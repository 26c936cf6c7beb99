"""Text for readers: tables, estimates with their intervals, the meaning of every metric, labels that tell runs apart."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from assets.records.estimate import Estimate
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.records import AssistantSpec, RunManifest

MEANINGS = {
    "overall": "questions answered rightly, of those with a readable answer (section 3.3)",
    "overall_unscored_as_wrong": "the same with unreadable answers counted as wrong",
    "memory": "between random (0) and the upper bound (1): mean of the periods' scores, the paper's way",
    "memory_of_means": "the same of the means over all periods",
    "write_failure": "wrong, and a needed value was not known even when it had just been told",
    "read_failure": "wrong, and a needed value was known when told, but not any more",
    "utilization_failure": "wrong, although every needed value is known",
    "undiagnosed": "wrong, and the deciding state probe could not be read",
    "write_failure_corrected": "write failure, corrected for guessed probes; small rates may fall below 0",
    "read_failure_corrected": "read failure, so corrected",
    "utilization_failure_corrected": "utilization failure, so corrected",
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
LEADERBOARD_METRICS = ("overall", "memory", "write_failure", "read_failure", "utilization_failure", "state_recall")
LONGEST = 80  # characters of a setting that is shown
OWN_BASELINES = ("upper_bound", "options_only", "no_memory")  # these ask the assistant
Facts = Callable[[RunManifest], Mapping[str, str]]


def baseline_labels(assistant: str) -> dict[str, str]:
    """The baselines for a leaderboard, the best first; those that ask an assistant say which."""
    names = ("upper_bound", "no_memory", "options_only", "stale", "constant", "random")
    return {name: metric_label(name) + (f" of {assistant}" if name in OWN_BASELINES else "") for name in names}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; bars in its cells are escaped."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def format_estimate(estimate: Estimate, *, digits: int = 3, missing: str = "-") -> str:
    """The number with its 95 % interval, as in .412 [.350, .471]."""
    if estimate.value is None:
        return missing
    low, high = estimate.low, estimate.high
    interval = (
        "" if low is None or high is None else f" [{format_number(low, digits=digits)}, {format_number(high, digits=digits)}]"
    )
    return format_number(estimate.value, digits=digits) + interval


def format_number(value: float | None, *, digits: int = 3) -> str:
    """A number in few characters; large ones without decimals."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def settings_line(spec: AssistantSpec) -> str:
    """An assistant's settings in one line."""
    return ", ".join(setting_labels(spec).values())


def setting_labels(spec: AssistantSpec) -> dict[str, str]:
    """Each setting of an assistant with its name; of long ones only the length."""
    lengths = {name: len(str(value)) for name, value in spec.settings.items()}
    return {
        name: f"{name} {value if lengths[name] <= LONGEST else f'of {lengths[name]:,} characters'}"
        for name, value in spec.settings.items()
    }


def metric_label(name: str) -> str:
    """A metric's name for a reader."""
    return name.replace("_", " ")


def mode_label(manifest: RunManifest) -> str:
    """On-policy, or off-policy with whose dialogues."""
    return manifest.mode + (f" with the dialogues of {manifest.replayed_run}" if manifest.replayed_run else "")


def run_labels(runs: Sequence[FinishedRun]) -> dict[str, str]:
    """A name for each run by its id, no two alike.

    It names the facts in which the runs differ; where those leave runs alike, also the details in which these differ, and
    at last the end of the id.
    """
    every = list({run.manifest.run_id: run.manifest for run in runs}.values())
    differing = _distinguishing(every, _facts)
    names = {one.run_id: ", ".join([one.assistant.name, *differing[one.run_id]]) for one in every}
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
        "model": str(manifest.assistant.settings.get("model")),
        "attempt": f"attempt {manifest.attempt}",
        "seed": f"seed {manifest.seed}",
        "users": f"{len(manifest.users)} users",
        "simulator": f"user simulated by {manifest.simulator}",
        "generator": manifest.generator,
    }


def _details(manifest: RunManifest) -> Mapping[str, str]:
    details = {
        "version": manifest.assistant_version,
        "embedding": f"embeddings by {manifest.embedding}",
        "judge": f"user checked by {manifest.judge}",
        "replayed": f"dialogues of {manifest.replayed_run}",
    }
    return {**setting_labels(manifest.assistant), **details}


def _number(manifest: RunManifest) -> Mapping[str, str]:
    return {"id": f"run ...{manifest.run_id[-6:]}"}
