"""Each benchmark's asset `evaluation`: memories evaluated on a release, only when somebody asks for it."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Optional

import dagster as dg
from pydantic import Field

from assets.engine.benchmark import Benchmark
from assets.engine.cancellation import stop_with_run
from assets.engine.materialization import UNASKED, explain_failures, page_link, say_unasked
from assets.engine.ports import StageProgress
from assets.engine.progress import heartbeat, progress_details, progress_line
from assets.llm.ports import EndpointError
from assets.recipe.partitions import MODEL_POOL
from assets.recipe.recipe import RecipeError
from assets.reporting.definition_metadata import OWNERS, column_schema, definition
from dataset_card.hub.asset import last_materialized
from dataset_card.release.digests import canonical_digest
from pipelines.home import home
from pipelines.redaction import public_address
from prompts.catalogue import prompt_names

if TYPE_CHECKING:
    from pipelines.evaluation.command import EvaluationRequest
    from pipelines.evaluation.folder import FinishedRun

NEWEST = "newest"
UNSCORED = "unscored_"
MOST_UNSCORED = 0.02  # of the answers; where more cannot be read, scores are doubtful
NOT_ASKED = (
    "Nothing is evaluated: a run of `evaluation` asks only the memories that its config names in `memories`, below a limit "
    "that it sets in `max_cost_usd` or `max_tokens`."
)
EVALUATED: Any = dg.Nothing  # no value is kept; `asset` takes this type, though its annotation does not name it


class EvaluationConfig(dg.Config):
    """The memories to evaluate, and the options of their runs. Without memories, or without a limit, nothing is evaluated.

    `memories`: names as in `pipelines/memories/memories.yaml`, addresses of services, and of FILE.py:CLASS, YAML files and
    addresses with headers or secrets those that AMEMGYM_MEMORIES lists. `options`: those of `amemgym evaluate`, as a file for
    its `--config` has them, such as `model`, `tokens` and `users`. `version`: that of a release on disk, or newest. The limits
    are those of each memory's run, over all its tries.
    """

    memories: list[str] = Field(default=[])
    options: dict[str, Any] = Field(default={})
    version: str = NEWEST
    max_cost_usd: Optional[float] = None
    max_tokens: Optional[int] = None


def evaluation_asset(benchmark: Benchmark, *, asks: tuple[str, ...] = ()) -> dg.AssetsDefinition:
    """The asset over the benchmark's own releases: Dagster asks whether one is sure where any asset above was never made.

    It lacks the tag by which a benchmark's assets are selected together, because it costs money and is asked for by itself.
    """

    prompts = [name for name in prompt_names() if name.startswith(asks)]

    @dg.asset(
        name=benchmark.key("evaluation"),
        key_prefix=benchmark.name,
        partitions_def=benchmark.partitions.by_variant,
        group_name=benchmark.group("release"),
        deps=[benchmark.asset_key("release")],
        output_required=False,
        pool=MODEL_POOL,
        owners=OWNERS,
        kinds={"llm"},
        tags={"asks_a_model": "yes", "paper": "3.3"},
        metadata=definition(None, prompts=prompts),
        description="Memories evaluated on a release, on-policy where there are dialogues (paper, 3.2 and 3.3): a leaderboard "
        "with intervals, and a page of each run. A finished run is shown again, not run.",
        dagster_type=EVALUATED,
    )
    async def evaluation(
        context: dg.AssetExecutionContext, config: EvaluationConfig
    ) -> AsyncIterator[dg.MaterializeResult[Any]]:
        """Evaluate the partition's variant if the config asks. Raises dg.Failure with one sentence; finished steps stay."""
        from pipelines.errors import EvaluationError

        # Whoever materializes everything has not asked for an evaluation, which costs money.
        if not config.memories or (config.max_cost_usd is None and config.max_tokens is None):
            for result in say_unasked(context, NOT_ASKED):
                yield result
            return
        with explain_failures(EvaluationError, EndpointError, RecipeError):
            async with stop_with_run():
                runs = [await _evaluate(request, context.log.info) for request in _requests(config, context)]
            result = _result(runs)
        yield result

    return evaluation


def _requests(config: EvaluationConfig, context: dg.AssetExecutionContext) -> "list[EvaluationRequest]":
    """Raises EvaluationError or RecipeError for what the launchpad cannot refuse."""
    from pipelines.evaluation.command import EvaluationRequest
    from pipelines.evaluation.options import budget_of, read_options
    from pipelines.memories.listed import check_listed
    from pipelines.memories.settings import swept_memories
    from pipelines.resources.ledger.budget import budget_with_tags

    memories = list[str]()
    for source in config.memories:
        memories += swept_memories(source)
    for memory in memories:
        check_listed(memory)
    options = read_options(config.options, source="The config")
    variant = context.partition_key
    source = variant if config.version == NEWEST else f"{variant}@{config.version}"
    budget = budget_with_tags(budget_of(max_cost_usd=config.max_cost_usd, max_tokens=config.max_tokens), context.run.tags)
    return [EvaluationRequest(source, name, options, budget=budget) for name in memories]


