"""Each benchmark's asset `evaluation`: memories evaluated on a release, only when somebody asks for it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Optional

import dagster as dg
from pydantic import Field

from assets.engine.benchmark import Benchmark
from assets.engine.cancellation import stop_with_run
from assets.engine.ports import StageProgress
from assets.engine.progress import heartbeat, progress_details, progress_line
from assets.engine.stage_asset import disk_error_message
from assets.llm.ports import EndpointError
from assets.recipe.loading import RecipeError
from assets.recipe.partitions import MODEL_POOL
from assets.reporting.definition_metadata import OWNERS, column_schema, definition
from assets.reporting.materialization import page_link
from dataset_card.release.checks import last_materialized
from dataset_card.release.digests import canonical_digest
from pipelines.home import home
from prompts.catalogue import prompt_names

if TYPE_CHECKING:
    from pipelines.evaluation.command import EvaluationRequest
    from pipelines.evaluation.folder import FinishedRun

NEWEST = "newest"
PROMPTS = tuple(name for name in prompt_names() if name.startswith(("evaluation/", "memories/", "paper/", "memory_items/ask")))
UNSCORED = "unscored_"
MOST_UNSCORED = 0.02


class EvaluationConfig(dg.Config):
    """Which memories are evaluated, and how.

    `memories`: names as in `pipelines/evaluation/memories/memories.yaml`, FILE.py:CLASS, addresses of services, or YAML files.
    `model` plays every role that no other field names; models that are empty are the paper's, or the embedded one without
    endpoint. `tokens`: what a memory may give back for one question, empty for the benchmark's own. `users`: only the first so
    many. `version`: that of a release on disk, or newest. `again`: once more, though there is a finished run. The limits are
    those of each memory's run, over all its tries.
    """

    memories: list[str] = Field(default=["full-history"])
    model: str = ""
    memory_model: str = ""
    embedding_model: str = ""
    user_model: str = ""
    tokens: Optional[int] = None
    users: Optional[int] = None
    version: str = NEWEST
    seed: int = 42
    again: bool = False
    max_cost_usd: Optional[float] = None
    max_tokens: Optional[int] = None


def evaluation_asset(benchmark: Benchmark) -> dg.AssetsDefinition:
    """The asset over the benchmark's own releases: Dagster asks whether one is sure where any asset above was never made.

    It lacks the tag by which a benchmark's assets are selected together, because it costs money and is asked for by itself.
    """

    @dg.asset(
        name=benchmark.key("evaluation"),
        partitions_def=benchmark.partitions.by_variant,
        group_name=benchmark.group("evaluation"),
        deps=[benchmark.key("release")],
        pool=MODEL_POOL,
        owners=OWNERS,
        kinds={"python", "llm"},
        tags={"asks_a_model": "yes", "paper": "3.3"},
        metadata=definition(None, prompts=PROMPTS),
        description="Memories evaluated on a release, on-policy where there are dialogues (paper, 3.2 and 3.3): a leaderboard "
        "with intervals, and a page of each run. A finished run is only shown.",
    )
    async def evaluation(context: dg.AssetExecutionContext, config: EvaluationConfig) -> dg.MaterializeResult[Any]:
        """Evaluate the partition's variant. Raises dg.Failure with one sentence; finished steps stay on the disk."""
        from pipelines.evaluation.errors import EvaluationError

        try:
            async with stop_with_run():
                runs = [await _evaluate(request, context.log.info) for request in _requests(config, context)]
            return _result(runs)
        except (EvaluationError, EndpointError, RecipeError) as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        except OSError as error:
            raise dg.Failure(description=disk_error_message(error), allow_retries=False) from error

    return evaluation


def _requests(config: EvaluationConfig, context: dg.AssetExecutionContext) -> "list[EvaluationRequest]":
    """Raises EvaluationError or RecipeError for what the launchpad cannot refuse."""
    from pipelines.evaluation.command import EvaluationRequest, budget_of
    from pipelines.evaluation.errors import EvaluationError
    from pipelines.evaluation.options import EvaluationOptions
    from pipelines.resources.ledger.budget import with_tags

    if not config.memories:
        raise EvaluationError("No memory is given; name one or several in `memories`, such as full-history.")
    if config.seed < 0:
        raise EvaluationError(f"`seed` is 0 or more, not {config.seed}.")
    options = EvaluationOptions(
        model=config.model,
        memory_model=config.memory_model,
        embedding_model=config.embedding_model,
        user_model=config.user_model,
        tokens=config.tokens,
        seed=config.seed,
    )
    variant = context.partition_key
    source = variant if config.version == NEWEST else f"{variant}@{config.version}"
    budget = with_tags(budget_of(max_cost_usd=config.max_cost_usd, max_tokens=config.max_tokens), context.run.tags)
    return [
        EvaluationRequest(source, name, options, users=config.users, budget=budget, again=config.again)
        for name in config.memories
    ]


