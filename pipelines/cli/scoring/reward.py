"""`amemgym reward`: train a model that predicts a memory's score from its recalls, and use it instead of a rollout."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Optional

import typer

from assets.llm.async_calls import run_to_end
from assets.records.estimate import with_interval
from assets.reporting.plurals import counted
from pipelines.cli.options import command_group, file_errors, json_option, option, options_of
from pipelines.cli.scoring.evaluate import RUN, MemoryOption, each_once, evaluation_errors
from pipelines.cli.scoring.replay import ReplayOptions, replay_with
from pipelines.cli.terminal import (
    TextConsole,
    print_json,
    print_markdown,
    print_plain,
    print_table,
    prints_of_others_apart,
    stdout_console,
)
from pipelines.errors import EvaluationError, Problem
from pipelines.evaluation.command import EvaluationRequest
from pipelines.evaluation.folder import find_run, runs_folder
from pipelines.evaluation.options import EvaluationOptions
from pipelines.home import home
from pipelines.recorded_sessions.replay import ReplaySettings
from pipelines.recorded_sessions.sessions import read_sessions
from pipelines.redaction import public_address
from pipelines.reward.fine_tuned import NAME, Tuning, learn, load_any, load_scorer, save_fine_tuned
from pipelines.reward.models import Learner, labelled
from pipelines.reward.recalls import recalls_of_documents, recalls_of_sessions
from pipelines.reward.report import report_page, report_text
from pipelines.reward.rows import RewardRow, reward_rows
from pipelines.reward.scoring import RunScore, score_memories, score_rows, score_run
from pipelines.reward.training import train

app = command_group("A model that predicts what a memory is worth, learned from runs.")
RUNS = f"{RUN} Or a Parquet file of rows, as `amemgym memory rows` and the asset reward_rows write."
Runs = Annotated[list[str], typer.Argument(help=RUNS)]
ModelArgument = Annotated[
    Path, typer.Argument(help="A model's file, or the folder of a fine-tuned one, as `amemgym reward train` writes them.")
]
BASE_MODEL = (
    "Language model to fine-tune besides, once for each held-out group: a folder, or a name on the Hugging Face Hub. "
    "Needs the extra reward-llm. The adapter is written beside OUT, with the ending .adapter."
)
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the trees and the intervals.")]


@app.command("train")
def train_model(
    runs: Runs,
    out: Annotated[Path, typer.Option(help="File to write the model to.")],
    base_model: Annotated[Optional[str], typer.Option(help=BASE_MODEL)] = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps of each fine-tuning.")] = 300,
    seed: Seed = 42,
) -> None:
    """Train a model on the rows of runs, and print its accuracy on memories and benchmarks that it was not trained on."""
    rows = _rows(runs)
    more: dict[str, Learner] = {}
    tuning = Tuning(base=base_model, steps=steps) if base_model else None
    if tuning:
        more[NAME] = partial(learn, tuning=tuning, seed=seed)
    trained = train(rows, seed=seed, more=more)
    report = trained.model.report
    with file_errors(f"{out} cannot be written"):
        trained.model.save(out)
        if tuning:
            folder = out.with_suffix(".adapter")
            held_out = trained.held_out[NAME]
            save_fine_tuned(labelled(rows), folder, tuning=tuning, held_out=held_out, report=report, seed=seed)
    print_markdown(report_text(trained.model))
    print_plain(TextConsole(stderr=True), f"Model: {out}. Its report as a page: amemgym reward report {out} --out report.html")


@app.command("report")
def show_report(
    model: ModelArgument,
    out: Annotated[Optional[Path], typer.Option(help="File to write the report to: a page (.html) or Markdown (.md).")] = None,
) -> None:
    """Print how far a model can be trusted, as measured in its training, or write that as a page or Markdown."""
    loaded = load_any(model)
    if out is None:
        print_markdown(report_text(loaded))
        return
    writers = {".html": report_page, ".md": report_text}
    if out.suffix not in writers:
        raise Problem(f"{out} ends in neither .html nor .md; the ending decides the format.")
    with file_errors(f"{out} cannot be written"):
        out.write_text(writers[out.suffix](loaded), encoding="utf-8")
    print_plain(TextConsole(stderr=True), f"{loaded.report.verdict} Report: {out}")


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Options for scoring a memory without a run."""

    tokens: Optional[int] = option(
        "Most tokens that a memory may return; by default 1,000 in sessions, 6,000 with documents.", None, least=1
    )
    window: int = option("Tokens of a session that stay in the agent's window.", ReplaySettings.window, least=1)
    memory_model: str = option("Model for the memory's own work.")
    embedding_model: str = option("Model for its embeddings.")


