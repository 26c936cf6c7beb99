"""Build AMemGym's quality report in one pass over the finished users."""

from itertools import chain
from typing import cast

from assets.amemgym.audits.judgements import GUESSES
from assets.amemgym.audits.stage import AUDITS
from assets.amemgym.episode_parts import parts_of
from assets.amemgym.episodes import EPISODES
from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import QualityReport
from assets.engine.ports import RunContext
from assets.recipe.amemgym import AMemGymRecipe
from assets.reporting.gate_summary import Gates, votes_of
from validation.amemgym.report.balance import MovementCounter
from validation.amemgym.report.contents import FactCounter, Population, parity_lines
from validation.amemgym.report.diversity import Embeddings, QuestionSample, diversity, question_embeddings, shared_name
from validation.amemgym.report.gates import GateErrors, LeakCounter, decoys_sentence, unfit_judges
from validation.amemgym.report.recovery import RecoveryCounter
from validation.amemgym.shortcuts.baselines import ShortcutBaselines
from validation.amemgym.shortcuts.difficulty import DifficultyCounter
from validation.amemgym.texts import TextCounter
from validation.report.builder import SharedLines, commonest_messages
from validation.rules import RecordsOfItem

WITHOUT_EMBEDDINGS = Embeddings()


class QualityReportBuilder:
    """Count all that the report needs user by user, so that none of them stays in memory."""

    def __init__(self, recipe: AMemGymRecipe, *, users: int) -> None:
        self._recipe = recipe
        self._facts = FactCounter()
        self._population = Population()
        self._gates = Gates()
        self._errors = GateErrors()
        self._shortcuts = ShortcutBaselines(recipe)
        self._difficulty = DifficultyCounter(recipe)
        self._recovery = RecoveryCounter()
        self._leaks = LeakCounter()
        self._movement = MovementCounter()
        self._questions = QuestionSample(recipe, users=users)
        self._texts = TextCounter(recipe)

    def add(self, records: RecordsOfItem) -> None:
        episode = cast(Episode, records[EPISODES.name])
        audit = cast(UserAudit | None, records.get(AUDITS.name))
        votes = list(chain.from_iterable(map(votes_of, records.values())))
        self._facts.add(episode)
        self._population.add(episode)
        self._movement.add(episode)
        self._questions.add(episode)
        self._texts.add({**parts_of(episode), **records})
        self._difficulty.add(episode)
        self._gates.add(votes)
        self._leaks.add_votes(votes)
        self._shortcuts.add(episode, audit.judgements if audit else ())
        if audit:
            self._errors.add(audit)
            self._recovery.add(audit, episode)
            self._leaks.add_audit(audit)

    async def report(self, shared: SharedLines, *, run_context: RunContext, problems: list[str]) -> QualityReport:
        recipe = self._recipe
        embedder = None if run_context.open_embedder is None else run_context.open_embedder(recipe, recipe.variant)
        embeddings = await question_embeddings(self._questions.compared(), embedder, recipe=recipe)
        if embeddings.problem:
            problems.append(f"Questions are compared by words only: {embeddings.problem}")
        return self.finished_report(shared, embeddings=embeddings)

    def finished_report(self, shared: SharedLines, *, embeddings: Embeddings = WITHOUT_EMBEDDINGS) -> QualityReport:
        """Return the report on all users that were added. It asks no model."""
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
            leaks=self._leaks.line(),
            shortcuts=self._shortcuts.lines(),
            difficulty=self._difficulty.lines(),
            texts=tuple(self._texts.lines()),
            recovery=tuple(self._recovery.lines()),
            ceiling=self._recovery.ceiling(shared.failures),
            ceiling_sample=self._recovery.ceiling_sample(recipe, shared.failures),
            movement=self._movement.movement(),
            diversity=diversity(self._questions.compared(), embeddings, recipe=recipe),
        )
        unfit = unfit_judges(judge_errors, judges=report.judges)
        return without_verdict(report, unfit) if unfit else report


def without_verdict(report: QualityReport, reason: str) -> QualityReport:
    """Return the report without what judges found in texts: they were shown to be unable to."""
    guessed = {guess.replace("_", " ") for guess in GUESSES}
    shortcuts = tuple(line for line in report.shortcuts if line.shortcut not in guessed)
    nothing = {"gates": (), "recovery": (), "ceiling": None, "ceiling_sample": None, "leaks": None}
    return report.model_copy(update={**nothing, "shortcuts": shortcuts, "unfit_judges": reason})
