"""Runs side by side over the same users: paired differences, and on- against off-policy with ranks (Table 2)."""

from collections.abc import Sequence
from itertools import combinations

from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.intervals import Paired, paired
from pipelines.evaluation.metrics import METRICS
from pipelines.evaluation.problems import EvaluationError
from pipelines.evaluation.report import leaderboard, shown, table
from pipelines.evaluation.results import tally_of

COMPARED = ("overall", "memory", "write_failure", "read_failure", "utilization_failure")


def comparison(runs: Sequence[FinishedRun]) -> str:
    """The comparison in Markdown. Raises EvaluationError for runs that share no dataset or no users."""
    users = common_users(runs)
    parts = [
        f"# {len(runs)} runs on {runs[0].manifest.dataset}",
        leaderboard(runs),
        f"## Differences over the same {len(users)} users",
        "The p value comes from swapping whole users between two runs; for several comparisons mind their number. "
        "Detectable is the smallest true difference that these users would show four times out of five.",
        *(_pair(first, second, users=users) for first, second in combinations(runs, 2)),
        *_policies(runs),
    ]
    return "\n\n".join(parts) + "\n"


def common_users(runs: Sequence[FinishedRun]) -> tuple[str, ...]:
    """The users of the first run that all others have too."""
    if len({run.manifest.dataset_digest for run in runs}) > 1:
        names = ", ".join(f"{run.manifest.run_id} on {run.manifest.dataset}" for run in runs)
        raise EvaluationError(f"These runs are of different datasets and cannot be compared: {names}.")
    users = tuple(user for user in runs[0].manifest.users if all(user in run.manifest.users for run in runs))
    if not users:
        raise EvaluationError("These runs have no user in common; evaluate them on the same users.")
    return users


def differences(first: FinishedRun, second: FinishedRun, *, users: Sequence[str]) -> list[Paired]:
    """Second minus first, by every compared metric."""
    tallies = tally_of(first.answers, users=users), tally_of(second.answers, users=users)
    return [paired(name, METRICS[name], tallies, seed=first.manifest.seed) for name in COMPARED]


def _pair(first: FinishedRun, second: FinishedRun, *, users: Sequence[str]) -> str:
    rows = [
        [one.metric.replace("_", " "), shown(one.difference), _number(one.p_value), _number(one.detectable)]
        for one in differences(first, second, users=users)
    ]
    title = f"### {label(second)} minus {label(first)}"
    return f"{title}\n\n{table(['metric', 'difference', 'p', 'detectable'], rows)}"


def label(run: FinishedRun) -> str:
    """The assistant, with what else tells its run from another one's."""
    attempt = f", attempt {run.manifest.attempt}" if run.manifest.attempt else ""
    return f"{run.manifest.assistant.name} ({run.manifest.mode}{attempt})"


def _policies(runs: Sequence[FinishedRun]) -> list[str]:
    """Memory on- and off-policy of every assistant that was run both ways, and how its rank changes."""
    memory = {
        mode: {run.manifest.assistant.name: run.results.metrics["memory"] for run in runs if run.manifest.mode == mode}
        for mode in ("on-policy", "off-policy")
    }
    names = [name for name in memory["on-policy"] if name in memory["off-policy"]]
    if not names:
        return []
    ranks = {
        mode: sorted(names, key=lambda name, mode=mode: -(memory[mode][name].value or 0.0))
        for mode in ("on-policy", "off-policy")
    }
    rows = [
        [
            name,
            shown(memory["on-policy"][name]),
            shown(memory["off-policy"][name]),
            f"{ranks['on-policy'].index(name) - ranks['off-policy'].index(name):+d}",
        ]
        for name in ranks["on-policy"]
    ]
    return ["## Memory on- and off-policy", table(["assistant", "on-policy", "off-policy", "ranks gained off-policy"], rows)]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
