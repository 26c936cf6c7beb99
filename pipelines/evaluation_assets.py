"""The asset `evaluation`: assistants evaluated on a release, only when somebody asks for it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Optional

import dagster as dg
from pydantic import Field

from assets.engine.cancellation import stop_with_run
from assets.engine.progress import Steps, heartbeat
from assets.engine.stage_asset import disk_error_message
from assets.llm.ports import EndpointError
from assets.recipe.partitions import MODEL_POOL, VARIANT_PARTITIONS
from assets.reporting.asset_description import group
from assets.reporting.definition_metadata import OWNERS, column_schema, definition
from dataset_card.release.checks import last_materialized
from dataset_card.release.digests import canonical_digest
from pipelines.home import home
from prompts.catalogue import prompt_names

if TYPE_CHECKING:
    from pipelines.evaluation.command import EvaluationRequest
    from pipelines.evaluation.folder import FinishedRun

NEWEST = "newest"
PROMPTS = tuple(name for name in prompt_names() if name.startswith("evaluation/"))
UNSCORED = "unscored_"
MOST_UNSCORED = 0.02


class EvaluationConfig(dg.Config):
    """Who is evaluated, and how.

    `assistants`: names as in `pipelines/evaluation/assistants/configurations.yaml`, or YAML files. Models that are empty are
    the paper's, or the embedded one without endpoint. `users`: only the first so many. `version`: that of a release on disk,
    or newest. The limits are those of each assistant's run, over all its tries.
    """

    assistants: list[str] = Field(default=["llm"])
    model: str = ""
    embedding_model: str = ""
    user_model: str = ""
    users: Optional[int] = None
    version: str = NEWEST
    seed: int = 42
    attempt: int = 0
    max_cost_usd: Optional[float] = None
    max_tokens: Optional[int] = None


@dg.asset(
    partitions_def=VARIANT_PARTITIONS,
    group_name=group("evaluation"),
    deps=["release"],
    pool=MODEL_POOL,
    owners=OWNERS,
    kinds={"python", "llm"},
    tags={"asks_a_model": "yes", "paper": "3.3"},
    metadata=definition(None, prompts=PROMPTS),
    description="Memory assistants evaluated on-policy on a release (paper sections 3.2, 3.3 and 4): a leaderboard with "
    "intervals, and a page of each run with every dialogue, memory and answer. A run that was finished before is only shown.",
)
async def evaluation(context: dg.AssetExecutionContext, config: EvaluationConfig) -> dg.MaterializeResult[Any]:
    """Evaluate the partition's variant. Raises dg.Failure with one sentence; finished steps stay on the disk."""
    from pipelines.evaluation.errors import EvaluationError

    try:
        async with stop_with_run():
            runs = [await _evaluate(request, context.log.info) for request in _requests(config, context.partition_key)]
        return _result(runs)
    except (EvaluationError, EndpointError) as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    except OSError as error:
        raise dg.Failure(description=disk_error_message(error), allow_retries=False) from error


def _requests(config: EvaluationConfig, variant: str) -> "list[EvaluationRequest]":
    """Raises EvaluationError for what the launchpad cannot refuse."""
    from pipelines.evaluation.command import EvaluationRequest, budget_of
    from pipelines.evaluation.errors import EvaluationError
    from pipelines.evaluation.plan import EvaluationOptions

    if not config.assistants:
        raise EvaluationError("No assistant is given; name one or several in `assistants`, such as llm.")
    if config.seed < 0 or config.attempt < 0:
        raise EvaluationError(f"`seed` and `attempt` are 0 or more, not {min(config.seed, config.attempt)}.")
    options = EvaluationOptions(
        model=config.model,
        embedding_model=config.embedding_model,
        user_model=config.user_model,
        seed=config.seed,
        attempt=config.attempt,
    )
    source = variant if config.version == NEWEST else f"{variant}@{config.version}"
    budget = budget_of(max_cost_usd=config.max_cost_usd, max_tokens=config.max_tokens)
    return [EvaluationRequest(source, name, options, users=config.users, budget=budget) for name in config.assistants]


