"""Hold intervals, groups and gate against simulated runs whose truth is known: how often each of them is wrong.

All sets of runs of one shape are simulated at once, each as a period, so that they go through the functions of real runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assets.reporting.intervals import Array, Tallies, metric_difference, share
from assets.reporting.statistic import Statistic
from pipelines.experiments.scoring.gate import Verdict, one_sided, verdict_of
from pipelines.experiments.scoring.paired import told_apart
from pipelines.experiments.scoring.power import Power, spread_beyond_flips

SETS = 400  # simulated, so that a share is sure to some .02
MEMORIES = 4  # that are equal, and may be told apart by chance


@dataclass(frozen=True)
class Shape:
    """What runs on a release look like.

    `questions`: of each user; `right`: the share of right answers; `spread`: its standard deviation over users. `flips`: the
    share of answers that differ between two runs of a memory; `drift`: the standard deviation over users of a run's own luck.
    """

    users: int
    questions: int
    right: float
    spread: float
    flips: float
    drift: float = 0.0


@dataclass(frozen=True)
class Calibration:
    """Shares of simulated sets of runs. `covered`: an interval held the truth. `told_apart`: some of four equal memories were.

    `alarms`: the gate called an unchanged memory worse; `cleared`: it called one no worse by the margin that had lost as much.
    `said`: the mean chance of finding the loss that the gate says, and `found` how often it did.
    """

    covered: float
    told_apart: float
    alarms: float
    cleared: float
    said: float
    found: float


def calibrate(shape: Shape, *, loss: float, seed: int) -> Calibration:
    """Simulate sets of runs of four equal memories and of one that has lost `loss`. Needs six users."""
    runs = simulate_runs(shape, [0.0] * MEMORIES + [loss], sets=SETS, seed=seed)
    counts = {str(number): run.sum(axis=2) for number, run in enumerate(runs)}
    counts["before"] = (counts["0"] + counts["1"]) / 2
    counts["asked"] = np.full((shape.users, SETS), float(shape.questions))
    tallies = Tallies(tuple(map(str, range(shape.users))), counts)

    def difference(after: str, before: str) -> tuple[Statistic, ...]:
        sides = [share(name, "asked", each_period=True) for name in (after, before)]
        return tallies.statistics(metric_difference(*sides))

    pairs = [difference(after, before) for before, after in combinations("0123", 2)]

    def verdicts(after: str) -> list[Verdict]:
        return [verdict_of(one_sided(statistic), margin=loss) for statistic in difference(after, "before")]

    unchanged = verdicts("2")
    lost = verdicts("4")
    covered = [
        (estimate.low or 0.0) <= shape.right <= (estimate.high or 0.0)
        for estimate in tallies.estimates(share("0", "asked", each_period=True))
    ]
    apart = [any(told_apart([pair.p_value for pair in own])) for own in zip(*pairs, strict=True)]
    right = counts["before"].mean(axis=0) / shape.questions
    flips = (runs[0] != runs[1]).mean(axis=(0, 2))
    said = [_power_said(shape, loss, *seen) for seen in zip(right.tolist(), flips.tolist(), pairs[0], strict=True)]
    return Calibration(
        covered=float(np.mean(covered)),
        told_apart=float(np.mean(apart)),
        alarms=unchanged.count("worse") / SETS,
        cleared=lost.count("no worse") / SETS,
        said=float(np.mean(said)),
        found=lost.count("worse") / SETS,
    )


def simulate_runs(shape: Shape, losses: Sequence[float], *, sets: int, seed: int) -> list[Array]:
    """Return a run for each loss, of shape (users, sets, questions): 1 where an answer is right.

    Some questions a memory always answers rightly, some never, and some by chance, which flip. A loss hits right answers.
    """
    chance = np.random.Generator(np.random.PCG64(seed))
    size = (shape.users, sets, shape.questions)
    ability = np.full((shape.users, sets, 1), shape.right)
    if shape.spread:
        weight = shape.right * (1 - shape.right) / shape.spread**2 - 1
        ability = chance.beta(shape.right * weight, (1 - shape.right) * weight, size=ability.shape).clip(1e-6, 1 - 1e-6)
    by_chance = 2 * np.minimum(shape.flips, np.minimum(ability, 1 - ability))
    drawn = chance.random(size)
    always = drawn >= 1 - (ability - by_chance / 2)
    runs: list[Array] = []
    for loss in losses:
        right = np.where(drawn < by_chance, chance.random(size) < 0.5, always)
        moved = chance.normal(-loss, shape.drift, size=ability.shape)
        stays = np.where(right, 1 + np.minimum(moved / ability, 0), np.maximum(moved / (1 - ability), 0))
        runs.append((chance.random(size) < stays).astype(float))
    return runs


def _power_said(shape: Shape, loss: float, right: float, flips: float, between: Statistic) -> float:
    """Return the chance of finding the loss that a gate says of two runs with this difference."""
    spread = spread_beyond_flips(between.variance, flips, users=shape.users, questions=shape.questions)
    power = Power(shape.users, shape.questions, right, flips, spread)
    return float(power.finds(loss, np.array(float(shape.users)), np.array(float(shape.questions))))
