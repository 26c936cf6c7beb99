"""Write and read a finished evolution: scores, gains, outcomes of the policies, usage."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assets.amemgym.records.episode import Episode
from assets.records.base import Record
from pipelines.evaluation.folder import (
    MANIFEST,
    REPORT,
    RESULTS,
    RunFolder,
    read_record_of_run,
    read_table_of_run,
    write_table,
)
from pipelines.evaluation.records import AnswerRow
from pipelines.evaluation.spending import PricedUsage
from pipelines.experiments.evolution.loop import EvolutionRun
from pipelines.experiments.evolution.records import CycleAnswer, CycleTurn, EvolutionManifest, PolicyStep, RecalledFact
from pipelines.experiments.evolution.scores import EvolutionRows, Gain, Leak, Score, gains, leaks, score_rows
from pipelines.home import Home

POLICIES = "policies.parquet"
FACTS = "facts.parquet"
ANSWERS = "answers.parquet"
TURNS = "turns.parquet"
SCORES = "scores.parquet"
BEFORE_THE_FIRST = -1  # the cycle of the baselines' answers, which belong to no arm


class EvolutionResults(Record):
    """`results.json`. `outcomes`: by arm, how often a policy was improved, unchanged, or kept for want of a usable reply."""

    evolution_id: str
    scores: tuple[Score, ...]
    gains: tuple[Gain, ...]
    leaks: tuple[Leak, ...]
    outcomes: dict[str, dict[str, int]]
    unscored_facts: int
    spending: dict[str, PricedUsage]
    lost_writes: int


@dataclass(frozen=True)
class FinishedEvolution:
    """All of an evolution, as its folder holds it."""

    manifest: EvolutionManifest
    results: EvolutionResults
    steps: Sequence[PolicyStep]
    facts: Sequence[RecalledFact]
    answers: Sequence[CycleAnswer]
    turns: Sequence[CycleTurn]


def score_evolution(manifest: EvolutionManifest, run: EvolutionRun, *, episodes: Sequence[Episode]) -> FinishedEvolution:
    """Score the evolution; a function of its answers and the manifest's seed."""
    rows = _rows(manifest, run, episodes)
    steps: list[PolicyStep] = []
    facts: list[RecalledFact] = []
    answers = [CycleAnswer(**answer.model_dump(), arm="", cycle=BEFORE_THE_FIRST) for answer in run.baselines]
    turns: list[CycleTurn] = []
    outcomes: dict[str, dict[str, int]] = {}
    for arm in run.arms:
        name = arm.arm.name
        steps.extend(arm.steps)
        outcomes[name] = dict(sorted(Counter(step.outcome for step in arm.steps).items()))
        for cycles in arm.cycles.values():
            for number, cycle in enumerate(cycles):
                facts.extend(cycle.facts)
                for answer in cycle.answers:
                    answers.append(CycleAnswer(**answer.model_dump(), arm=name, cycle=number))
                for turn in cycle.turns:
                    turns.append(CycleTurn(**turn.model_dump(), arm=name, cycle=number))
    results = EvolutionResults(
        evolution_id=manifest.run.run_id,
        scores=tuple(score_rows(rows)),
        gains=tuple(gains(rows)),
        leaks=tuple(leaks(rows)),
        outcomes=outcomes,
        unscored_facts=sum(fact.supported == "unscored" for fact in facts),
        spending=run.usage.spending,
        lost_writes=run.usage.work.lost_writes,
    )
    return FinishedEvolution(manifest, results, steps, facts, answers, turns)


def _rows(manifest: EvolutionManifest, run: EvolutionRun, episodes: Sequence[Episode]) -> EvolutionRows:
    answers: dict[tuple[str, int], list[AnswerRow]] = defaultdict(list)
    facts: dict[tuple[str, int], list[RecalledFact]] = defaultdict(list)
    for arm in run.arms:
        for cycles in arm.cycles.values():
            for number in range(manifest.cycles):
                answers[arm.arm.name, number].extend(cycles[number].answers)
                facts[arm.arm.name, number].extend(cycles[number].facts)
    return EvolutionRows(manifest, episodes, answers, facts, run.baselines)


def evolutions_folder(home: Home) -> Path:
    return home.root / "evolutions"


def finish(folder: RunFolder, done: FinishedEvolution, *, report: str) -> None:
    """Write tables, report and, last, the results."""
    write_table(folder.path / POLICIES, done.steps, kind=PolicyStep)
    write_table(folder.path / FACTS, done.facts, kind=RecalledFact)
    write_table(folder.path / ANSWERS, done.answers, kind=CycleAnswer)
    write_table(folder.path / TURNS, done.turns, kind=CycleTurn)
    write_table(folder.path / SCORES, done.results.scores, kind=Score)
    folder.write(REPORT, report)
    folder.write(RESULTS, done.results.model_dump_json(indent=2) + "\n")
    folder.drop_steps()


def read_evolution(path: Path) -> FinishedEvolution:
    """Read a finished evolution from its folder. Raises EvaluationError."""
    return FinishedEvolution(
        manifest=read_record_of_run(path, MANIFEST, EvolutionManifest),
        results=read_record_of_run(path, RESULTS, EvolutionResults),
        steps=read_table_of_run(path, POLICIES, PolicyStep),
        facts=read_table_of_run(path, FACTS, RecalledFact),
        answers=read_table_of_run(path, ANSWERS, CycleAnswer),
        turns=read_table_of_run(path, TURNS, CycleTurn),
    )