async def _evaluate(request: "EvaluationRequest", write: Callable[[str], object]) -> "FinishedRun":
    from pipelines.evaluation.command import EvaluationProgress, run_evaluation
    from pipelines.evaluation.forecast import EvaluationForecast
    from pipelines.evaluation.records import RunManifest

    done, total, steps = 0, 0, Steps(f"{request.assistant} on {request.dataset}")

    def begun(manifest: RunManifest, size: EvaluationForecast) -> None:
        nonlocal total
        total = size.steps
        write(f"{manifest.run_id}: {size.sentence} {size.warning(request.budget)}".strip())

    def step(_: str) -> None:
        nonlocal done
        done += 1
        steps.begin(f"{done} of {total} steps", share=done / max(1, total))

    with heartbeat(write, steps.line):
        return await run_evaluation(request, home=home(), progress=EvaluationProgress(begun=begun, step=step))


def _result(runs: "Sequence[FinishedRun]") -> dg.MaterializeResult[Any]:
    from pipelines.evaluation.command import runs_folder
    from pipelines.evaluation.folder import PAGE
    from pipelines.evaluation.records import AnswerRow
    from pipelines.evaluation.report.formatting import run_labels
    from pipelines.evaluation.report.markdown import leaderboard, period_table
    from pipelines.experiments.compare import compare
    from pipelines.experiments.leaderboard import write_leaderboard

    folder, labels = runs_folder(home()), run_labels(runs)
    by_name = {labels[run.manifest.run_id]: run for run in runs}
    scores = {name: run.results.metrics["memory"].value for name, run in by_name.items()}
    return dg.MaterializeResult(
        data_version=dg.DataVersion(canonical_digest([run.manifest.run_id for run in runs])[:16]),
        metadata={
            "leaderboard": dg.MetadataValue.md(leaderboard(runs)),
            "overall_by_period": dg.MetadataValue.md(period_table(runs, "overall")),
            # Paths to copy: browsers follow no link from a served page to the disk.
            "board": dg.PathMetadataValue(str(write_leaderboard(compare(runs), runs=folder))),
            **{f"page_{name}": dg.PathMetadataValue(str(folder / run.manifest.run_id / PAGE)) for name, run in by_name.items()},
            # Numbers get a plot over the materializations.
            **{f"memory_{name}": dg.MetadataValue.float(score) for name, score in scores.items() if score is not None},
            **{f"calls_{name}": sum(usage.calls for usage in run.results.spending.values()) for name, run in by_name.items()},
            **{f"{UNSCORED}{name}": _unscored(run) for name, run in by_name.items()},
            "dagster/column_schema": column_schema(AnswerRow),
            "dagster/row_count": sum(len(run.answers) for run in runs),
        },
    )


def _unscored(run: "FinishedRun") -> float:
    counts = run.results.counts
    return round(counts.get("question.unscored", 0) / max(1, counts.get("question.asked", 0)), 4)


@dg.asset_check(
    asset="evaluation",
    name="answers_scored",
    partitions_def=VARIANT_PARTITIONS,
    description="Nearly all answers could be read; where many could not, scores are doubtful.",
)
def answers_scored(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
    """By the assistant with most answers that could not be read."""
    known = last_materialized(context, "evaluation")
    shares = {name.removeprefix(UNSCORED): float(share) for name, share in known.items() if name.startswith(UNSCORED)}
    worst = max(shares, key=lambda name: shares[name])
    return dg.AssetCheckResult(
        passed=shares[worst] <= MOST_UNSCORED,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"Most are unscored of {worst}: {shares[worst]:.1%} of its answers, where {MOST_UNSCORED:.0%} may be.",
        metadata={name: dg.MetadataValue.float(share) for name, share in shares.items()},
    )
