"""`amemgym memory` and `amemgym export`."""

from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console
from rich.table import Table

from assets.records.estimate import shown
from pipelines.cli.errors import Problem
from pipelines.cli.evaluate import evaluation_errors, run_to_end
from pipelines.cli.options import DatasetArgument
from pipelines.cli.terminal import print_plain
from pipelines.evaluation.amemgym.dataset import load_dataset
from pipelines.evaluation.contract import MemoryTools
from pipelines.evaluation.folder import runs_folder, write_table
from pipelines.evaluation.memories.check import ContractVerdict, check_memory
from pipelines.evaluation.memories.registry import find_memory
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.plan import CHECK_RECIPE
from pipelines.experiments.export import LOST, export_dataset
from pipelines.experiments.reward_rows import RewardRow, floors, reward_rows
from pipelines.home import home
from pipelines.resources.llm.embeddings import ModelEmbedder
from pipelines.resources.open import open_models
from pipelines.resources.storage.open_stores import open_release_store

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Memories: hold one of your own to the contract.")


@app.callback()
def memory() -> None:
    """Memories: hold one of your own to the contract."""


@app.command()
def check(
    memory: Annotated[str, typer.Argument(help="Name, FILE.py:CLASS, address of a service, or YAML file.")],
    model: Annotated[str, typer.Option(help="Model for the memory's own work.")] = "",
    embedding_model: Annotated[str, typer.Option(help="Model of its embeddings.")] = "",
    deadline: Annotated[int, typer.Option(min=1, help="Seconds that one call may take.")] = 20,
) -> None:
    """Hold a memory to the contract, in seconds: what copies see, what recalling changes, types, deadlines."""
    console = Console(stderr=True)
    options = EvaluationOptions(model=model, embedding_model=embedding_model)
    with evaluation_errors():
        verdicts = run_to_end(_checked(memory, options, deadline=deadline))
    for verdict in verdicts:
        print_plain(console, f"{verdict.word:6}  {verdict.what}. {verdict.sentence}".rstrip())
    if any(verdict.broken for verdict in verdicts):
        raise Problem(next(verdict.sentence for verdict in verdicts if verdict.broken))


@app.command()
def rows(
    runs: Annotated[list[str], typer.Argument(help="Finished runs: their names, or folders.")],
    out: Annotated[Path, typer.Option(help="Parquet file to write.")],
    seed: Annotated[int, typer.Option(help="Seed of the intervals.")] = 42,
) -> None:
    """Rows from which a reward model of memories learns, of runs on any benchmark, and what trivial baselines reach on them."""
    with evaluation_errors():
        found = reward_rows([Path(run) if Path(run).is_dir() else runs_folder(home()) / run for run in runs])
        out.parent.mkdir(parents=True, exist_ok=True)
        write_table(out, found, kind=RewardRow)
    labelled = sum(row.kept is not None for row in found)
    measured = floors(found, seed=seed)
    table = Table("split", "baseline", "rows", "items", "area under the curve", title="The floor for a model of memory quality")
    for floor in measured:
        table.add_row(floor.split, floor.baseline, str(floor.rows), str(floor.items), shown(floor.area))
    if measured:
        Console().print(table)
    else:
        print_plain(Console(stderr=True), "There are too few labels or memories to measure what trivial baselines reach.")
    print_plain(Console(stderr=True), f"{len(found):,} rows, {labelled:,} of them with a label, are in {out}.")


async def _checked(source: str, options: EvaluationOptions, *, deadline: float) -> list[ContractVerdict]:
    spec = find_memory(source)
    with open_models(home()) as models:
        names, ports = options.models(("memory", "embedding"), embedded=models.embedded), models.for_recipe(CHECK_RECIPE)
        tools = MemoryTools(ports.chat, ModelEmbedder(ports.embeddings), names["memory"], names["embedding"], options.seed)
        return await check_memory(spec, tools, deadline=deadline)


def export(
    dataset: DatasetArgument,
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    users: Annotated[Optional[int], typer.Option(min=1, help="Only the first so many users.")] = None,
) -> None:
    """Write documents and questions of a release for other harnesses: Parquet and JSONL, for what is told off-policy."""
    with evaluation_errors():
        loaded = load_dataset(dataset, release_store=open_release_store(home())).first(users)
        documents, questions = export_dataset(loaded, out)
    console = Console(stderr=True)
    print_plain(console, f"{documents:,} documents and {questions:,} questions of {loaded.name} are in {out}.")
    print_plain(console, LOST)