@app.command("score")
@options_of(ScoreOptions, keyword="options")
def score_runs(
    model: ModelArgument,
    sources: Annotated[list[str], typer.Argument(help=f"{RUNS} With --memory: recorded sessions, or a release of documents.")],
    memory: MemoryOption = None,
    as_json: Annotated[bool, json_option("run", "predicted", "true", "recalls", "strange")] = False,
    *,
    options: ScoreOptions,
) -> None:
    """Predict from memories' recalls how often answers are right. The true share is printed beside it if it is known."""
    loaded, scorer = load_scorer(model)
    records: list[RunScore] = []
    for source in sources:
        if memory:
            for name in each_once(memory):
                rows = _recalled(source, name, options)
                records.append(score_rows(rows, loaded, scorer, name=f"{public_address(name)} on {source}"))
        elif Path(source).is_file():
            records += score_memories(Path(source), loaded, scorer)
        else:
            records.append(score_run(find_run(source, runs=runs_folder(home())), loaded, scorer, name=source))
    if as_json:
        print_json(records)
        return
    head = ("run", "predicted", "true", "recalls", "unlike the training rows")
    lines: list[list[str]] = []
    for one in records:
        lines.append([one.run, with_interval(one.predicted), one.true_text, f"{one.recalls:,}", f"{one.strange:,}"])
    print_table(stdout_console(), head, lines)
    recalls = sum(one.recalls for one in records)
    seconds = sum(one.seconds for one in records)
    console = TextConsole(stderr=True)
    print_plain(
        console,
        f"{counted(recalls, 'recall')} in {seconds:.1f} s. True is the share right with the memory, of questions that are "
        "right with everything.",
    )
    if 2 * sum(one.strange for one in records) > recalls:
        print_plain(console, "Most recalls are unlike the training rows, so the predictions are unreliable here.")
    print_plain(console, loaded.report.verdict)


def _recalled(source: str, memory: str, options: ScoreOptions) -> list[RewardRow]:
    """Run a memory over recorded sessions or a release of documents, and return its recalls. Raises EvaluationError."""
    with evaluation_errors(), prints_of_others_apart():
        if Path(source).is_file():
            sessions = read_sessions(Path(source))
            tokens = ReplaySettings.tokens if options.tokens is None else options.tokens
            replayed = ReplayOptions(
                window=options.window, tokens=tokens, model=options.memory_model, embedding_model=options.embedding_model
            )
            [result] = run_to_end(replay_with([memory], sessions, replayed))
            for sentence in result.failed.values():
                raise EvaluationError(sentence)
            return recalls_of_sessions(result, sessions, source=Path(source))
        chosen = EvaluationOptions(
            model=options.memory_model, embedding_model=options.embedding_model, tokens=options.tokens, conditions=()
        )
        return run_to_end(recalls_of_documents(EvaluationRequest(source, memory, chosen), home=home()))


def _rows(runs: list[str]) -> list[RewardRow]:
    folder = runs_folder(home())
    return reward_rows([Path(name) if Path(name).is_file() else find_run(name, runs=folder) for name in runs])
