"""From the finished users to the quality report, in one pass over them; asks no model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assets.amemgym.audits.rates import GateCalls, GateErrors
from assets.amemgym.records.report import QualityReport
from assets.recipe.recipe import Recipe
from assets.records.failure import Failure
from assets.records.report import ColumnLine, RuleLine
from assets.reporting.gate_summary import Gates
from validation.amemgym.report.balance import GoldenChangeCounter, MovementCounter, PositionCounter
from validation.amemgym.report.contents import FactCounter, Population, parity_lines
from validation.amemgym.report.coverage import CoverageCounter
from validation.amemgym.report.diversity import ComparedQuestions, Embeddings, QuestionSample, diversity, shared_name
from validation.amemgym.report.finished_users import FinishedUser
from validation.amemgym.report.recovery import RecoveryCounter
from validation.amemgym.shortcuts import ShortcutBaselines

Pool = Mapping[str, Iterable[tuple[object, int]]]


@dataclass(frozen=True)
class MeasuredElsewhere:
    """What the report tells and does not count itself.

    `pool`: each demographic column's values with how many of the pool have them, if it is there.
    """

    failures: Iterable[Failure] = ()
    rules: Iterable[RuleLine] = ()
    columns: Sequence[ColumnLine] = ()
    embeddings: Embeddings = field(default_factory=Embeddings)
    pool: Pool | None = None


class ReportBuilder:
    """Counts all that the report needs while the finished users pass by, so that none of them stays in memory."""

    def __init__(self, recipe: Recipe, *, users: int) -> None:
        self._recipe = recipe
        self._facts, self._population, self._coverage = FactCounter(), Population(), CoverageCounter()
        self._gates, self._calls, self._errors = Gates(), GateCalls(), GateErrors()
        self._shortcuts, self._recovery = ShortcutBaselines(recipe), RecoveryCounter()
        self._movement, self._positions, self._golden = MovementCounter(), PositionCounter(), GoldenChangeCounter()
        self._questions = QuestionSample(recipe, users=users)

    def add(self, user: FinishedUser) -> None:
        """Take the next user of the set."""
        for one in (self._facts, self._population, self._movement, self._positions, self._golden, self._questions):
            one.add(user.episode)
        for one in (self._gates, self._calls):
            one.add(user.votes)
        self._shortcuts.add(user.episode, user.audit.judgements if user.audit else ())
        if user.audit:
            self._errors.add(user.audit)
            self._recovery.add(user.audit, user.episode)
        if user.persona:
            self._coverage.add(user.persona)

    def compared(self) -> ComparedQuestions:
        """The questions whose likeness the report tells."""
        return self._questions.compared()

    def report(self, additions: MeasuredElsewhere) -> QualityReport:
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
            parity=tuple(parity_lines(facts, self._population)),
            columns=tuple(additions.columns),
            gate_errors=tuple(self._errors.rates()),
            calls_per_item={str(gate): calls for gate, calls in self._calls.per_item().items()},
            wall=self._shortcuts.lines(),
            recovery=tuple(self._recovery.lines()),
            ceiling=self._recovery.ceiling(),
            motion=self._movement.movement(),
            places=tuple(self._positions.lines()),
            diversity=diversity(self.compared(), additions.embeddings, recipe=recipe),
            coverage=() if additions.pool is None else tuple(self._coverage.lines(additions.pool, seed=recipe.seed)),
        )
