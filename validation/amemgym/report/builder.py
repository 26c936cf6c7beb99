"""From the finished users to AMemGym's quality report, in one pass over them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from assets.amemgym.audits.rates import GateCalls, GateErrors
from assets.amemgym.audits.stage import AUDITS
from assets.amemgym.episodes import EPISODES
from assets.amemgym.personas.sampling import pool_counts, pool_files
from assets.amemgym.personas.stage import PERSONAS
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.persona import Persona
from assets.amemgym.records.report import QualityReport
from assets.engine.ports import RunContext
from assets.recipe.loading import RecipeError
from assets.records.base import GateRecord
from assets.reporting.gate_summary import Gates, votes_of
from validation.amemgym.report.balance import GoldenChangeCounter, MovementCounter, PositionCounter
from validation.amemgym.report.contents import FactCounter, Population, parity_lines
from validation.amemgym.report.coverage import COLUMNS, CoverageCounter
from validation.amemgym.report.diversity import Embeddings, QuestionSample, diversity, question_embeddings, shared_name
from validation.amemgym.report.gates import GuessCounter, LeakCounter
from validation.amemgym.report.recovery import RecoveryCounter
from validation.amemgym.shortcuts import ShortcutBaselines
from validation.amemgym.texts import TextCounter
from validation.report.builder import SharedLines, commonest_messages
from validation.rules import RecordsByStage

WITHOUT_EMBEDDINGS = Embeddings()
# Each demographic column's values with how many personas of the pool have them.
Pool = Mapping[str, Iterable[tuple[object, int]]]


@dataclass(frozen=True)
class FinishedUser:
    """A finished user's episode with the votes of the gates, audit and persona; None for what is not there."""

    episode: Episode
    votes: tuple[GateRecord, ...] = ()
    audit: UserAudit | None = None
    persona: Persona | None = None


def users_of(portion: RecordsByStage) -> Iterator[FinishedUser]:
    """The users of a portion, each with all that the report measures."""
    for user in portion[EPISODES.name]:
        own = [records[user] for records in portion.values() if user in records]
        yield FinishedUser(
            episode=cast(Episode, portion[EPISODES.name][user]),
            votes=tuple(vote for one in own for vote in votes_of(one)),
            audit=cast(UserAudit | None, portion.get(AUDITS.name, {}).get(user)),
            persona=cast(Persona | None, portion.get(PERSONAS.name, {}).get(user)),
        )


class QualityReportBuilder:
    """Counts all that the report needs user by user, so that none of them stays in memory."""

    def __init__(self, recipe: AMemGymRecipe, *, users: int) -> None:
        self._recipe = recipe
        self._facts, self._population, self._coverage = FactCounter(), Population(), CoverageCounter()
        self._gates, self._calls, self._errors = Gates(), GateCalls(), GateErrors()
        self._shortcuts, self._recovery = ShortcutBaselines(recipe), RecoveryCounter()
        self._leaks, self._guesses = LeakCounter(), GuessCounter(recipe)
        self._movement, self._positions, self._golden = MovementCounter(), PositionCounter(), GoldenChangeCounter()
        self._questions, self._texts = QuestionSample(recipe, users=users), TextCounter(recipe)
        self._names: dict[str, str] = {}

    def add(self, records: RecordsByStage) -> None:
        for user in users_of(records):
            self.add_user(user)

    def add_user(self, user: FinishedUser) -> None:
        for one in (self._facts, self._population, self._movement, self._positions, self._golden, self._questions, self._texts):
            one.add(user.episode)
        self._guesses.add(user.episode)
        self._names[user.episode.user_id] = user.episode.user_profile.name
        for one in (self._gates, self._calls):
            one.add(user.votes)
        self._leaks.add_votes(user.votes)
        self._shortcuts.add(user.episode, user.audit.judgements if user.audit else ())
        if user.audit:
            self._errors.add(user.audit)
            self._recovery.add(user.audit, user.episode)
            self._leaks.add_audit(user.audit)
        if user.persona:
            self._coverage.add(user.persona)

    async def report(self, shared: SharedLines, *, run_context: RunContext, problems: list[str]) -> QualityReport:
        recipe = self._recipe
        embedder = None if run_context.open_embedder is None else run_context.open_embedder(recipe, recipe.variant)
        embeddings = await question_embeddings(self._questions.compared(), embedder, recipe=recipe)
        if embeddings.problem:
            problems.append(f"Questions are compared by words only: {embeddings.problem}")
        return self.finished_report(shared, embeddings=embeddings, pool=self._pool(problems))

    def finished_report(
        self, shared: SharedLines, *, embeddings: Embeddings = WITHOUT_EMBEDDINGS, pool: Pool | None = None
    ) -> QualityReport:
        """The report on all users that were added; asks no model. `pool` None: the users are not compared with it."""
        recipe, facts = self._recipe, self._facts.facts(failures=shared.failures)
        report = QualityReport(
            variant=recipe.variant,
            writer=shared_name(recipe.models.writer.model),
            judges=tuple(map(shared_name, recipe.models.judge.panel)),
            users_wanted=recipe.num_users,
            counts=facts.counts,
            lengths=facts.lengths,
            turns_per_user=facts.turns_per_user,
            golden_changes=self._golden.share(),
            replaced={f"{stage}: {reason}": count for (stage, reason), count in facts.failures.items()},
            replaced_because=commonest_messages(shared.failures),
            gates=tuple(self._gates.lines()),
            rules=shared.rules,
            parity=tuple(parity_lines(facts, self._population)),
            columns=shared.columns,
            gate_errors=tuple(self._errors.rates()),
            judge_errors=tuple(self._errors.of_readings()),
            guessing=self._guesses.rates(),
            leaks=self._leaks.line(),
            calls_per_item={str(gate): calls for gate, calls in self._calls.per_item().items()},
            wall=self._shortcuts.lines(),
            texts=tuple(self._texts.lines()),
            recovery=tuple(self._recovery.lines()),
            ceiling=self._recovery.ceiling(shared.failures),
            ceiling_sample=self._recovery.ceiling_sample(recipe, shared.failures),
            motion=self._movement.movement(),
            places=tuple(self._positions.lines()),
            diversity=diversity(self._questions.compared(), embeddings, recipe=recipe),
            coverage=() if pool is None else tuple(self._coverage.lines(pool, seed=recipe.seed)),
        )
        return report.with_names(self._names)

    def _pool(self, problems: list[str]) -> Pool | None:
        try:
            return pool_counts(pool_files(self._recipe.pool), COLUMNS)
        except RecipeError as error:
            problems.append(f"The users are not compared with the pool: {error}")
            return None