async def _evaluate(request: "EvaluationRequest", write: Callable[[str], object]) -> "FinishedRun":
    from pipelines.evaluation.command import EvaluationProgress, run_evaluation
    from pipelines.evaluation.forecast import EvaluationForecast
    from pipelines.evaluation.run import Run

    line = f"{request.memory} on {request.dataset}: beginning"

    def begun(run: Run, size: EvaluationForecast) -> None:
        models = ", ".join(f"{role} {name}" for role, name in run.manifest.models.items())
        told = f"{run.manifest.run_id}: asks {run.manifest.asks}; {models}."
        write(f"{told} {size.sentence} {size.warning(request.budget)}".strip())

    def show(progress: StageProgress) -> None:
        nonlocal line
        line = ", ".join([progress_line(progress), *progress_details(progress)])

    with heartbeat(write, lambda: line):
        return await run_evaluation(request, home=home(), progress=EvaluationProgress(begun=begun, show=show))


def _result(runs: "Sequence[FinishedRun]") -> dg.MaterializeResult[Any]:
    from pipelines.evaluation.folder import PAGE, runs_folder
    from pipelines.evaluation.records import AnswerRow
    from pipelines.experiments.compare import compare
    from pipelines.experiments.leaderboard import LEADERBOARDS_FOLDER, write_leaderboard
    from pipelines.experiments.ranking import board_notes, board_sections, period_table, run_labels, standings

    folder, labels = runs_folder(home()), run_labels(runs)
    by_name = {labels[run.manifest.run_id]: run for run in runs}
    scores = {
        f"{metric}_{name}": run.results.metrics[metric].value
        for metric in ("overall", "memory")
        for name, run in by_name.items()
        if metric in run.results.metrics
    }
    sections = {
        title.lower().replace(" ", "_"): dg.MetadataValue.md(content) for title, content in board_sections(runs).items()
    }
    if runs[0].results.periods:
        sections["overall_by_period"] = dg.MetadataValue.md(period_table(runs, "overall"))
    return dg.MaterializeResult(
        data_version=dg.DataVersion(canonical_digest([run.manifest.run_id for run in runs])[:16]),
        metadata={
            "leaderboard": dg.MetadataValue.md(standings(runs)),
            "how_to_read_it": dg.MetadataValue.md("\n\n".join(board_notes(runs))),
            **sections,
            "board": page_link(LEADERBOARDS_FOLDER, write_leaderboard(compare(runs), runs=folder).name),
            **{f"page_{name}": page_link(folder.name, run.manifest.run_id, PAGE) for name, run in by_name.items()},
            # Numbers get a plot over the materializations.
            **{name: dg.MetadataValue.float(score) for name, score in scores.items() if score is not None},
            **{f"calls_{name}": sum(usage.calls for usage in run.results.spending.values()) for name, run in by_name.items()},
            **{f"{UNSCORED}{name}": _unscored(run) for name, run in by_name.items()},
            "dagster/column_schema": column_schema(AnswerRow),
            "dagster/row_count": sum(len(run.answers) for run in runs),
        },
    )


def _unscored(run: "FinishedRun") -> float:
    return round(run.results.metrics["unscored"].value or 0.0, 4)


def evaluation_check(benchmark: Benchmark) -> dg.AssetChecksDefinition:
    """The check of the benchmark's evaluation."""
    asset = benchmark.key("evaluation")

    @dg.asset_check(
        asset=asset,
        name="answers_scored",
        partitions_def=benchmark.partitions.by_variant,
        description="Nearly all answers could be read; where many could not, scores are doubtful.",
    )
    def answers_scored(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        """By the memory with most answers that could not be read."""
        known = last_materialized(context, asset)
        shares = {name.removeprefix(UNSCORED): float(share) for name, share in known.items() if name.startswith(UNSCORED)}
        worst = max(shares, key=lambda name: shares[name])
        return dg.AssetCheckResult(
            passed=shares[worst] <= MOST_UNSCORED,
            severity=dg.AssetCheckSeverity.WARN,
            description=f"Most are unscored of {worst}: {shares[worst]:.1%} of its answers, where {MOST_UNSCORED:.0%} may be.",
            metadata={name: dg.MetadataValue.float(share) for name, share in shares.items()},
        )

    return answers_scored
