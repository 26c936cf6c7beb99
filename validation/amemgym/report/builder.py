"""Build AMemGym's quality report in one pass over the finished users."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from assets.amemgym.audits.rates import GateCalls, GateErrors, decoys_sentence
from assets.amemgym.audits.stage import AUDITS
from assets.amemgym.episodes import EPISODES
from assets.amemgym.personas.sampling import pool_counts, pool_files
from assets.amemgym.personas.stage import PERSONAS
from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.persona import Persona
from assets.amemgym.records.report import QualityReport
from assets.engine.ports import RunContext
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.loading import RecipeError
from assets.records.base import GateRecord
from assets.reporting.gate_summary import Gates, votes_of
from validation.amemgym.report.balance import MovementCounter, PositionCounter
from validation.amemgym.report.contents import FactCounter, Population, parity_lines
from validation.amemgym.report.coverage import COLUMNS, CoverageCounter
from validation.amemgym.report.diversity import Embeddings, QuestionSample, diversity, question_embeddings, shared_name
from validation.amemgym.report.gates import GuessCounter, LeakCounter, promised_rates
from validation.amemgym.report.recovery import RecoveryCounter
from validation.amemgym.shortcuts.baselines import ShortcutBaselines
from validation.amemgym.texts import TextCounter
from validation.report.builder import SharedLines, commonest_messages
from validation.rules import RecordsByStage

WITHOUT_EMBEDDINGS = Embeddings()
# By demographic column: each value, and how many personas of the pool have it.
Pool = Mapping[str, Iterable[tuple[object, int]]]


@dataclass(frozen=True)
class FinishedUser:
    """A finished user's episode with the votes of the gates, audit and persona; None for what is not there."""

    episode: Episode
    votes: tuple[GateRecord, ...] = ()
    audit: UserAudit | None = None
    persona: Persona | None = None


def finished_users(portion: RecordsByStage) -> Iterator[FinishedUser]:
    """Yield the users of a portion, each with all that the report measures."""
    for user, episode in portion[EPISODES.name].items():
        votes: list[GateRecord] = []
        for records in portion.values():
            if user in records:
                votes += votes_of(records[user])
        yield FinishedUser(
            episode=cast(Episode, episode),
            votes=tuple(votes),
            audit=cast(UserAudit | None, portion.get(AUDITS.name, {}).get(user)),
            persona=cast(Persona | None, portion.get(PERSONAS.name, {}).get(user)),
        )


class QualityReportBuilder:
    """Count all that the report needs user by user, so that none of them stays in memory."""

    def __init__(self, recipe: AMemGymRecipe, *, users: int) -> None:
        self._recipe = recipe
        self._facts = FactCounter()
        self._population = Population()
        self._coverage = CoverageCounter()
        self._gates = Gates()
        self._calls = GateCalls()
        self._errors = GateErrors()
        self._shortcuts = ShortcutBaselines(recipe)
        self._recovery = RecoveryCounter()
        self._leaks = LeakCounter()
        self._guesses = GuessCounter(recipe)
        self._movement = MovementCounter(min_periods_held=recipe.min_periods_held)
        self._positions = PositionCounter()
        self._questions = QuestionSample(recipe, users=users)
        self._texts = TextCounter(recipe)
        self._names: dict[str, str] = {}

    def add(self, records: RecordsByStage) -> None:
        for user in finished_users(records):
            self.add_user(user)

    def add_user(self, user: FinishedUser) -> None:
        episode = user.episode
        self._names[episode.user_id] = episode.user_profile.name
        self._facts.add(episode)
        self._population.add(episode)
        self._movement.add(episode)
        self._positions.add(episode)
        self._questions.add(episode)
        self._texts.add(episode)
        self._guesses.add(episode)
        self._gates.add(user.votes)
        self._calls.add(user.votes)
        self._leaks.add_votes(user.votes)
        self._shortcuts.add(episode, user.audit.judgements if user.audit else ())
        if user.audit:
            self._errors.add(user.audit)
            self._recovery.add(user.audit, episode)
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
        """Return the report on all users that were added. It asks no model. Without `pool` users are not compared with one."""
        recipe = self._recipe
        facts = self._facts.facts(failures=shared.failures)
        gate_errors = tuple(self._errors.rates())
        judge_errors = tuple(self._errors.of_readings())
        report = QualityReport(
            variant=recipe.variant,
            writer=shared_name(recipe.models.writer.model),
            judges=tuple(map(shared_name, recipe.models.judge.panel)),
            users_wanted=recipe.num_users,
            counts=facts.counts,
            lengths=facts.lengths,
            turns_per_user=facts.turns_per_user,
            golden_changes=self._movement.golden_share(),
            replaced={f"{stage}: {reason}": count for (stage, reason), count in facts.failures.items()},
            replaced_because=commonest_messages(shared.failures),
            gates=tuple(self._gates.lines()),
            rules=shared.rules,
            parity=tuple(parity_lines(facts, self._population)),
            columns=shared.columns,
            gate_errors=gate_errors,
            decoys=decoys_sentence(recipe) if gate_errors else "",
            judge_errors=judge_errors,
            promised=promised_rates(gate_errors, judge_errors, policy=recipe.gates),
            max_false_accept=recipe.gates.max_false_accept if recipe.gates.policy == "calibrated" else None,
            guessing=self._guesses.rates(),
            leaks=self._leaks.line(),
            calls_per_item={str(gate): calls for gate, calls in self._calls.per_item().items()},
            shortcuts=self._shortcuts.lines(),
            texts=tuple(self._texts.lines()),
            recovery=tuple(self._recovery.lines()),
            ceiling=self._recovery.ceiling(shared.failures),
            ceiling_sample=self._recovery.ceiling_sample(recipe, shared.failures),
            movement=self._movement.movement(),
            positions=tuple(self._positions.lines()),
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
