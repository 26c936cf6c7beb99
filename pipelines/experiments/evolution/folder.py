"""An evolution's folder: its manifest first, checkpoints while it lasts, tables, pages and results at the end."""

from pathlib import Path

from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import MANIFEST, PAGE, REPORT, RESULTS, RunFolder, read_table, write_table
from pipelines.experiments.evolution.records import CycleAnswer, CycleTurn, EvolutionManifest, Fact, PolicyStep
from pipelines.experiments.evolution.results import EvolutionResults, FinishedEvolution
from pipelines.experiments.evolution.scores import Score
from pipelines.home import Home

POLICIES, FACTS, ANSWERS, TURNS, SCORES = (f"{name}.parquet" for name in ("policies", "facts", "answers", "turns", "scores"))


def evolutions_folder(place: Home) -> Path:
    """Where evolutions are kept."""
    return place.root / "evolutions"


def begin(folder: RunFolder, manifest: EvolutionManifest) -> None:
    """Write the manifest; one that is there is the same, because its digest names the folder."""
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.write(MANIFEST, manifest.model_dump_json(indent=2) + "\n")


def finish(folder: RunFolder, done: FinishedEvolution, *, report: str, page: str) -> None:
    """Write tables, pages and, last, the results."""
    write_table(folder.path / POLICIES, done.steps, kind=PolicyStep)
    write_table(folder.path / FACTS, done.facts, kind=Fact)
    write_table(folder.path / ANSWERS, done.answers, kind=CycleAnswer)
    write_table(folder.path / TURNS, done.turns, kind=CycleTurn)
    write_table(folder.path / SCORES, done.results.scores, kind=Score)
    folder.write(REPORT, report)
    folder.write(PAGE, page)
    folder.write(RESULTS, done.results.model_dump_json(indent=2) + "\n")
    folder.drop_steps()


def read_evolution(path: Path) -> FinishedEvolution:
    """A finished evolution by its folder. Raises EvaluationError."""
    try:
        return FinishedEvolution(
            manifest=EvolutionManifest.model_validate_json((path / MANIFEST).read_bytes()),
            results=EvolutionResults.model_validate_json((path / RESULTS).read_bytes()),
            steps=read_table(path / POLICIES, kind=PolicyStep),
            facts=read_table(path / FACTS, kind=Fact),
            answers=read_table(path / ANSWERS, kind=CycleAnswer),
            turns=read_table(path / TURNS, kind=CycleTurn),
        )
    except (OSError, KeyError, ValueError) as error:
        raise EvaluationError(f"The evolution {path} cannot be read ({type(error).__name__}); was it changed?") from error
