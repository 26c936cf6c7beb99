"""What a gate can find, from two runs of the unchanged memory: how many answers flip between them, and how users differ beyond.

It is the power of the gate's own one-sided t test, by the noncentral t distribution; `tests/evaluation/simulated_runs.py` holds
it against simulated runs.
"""

from dataclasses import dataclass
from operator import ne

import numpy as np

from assets.records.estimate import FEWEST_USERS
from assets.reporting.intervals import Array
from assets.reporting.plurals import counted
from assets.reporting.statistic import CONFIDENCE
from pipelines.experiments.scoring.gate import RUNS, Baseline, difference_over_users

CHANCE_OF_SPREAD = 0.2  # users differ by more than flips where chance shows as much in one of five baselines
POWER = 0.8  # that is enough: four losses found of five
MOST = 100  # times the users, or the questions, beyond which nobody would ask for more
# The variance between a run and the mean of two, as a share of that between two runs.
BESIDE_TWO = 0.75


@dataclass(frozen=True)
class Power:
    """Chances from 0 to 1 that a gate finds something, for any number of users and of questions of each.

    `right`: the share of right answers. `flips`: the share that differs between two runs of the unchanged memory; `spread`:
    the variance of users' own differences beyond that. Both are None for a single run: chances are then the most that can be.
    """

    users: int
    questions: float
    right: float
    flips: float | None = None
    spread: float | None = None

    @classmethod
    def of(cls, baseline: Baseline) -> "Power":
        """Return what follows from the baseline's runs."""
        first = baseline.answers[0]
        last = baseline.answers[-1]
        users = len(first)
        questions = baseline.asked / users
        right = sum("".join(run.values()).count("1") for run in baseline.answers) / len(baseline.answers) / baseline.asked
        if len(baseline.answers) < RUNS:
            return cls(users, questions, right)
        flips = sum(sum(map(ne, answers, last[user])) for user, answers in first.items()) / baseline.asked
        variance = difference_over_users([first], last).variance
        return cls(users, questions, right, flips, spread_beyond_flips(variance, flips, users=users, questions=questions))

    def finds(self, loss: float, users: Array, questions: Array) -> Array:
        """Return the chance that a loss that hits right answers by chance is called worse."""
        # An answer that flips and is lost differs once.
        lost = loss * max(0.0, 1 - (loss + (self.flips or 0.0)) / max(self.right, loss))
        return self._chance(loss, lost, users, questions)

    def clears(self, margin: float, users: Array, questions: Array) -> Array:
        """Return the chance that an unchanged memory is shown to be no worse by the margin."""
        return self._chance(margin, 0.0, users, questions)

    def _chance(self, apart: float, lost: float, users: Array, questions: Array) -> Array:
        """Return the power of the one-sided t test. `lost`: the variance that a loss adds to one answer."""
        from scipy import special  # late, as in `Statistic`

        by_answers = (BESIDE_TWO * (self.flips or 0.0) + lost) / questions
        variance = (by_answers + BESIDE_TWO * (self.spread or 0.0)) / users
        error = np.maximum(np.sqrt(variance), 1 / (users * questions))
        return 1 - special.nctdtr(users - 1, apart / error, special.stdtrit(users - 1, CONFIDENCE))

    def sentences(self, margin: float, *, noun: str) -> list[str]:
        """Return what the gate can find with these users, and how many it would take."""
        here = (np.array([float(self.users)]), np.array([self.questions]))
        [found] = self.finds(margin, *here)
        [cleared] = self.clears(margin, *here)
        most = "at most " if self.flips is None else ""
        told = [
            f"{counted(self.users, noun)} with {self.questions:.0f} questions each: a loss of {margin:g} that hits answers by "
            f"chance is called worse {most}{100 * found:.0f} times out of 100, and an unchanged memory is shown to be no worse "
            f"by {margin:g} {most}{100 * cleared:.0f} times."
        ]
        if self.flips is None:
            told.append(
                "That is if no answer changes by itself, which one run cannot show: --write with --again adds a second run "
                "of the unchanged memory to the baseline."
            )
            return told
        told.append(f"Between two runs of the unchanged memory {self.flips:.1%} of the answers flip.")
        if min(found, cleared) < POWER:
            told.append(self._say_what_it_takes(margin, noun))
        return told

    def _say_what_it_takes(self, margin: float, noun: str) -> str:
        """Say how many users, or questions, let both be found in four of five runs."""
        sizes = np.arange(FEWEST_USERS, MOST * max(self.users, self.questions))
        here = np.ones(len(sizes))
        parts: list[str] = []
        for size, told in (
            ((sizes, self.questions * here), f"{{:.0f}} {noun}s"),
            ((self.users * here, sizes), f"{{:.0f}} questions of each of these {self.users}"),
        ):
            enough = np.minimum(self.finds(margin, *size), self.clears(margin, *size)) >= POWER
            if enough.any():
                parts.append(told.format(sizes[enough.argmax()]))
        return f"To find both {100 * POWER:.0f} times out of 100 takes {' or '.join(parts) or 'a larger margin'}."


def spread_beyond_flips(variance: float, flips: float, *, users: int, questions: float) -> float:
    """Return the variance of users' own differences between two runs, beyond what flips make; 0 where chance may be all.

    `variance`: of the difference over all users.
    """
    from scipy import special  # late, as in `Statistic`

    by_flips = flips / questions
    if not by_flips or special.chdtrc(users - 1, (users - 1) * users * variance / by_flips) > CHANCE_OF_SPREAD:
        return 0.0
    return max(0.0, users * variance - by_flips)
