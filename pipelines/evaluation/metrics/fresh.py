"""Public minus fresh: what a memory scores on the users of a release, less what it scores on users that nobody has seen.

A memory that carries the released data, in its code, its weights or behind its address, is worth less on other users.
"""

from collections.abc import Sequence

from assets.records.base import Record
from assets.records.estimate import FEWEST_USERS, Estimate
from assets.records.paths import FileName
from assets.reporting.intervals import Tallies, share
from assets.reporting.plurals import counted
from assets.reporting.statistic import Statistic, difference_of_groups
from pipelines.evaluation.records import AnswerCount, AnswerRow
from pipelines.evaluation.report.numbers import format_estimate

OVERALL = share("right", "asked")


class UserCount(Record):
    """How many questions about one fresh user were asked, and answered rightly. It does not say who that is."""

    asked: AnswerCount
    right: AnswerCount


class FreshScore(Record):
    """`fresh.json` beside a run's results: the shares right on public and on fresh users, and their difference.

    `run_id`: the run on the fresh users, which lies with them. All estimates follow from the run's answers and from `users`.
    """

    run_id: FileName
    noun: str
    users: tuple[UserCount, ...]
    public: Estimate
    fresh: Estimate
    gap: Estimate

    @property
    def knows_release(self) -> bool:
        """Return True where the public score is higher by more than its interval; never without an interval."""
        return self.gap.low is not None and self.gap.low > 0

    @property
    def sentence(self) -> str:
        """Return what came of the fresh users, in one sentence."""
        count = counted(len(self.users), self.noun)
        scores = f"On {count} that nobody has seen it is right in {format_estimate(self.fresh)}"
        return f"{scores}; public minus fresh is {format_estimate(self.gap)}: {self._verdict}."

    @property
    def _verdict(self) -> str:
        if self.knows_release:
            return "it knows the release"
        if self.gap.low is None:
            return f"fewer than {FEWEST_USERS} {self.noun}s on a side do not show whether it knows the release"
        return "nothing shows that it knows the release"


def count_users(answers: Sequence[AnswerRow], *, users: Sequence[str]) -> tuple[UserCount, ...]:
    """Return the counts of these users' questions, in their order."""
    asked = dict.fromkeys(users, 0)
    right = dict.fromkeys(users, 0)
    for row in answers:
        if row.kind == "question" and row.user_id in asked:
            asked[row.user_id] += 1
            right[row.user_id] += row.status == "right"
    return tuple(UserCount(asked=asked[user], right=right[user]) for user in users)


def compare_with_fresh(public: Sequence[UserCount], fresh: Sequence[UserCount], *, run_id: str, noun: str) -> FreshScore:
    """Return both shares and their difference: users are the unit, and the two groups are independent."""
    first = _statistic(public)
    second = _statistic(fresh)
    return FreshScore(
        run_id=run_id,
        noun=noun,
        users=tuple(fresh),
        public=first.estimate(),
        fresh=second.estimate(),
        gap=difference_of_groups(first, second),
    )


def _statistic(users: Sequence[UserCount]) -> Statistic:
    counts = {str(number): {"asked": user.asked, "right": user.right} for number, user in enumerate(users)}
    return Tallies.of(counts, names=("asked", "right")).statistic(OVERALL)
