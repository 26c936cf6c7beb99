"""`amemgym reward`: how well values tell what a memory's recalls are worth, and a language model that learns it."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from assets.reporting.plurals import counted, is_or_are
from pipelines.cli.options import command_group, file_errors, json_option
from pipelines.cli.scoring.evaluate import RUN
from pipelines.cli.terminal import TextConsole, print_json, print_markdown, print_plain, print_table, stdout_console
from pipelines.errors import Problem
from pipelines.evaluation.folder import find_run, runs_folder
from pipelines.evaluation.report.numbers import format_number
from pipelines.experiments.reward_model.fine_tuned import Tuning, load_scorer, measure_held_out, save_fine_tuned
from pipelines.experiments.reward_model.floors import cells_of, fact_recall, labelled_rows, report_rows
from pipelines.experiments.reward_model.rows import RewardRow, reward_rows, write_reward_rows
from pipelines.home import home

PANEL = "Score memories"
app = command_group("What a memory's recalls are worth, without asking a reasoner.")
Runs = Annotated[list[str], typer.Argument(help=f"{RUN} Or a Parquet file of rows, as `amemgym memory rows` writes.")]
SEED = 42
BASE_MODEL = "Language model to fine-tune: a folder, or a name on the Hugging Face Hub. Needs the extra reward-llm."


@app.command("floors")
def measure_floors(runs: Runs, as_json: Annotated[bool, json_option("rows", "kept", "splits", "orders")] = False) -> None:
    """Print how well fact recall, word overlap and compression tell recalls apart and order memories. No model is needed."""
    report = report_rows(labelled_rows(_read(runs)))
    if as_json:
        print_json(report)
    else:
        print_markdown(report.text)


@app.command("train")
def train_model(
    runs: Runs,
    out: Annotated[Path, typer.Option(help="Folder to write the model's additions to.")],
    base_model: Annotated[str, typer.Option(help=BASE_MODEL)],
    steps: Annotated[int, typer.Option(min=1, help="Steps of each fine-tuning.")] = 300,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the training.")] = SEED,
) -> None:
    """Fine-tune a language model on the rows of runs, once without each memory and benchmark too, and print its worth."""
    rows = labelled_rows(_read(runs))
    tuning = Tuning(base=base_model, steps=steps, seed=seed)
    with file_errors(f"{out} cannot be written"):
        out.mkdir(parents=True, exist_ok=True)  # before the work
        report = measure_held_out(rows, tuning=tuning)
        save_fine_tuned(rows, out, tuning=tuning, report=report)
    print_markdown(report.text)
    print_plain(TextConsole(stderr=True), f"Model: {out}")


@app.command("score")
def score_runs(
    model: Annotated[Path, typer.Argument(help="Folder of a fine-tuned model, as `amemgym reward train` writes it.")],
    runs: Runs,
    as_json: Annotated[bool, json_option("benchmark", "memory", "tokens", "predicted", "fact_recall", "true")] = False,
) -> None:
    """Predict from memories' recalls how often answers are right. Fact recall and the true share are printed beside it."""
    loaded, scorer = load_scorer(model)
    rows = _read(runs)
    scores = scorer(rows)
    head = ("benchmark", "memory", "tokens", "predicted", "fact_recall", "true")
    records: list[dict[str, object]] = []
    lines: list[list[str]] = []
    for (benchmark, memory, tokens), places in cells_of(rows).items():
        own = [rows[place] for place in places]
        predicted = _mean(scores[places].tolist())
        recalled = _mean([fact_recall(row) for row in own if row.row.fact_recall is not None])
        true = _mean([float(row.kept) for row in own if row.kept is not None])
        records.append(dict(zip(head, (benchmark, memory, tokens, predicted, recalled, true), strict=True)))
        lines.append([benchmark, memory, f"{tokens:,}", *map(format_number, (predicted, recalled, true))])
    if as_json:
        print_json(records)
        return
    print_table(stdout_console(), head, lines)
    meaning = "True is the share right with the memory, of questions that are right with everything."
    print_plain(TextConsole(stderr=True), f"{meaning} {loaded.report.verdict}")


def write_rows(
    runs: Annotated[list[str], typer.Argument(help=RUN)],
    out: Annotated[Path, typer.Option(help="Parquet file to write.")],
    as_json: Annotated[bool, json_option("file", "rows", "labelled")] = False,
) -> None:
    """Write the rows from which a reward model of memories is trained; `amemgym reward` reads them."""
    if out.suffix != ".parquet":
        raise Problem(f"{out} does not end in .parquet; rows are written only as Parquet.")
    found = reward_rows(list(map(partial(find_run, runs=runs_folder(home())), runs)))
    with file_errors(f"{out} cannot be written"):
        write_reward_rows(out, found)
    labelled = sum(row.kept is not None for row in found)
    if as_json:
        print_json({"file": str(out), "rows": len(found), "labelled": labelled})
        return
    sentence = f"{counted(len(found), 'row')}, {labelled:,} of them with a label, {is_or_are(len(found))} in {out}."
    print_plain(TextConsole(stderr=True), sentence)


def _mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 6) if values else None


def _read(runs: Sequence[str]) -> list[RewardRow]:
    folder = runs_folder(home())
    return reward_rows([Path(name) if Path(name).is_file() else find_run(name, runs=folder) for name in runs])