async def _evaluate(request: "EvaluationRequest", write: Callable[[str], object]) -> "FinishedRun":
    from pipelines.evaluation.command import EvaluationProgress, run_evaluation
    from pipelines.evaluation.forecast import EvaluationForecast
    from pipelines.evaluation.run import Run

    line = f"{public_address(request.memory)} on {request.dataset}: beginning"

    def announce(run: Run, size: EvaluationForecast) -> None:
        models = ", ".join(f"{role} {run.manifest.model_of(role)}" for role in run.manifest.models)
        sentence = f"{run.manifest.run_id}: asks {run.manifest.asks}; {models}."
        write(f"{sentence} {size.sentence} {size.warning(request.budget)}".strip())

    def show(progress: StageProgress) -> None:
        nonlocal line
        line = ", ".join([progress_line(progress), *progress_details(progress)])

    with heartbeat(write, lambda: line):
        return await run_evaluation(request, home=home(), progress=EvaluationProgress(begun=announce, show=show))


def _result(runs: "Sequence[FinishedRun]") -> dg.MaterializeResult[Any]:
    from pipelines.evaluation.folder import PAGE, runs_folder
    from pipelines.evaluation.records import AnswerRow
    from pipelines.evaluation.report.markdown import section_text
    from pipelines.experiments.scoring.board_tables import board_sections, period_table
    from pipelines.experiments.scoring.compare import compare_runs
    from pipelines.experiments.scoring.leaderboard import LEADERBOARDS_FOLDER, write_leaderboard
    from pipelines.experiments.scoring.ranking import board_notes, run_labels, run_warnings, standings

    folder = runs_folder(home())
    metadata: dict[str, Any] = {
        "leaderboard": dg.MetadataValue.md(standings(runs)),
        "how_to_read_it": dg.MetadataValue.md("\n\n".join([*board_notes(runs), *run_warnings(runs)])),
    }
    for section in board_sections(runs):
        _, *parts = section_text(section)
        metadata[section.title.lower().replace(" ", "_")] = dg.MetadataValue.md("\n\n".join(parts))
    if runs[0].results.periods:
        metadata["overall_by_period"] = dg.MetadataValue.md(period_table(runs, "overall"))
    metadata["board"] = page_link(LEADERBOARDS_FOLDER, write_leaderboard(compare_runs(runs), runs=folder).name)
    labels = run_labels(runs)
    # Numbers get a plot over the materializations.
    for run in runs:
        name = labels[run.manifest.run_id]
        metadata[f"page_{name}"] = page_link(folder.name, run.manifest.run_id, PAGE)
        for metric in ("overall", "memory"):
            score = run.results.metrics[metric].value if metric in run.results.metrics else None
            if score is not None:
                metadata[f"{metric}_{name}"] = dg.MetadataValue.float(score)
        metadata[f"calls_{name}"] = sum(usage.calls for usage in run.results.spending.values())
        metadata[f"{UNSCORED}{name}"] = round(run.results.metrics["unscored"].value or 0.0, 4)
    metadata["dagster/column_schema"] = column_schema(AnswerRow)
    metadata["dagster/row_count"] = sum(len(run.answers) for run in runs)
    run_ids = [run.manifest.run_id for run in runs]
    return dg.MaterializeResult(data_version=dg.DataVersion(canonical_digest(run_ids)[:16]), metadata=metadata)


def evaluation_check(benchmark: Benchmark) -> dg.AssetChecksDefinition:
    """The check of the benchmark's evaluation."""
    asset = dg.AssetKey(benchmark.asset_key("evaluation"))

    @dg.asset_check(
        asset=asset,
        name="answers_scored",
        partitions_def=benchmark.partitions.by_variant,
        description="Nearly all answers could be read; where many could not, scores are doubtful.",
    )
    def answers_scored(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        """By the memory with most answers that could not be read."""
        known = last_materialized(context, asset)
        if UNASKED in known:
            return dg.AssetCheckResult(passed=True, description=NOT_ASKED)
        shares: dict[str, float] = {}
        for name, share in known.items():
            if name.startswith(UNSCORED):
                shares[name.removeprefix(UNSCORED)] = float(share)
        worst = max(shares, key=lambda name: shares[name])
        return dg.AssetCheckResult(
            passed=shares[worst] <= MOST_UNSCORED,
            severity=dg.AssetCheckSeverity.WARN,
            description=f"{worst} has most unscored answers: {shares[worst]:.1%}, where {MOST_UNSCORED:.0%} is allowed.",
            metadata={name: dg.MetadataValue.float(share) for name, share in shares.items()},
        )

    return answers_scored
