"""`amemgym memory replay`: replay recorded sessions of agents with memories."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Optional

import typer

from assets.llm.async_calls import run_to_end
from assets.records.estimate import with_interval
from assets.reporting.plurals import counted
from assets.reporting.text_table import print_table
from pipelines.cli.options import json_option, option, options_of
from pipelines.cli.scoring.evaluate import MemoryOption, each_once, evaluation_errors
from pipelines.cli.terminal import TextConsole, print_json, print_plain, prints_of_others_apart, stdout_console
from pipelines.errors import Problem
from pipelines.evaluation.folder import write_table
from pipelines.evaluation.options import EvaluationOptions, budget_of
from pipelines.evaluation.plan import RunAccount
from pipelines.home import home
from pipelines.memories.hosting.confinement import Confinement, host_memory
from pipelines.memories.registry import find_memory
from pipelines.memories.tools import MemoryTools
from pipelines.opening.models import open_models
from pipelines.recorded_sessions.replay import RecallRow, Replay, ReplayFigures, ReplaySettings, replay, replay_figures
from pipelines.recorded_sessions.sessions import RecordedSession, read_sessions, sessions_sentence
from pipelines.resources.llm.embeddings import ModelEmbedder

HEAD = (
    "memory",
    "decisions",
    "asked",
    "gave something",
    "cut",
    "tokens returned per token out of window",
    "values used, out of sight alone",
    "given back",
)


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """Options of a replay, in addition to its file and memories."""

    window: int = option("Tokens of a session that stay in the agent's window.", 4_000, least=1)
    tokens: int = option("Most tokens that a memory may return for one decision.", 1_000, least=1)
    chained: bool = option("Use one memory for all sessions, one after another.", False)
    sessions: Optional[int] = option("Number of sessions; by default all.", None, least=1)
    model: str = option("Model for the memory's own work.")
    embedding_model: str = option("Model for its embeddings.")
    deadline: int = option("Timeout in seconds of one call to a memory that is not built in.", 300, least=1)
    seed: int = option("Seed of the intervals, and of all calls.", 42, most=2**63 - 1)
    max_cost: Optional[float] = option("US dollars that the replay may spend, over all its starts.", None, least=None)
    max_tokens: Optional[int] = option("Tokens that the replay may spend, over all its starts.", None, least=None)


@options_of(ReplayOptions, keyword="options")
def replay_sessions(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Recorded sessions of agents, or a folder of such files.")],
    memory: MemoryOption = None,
    out: Annotated[Optional[Path], typer.Option(help="Parquet file for what was recalled at each decision.")] = None,
    as_json: Annotated[bool, json_option("sessions", "memories")] = False,
    *,
    options: ReplayOptions,
) -> None:
    """Replay recorded sessions with memories: how often one is needed, returns something, and returns what was used."""
    memories = each_once(memory)
    if not memories:
        raise Problem("Name what to replay with --memory, as in: amemgym memory replay FILE --memory bm25 --memory summary")
    sessions = read_sessions(path)[: options.sessions]
    console = TextConsole(stderr=True)
    print_plain(console, sessions_sentence(sessions))
    with evaluation_errors(), prints_of_others_apart():
        results = run_to_end(replay_with(memories, sessions, options))
    figures = [replay_figures(result, sessions) for result in results]
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_table(out, [row for result in results for row in result.rows], kind=RecallRow)
        print_plain(console, f"What was recalled at each decision is in {out}.")
    if as_json:
        print_json({"sessions": len(sessions), "memories": figures})
    else:
        print_table(stdout_console(), HEAD, list(map(_cells, figures)))
    failed = 0
    for result in results:
        failed += len(result.failed)
        for name, sentence in result.failed.items():
            print_plain(console, f"{name}: {sentence}")
    if failed:
        raise Problem(f"Finished with errors: {counted(failed, 'session')} could not be replayed completely.")


async def replay_with(memories: Sequence[str], sessions: Sequence[RecordedSession], options: ReplayOptions) -> list[Replay]:
    """Replay the sessions with each of these memories. Raises EvaluationError."""
    specs = list(map(find_memory, memories))
    settings = ReplaySettings(options.window, options.tokens, options.chained)
    budget = budget_of(max_cost_usd=options.max_cost, max_tokens=options.max_tokens)
    chosen = EvaluationOptions(model=options.model, embedding_model=options.embedding_model, seed=options.seed)
    confinement = Confinement(hidden=(home().root,))
    with open_models(home()) as models:
        names = chosen.models(("memory", "embedding"), embedded=models.embedded)
        ports = models.for_account(RunAccount(variant="memory-replay", budget=budget))
        tools = MemoryTools(ports.chat, ModelEmbedder(ports.embeddings), names["memory"], names["embedding"], options.seed)
        found: list[Replay] = []
        for spec in specs:
            host = partial(host_memory, spec, tools, confinement=confinement, deadline=options.deadline)
            found.append(await replay(sessions, host, settings))
        return found


def _cells(figures: ReplayFigures) -> tuple[str, ...]:
    return (
        figures.memory,
        f"{figures.decisions:,}",
        f"{figures.asked:,}",
        with_interval(figures.gave),
        with_interval(figures.cut),
        with_interval(figures.compaction),
        f"{figures.values:,}",
        with_interval(figures.recalled_values),
    )
