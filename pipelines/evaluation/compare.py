"""Runs side by side over the same users: paired differences, and on- against off-policy with ranks (Table 2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.intervals import Paired, paired
from pipelines.evaluation.metrics import METRICS
from pipelines.evaluation.policies import PolicyRow, policy_rows
from pipelines.evaluation.problems import EvaluationError
from pipelines.evaluation.report import leaderboard, ordered
from pipelines.evaluation.results import tally_of
from pipelines.evaluation.telling import figure, shown, table, words

TOLD_APART_BY = ("mode", "model", "attempt", "seed", "users")
COMPARED = ("overall", "memory", "write_failure", "read_failure", "utilization_failure")


@dataclass(frozen=True)
class Pair:
    """Two runs and the second's differences from the first."""

    title: str
    differences: tuple[Paired, ...]


@dataclass(frozen=True)
class Comparison:
    """Runs, the users that all of them have, and what lies between them."""

    runs: tuple[FinishedRun, ...]
    users: tuple[str, ...]
    pairs: tuple[Pair, ...]
    policies: tuple[PolicyRow, ...]


def compared(runs: Sequence[FinishedRun]) -> Comparison:
    """Compare the runs. Raises EvaluationError for runs that share no dataset or no users."""
    users, board, names = common_users(runs), ordered(runs), labels(runs)
    # The worse run first, so that most differences are gains.
    pairs = [
        Pair(f"{names[first.manifest.run_id]} minus {names[second.manifest.run_id]}", differences(second, first, users=users))
        for first, second in combinations(board, 2)
    ]
    return Comparison(tuple(runs), users, tuple(pairs), tuple(policy_rows(runs, users=users)))


def common_users(runs: Sequence[FinishedRun]) -> tuple[str, ...]:
    """The users of the first run that all others have too."""
    if len({run.manifest.dataset_digest for run in runs}) > 1:
        names = ", ".join(f"{run.manifest.run_id} on {run.manifest.dataset}" for run in runs)
        raise EvaluationError(f"These runs are of different datasets and cannot be compared: {names}.")
    users = tuple(user for user in runs[0].manifest.users if all(user in run.manifest.users for run in runs))
    if not users:
        raise EvaluationError("These runs have no user in common; evaluate them on the same users.")
    return users


def differences(first: FinishedRun, second: FinishedRun, *, users: Sequence[str]) -> tuple[Paired, ...]:
    """Second minus first, by every compared metric."""
    tallies = tally_of(first.answers, users=users), tally_of(second.answers, users=users)
    return tuple(paired(name, METRICS[name], tallies, seed=first.manifest.seed) for name in COMPARED)


def labels(runs: Sequence[FinishedRun]) -> dict[str, str]:
    """The assistant of each run by the run's id, with whatever else tells it from the other runs."""
    facts = {run.manifest.run_id: _facts(run) for run in runs}
    telling = [place for place in range(len(TOLD_APART_BY)) if len({fact[place] for fact in facts.values()}) > 1]
    return {
        run.manifest.run_id: ", ".join([run.manifest.assistant.name, *(facts[run.manifest.run_id][place] for place in telling)])
        for run in runs
    }


def _facts(run: FinishedRun) -> tuple[str, ...]:
    manifest = run.manifest
    model, users = manifest.assistant.settings.get("model"), len(manifest.users)
    return (manifest.mode, str(model), f"attempt {manifest.attempt}", f"seed {manifest.seed}", f"{users} users")


def comparison(found: Comparison) -> str:
    """The comparison in Markdown."""
    parts = [
        f"# {len(found.runs)} runs on {found.runs[0].manifest.dataset}",
        leaderboard(found.runs),
        f"## Differences over the same {len(found.users)} users",
        "The p value comes from swapping whole users between two runs; for several comparisons mind their number. "
        "Detectable is the smallest true difference that these users would show four times out of five.",
        *map(_told, found.pairs),
        *_policies(found.policies),
    ]
    return "\n\n".join(parts) + "\n"


def _told(pair: Pair) -> str:
    rows = [[words(one.metric), shown(one.difference), figure(one.p_value), figure(one.detectable)] for one in pair.differences]
    return f"### {pair.title}\n\n{table(['metric', 'difference', 'p', 'detectable'], rows)}"


def _policies(rows: Sequence[PolicyRow]) -> list[str]:
    if not rows:
        return []
    head = ["assistant", "on-policy", "off-policy", "off minus on", "ranks gained off-policy"]
    lines = [
        [row.name, shown(row.on), shown(row.off), shown(row.difference), shown(row.ranks_gained, digits=0)] for row in rows
    ]
    return ["## Memory on- and off-policy", table(head, lines)]
