"""From the finished users to the quality report, in one pass over them; asks no model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assets.amemgym.audits.rates import GateCalls, GateErrors
from assets.amemgym.records.episode import Episode
from assets.recipe.recipe import Recipe
from assets.records.expectation import ColumnLine
from assets.records.failure import Failure
from assets.records.report import QualityReport, RuleLine
from assets.reporting.gate_summary import Gates
from validation.amemgym.report.balance import Movement, Places
from validation.amemgym.report.contents import FactCounter
from validation.amemgym.report.coverage import Coverage
from validation.amemgym.report.diversity import Compared, Meanings, QuestionSample, diversity, shared_name
from validation.amemgym.report.finished_users import FinishedUser
from validation.amemgym.report.parity import People, parity_lines
from validation.amemgym.report.recovery import RecoveryTally
from validation.amemgym.shortcuts.baselines import Wall

Pool = Mapping[str, Iterable[tuple[object, int]]]


@dataclass(frozen=True)
class Additions:
    """What the report tells and does not count itself.

    `pool`: each demographic column's values with how many of the pool have them, if it is there.
    """

    failures: Iterable[Failure] = ()
    rules: Iterable[RuleLine] = ()
    columns: Sequence[ColumnLine] = ()
    meanings: Meanings = field(default_factory=Meanings)
    pool: Pool | None = None


class Survey:
    """Counts all that the report needs while the finished users pass by, so that none of them stays in memory."""

    def __init__(self, recipe: Recipe, *, users: int) -> None:
        self._recipe = recipe
        self._facts, self._people, self._coverage = FactCounter(), People(), Coverage()
        self._gates, self._calls, self._errors = Gates(), GateCalls(), GateErrors()
        self._wall, self._recovery = Wall(recipe), RecoveryTally()
        self._movement, self._places, self._golden = Movement(), Places(), GoldenChanges()
        self._questions = QuestionSample(recipe, users=users)

    def add(self, user: FinishedUser) -> None:
        """Take the next user of the set."""
        for one in (self._facts, self._people, self._movement, self._places, self._golden, self._questions):
            one.add(user.episode)
        for one in (self._gates, self._calls):
            one.add(user.votes)
        self._wall.add(user.episode, user.audit.judgements if user.audit else ())
        if user.audit:
            self._errors.add(user.audit)
            self._recovery.add(user.audit, user.episode)
        if user.persona:
            self._coverage.add(user.persona)

    def compared(self) -> Compared:
        """The questions whose likeness the report tells."""
        return self._questions.compared()

    def report(self, additions: Additions) -> QualityReport:
        """The report on all who have passed."""
        recipe, facts = self._recipe, self._facts.facts(failures=additions.failures)
        return QualityReport(
            variant=recipe.variant,
            writer=shared_name(recipe.models.writer.model),
            judges=tuple(map(shared_name, recipe.models.judge.panel)),
            users_wanted=recipe.num_users,
            counts=facts.counts,
            lengths=facts.lengths,
            turns_per_user=facts.turns_per_user,
            golden_changes=self._golden.share(),
            replaced={f"{stage}: {reason}": count for (stage, reason), count in facts.failures.items()},
            gates=tuple(self._gates.lines()),
            rules=tuple(additions.rules),
            parity=tuple(parity_lines(facts, self._people)),
            columns=tuple(additions.columns),
            gate_errors=tuple(self._errors.rates()),
            calls_per_item={str(gate): calls for gate, calls in self._calls.per_item().items()},
            wall=self._wall.lines(),
            recovery=tuple(self._recovery.lines()),
            ceiling=self._recovery.ceiling(),
            motion=self._movement.motion(),
            places=tuple(self._places.lines()),
            diversity=diversity(self.compared(), additions.meanings, recipe=recipe),
            coverage=() if additions.pool is None else tuple(self._coverage.lines(additions.pool, seed=recipe.seed)),
        )


class GoldenChanges:
    """How often the right option is another than a period before."""

    def __init__(self) -> None:
        self._steps = self._changes = 0

    def add(self, episode: Episode) -> None:
        """Take one user."""
        for question in episode.questions:
            self._steps += max(0, len(question.golden) - 1)
            self._changes += sum(before != after for before, after in zip(question.golden, question.golden[1:], strict=False))

    def share(self) -> float:
        """Of all steps from a period to the next."""
        return round(self._changes / max(1, self._steps), 4)
