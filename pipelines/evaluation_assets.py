"""The asset beyond the release: assistants evaluated on it, made only when somebody asks for it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Optional

import dagster as dg
from pydantic import Field

from assets.interruption import stopping_with_the_run
from assets.partitions import VARIANT_PARTITIONS
from assets.ports import EndpointError
from assets.progress import LOG_SECONDS
from assets.stage import OWNERS, disk_problem
from dataset_card.digests import canonical_digest
from pipelines.home import home

if TYPE_CHECKING:
    from pipelines.evaluation.command import Order
    from pipelines.evaluation.folder import FinishedRun

NEWEST = "newest"


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
    group_name="evaluation",
    deps=["release"],
    owners=OWNERS,
    kinds={"python", "llm"},
    description="Memory assistants evaluated on-policy on a release: a leaderboard with intervals, and a page of each run with "
    "every dialogue, memory and answer. A run that was finished before is only shown.",
)
async def evaluation(context: dg.AssetExecutionContext, config: EvaluationConfig) -> dg.MaterializeResult[Any]:
    """Evaluate the partition's variant. Raises dg.Failure with one sentence; what was done is kept."""
    from pipelines.evaluation.problems import EvaluationError

    try:
        with stopping_with_the_run():
            runs = [await _evaluated(order, context.log.info) for order in _orders(config, context.partition_key)]
        return _result(runs)
    except (EvaluationError, EndpointError) as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    except OSError as error:
        raise dg.Failure(description=disk_problem(error), allow_retries=False) from error


def _orders(config: EvaluationConfig, variant: str) -> "list[Order]":
    from assets.records.recipe import Budget
    from pipelines.evaluation.command import Order
    from pipelines.evaluation.plan import Options

    options = Options(
        model=config.model,
        embedding_model=config.embedding_model,
        user_model=config.user_model,
        seed=config.seed,
        attempt=config.attempt,
    )
    place = variant if config.version == NEWEST else str(home().releases / variant / config.version)
    budget = Budget(max_cost_usd=config.max_cost_usd, max_tokens=config.max_tokens)
    return [Order(place, name, options, users=config.users, budget=budget) for name in config.assistants]


async def _evaluated(order: "Order", write: Callable[[str], object]) -> "FinishedRun":
    import time

    from pipelines.evaluation.command import Watch, carry_out
    from pipelines.evaluation.forecast import Forecast
    from pipelines.evaluation.records import RunManifest

    done, steps, written = 0, 0, time.monotonic()

    def begun(manifest: RunManifest, size: Forecast) -> None:
        nonlocal steps
        steps = size.steps
        write(f"{manifest.run_id}: {size.sentence} {size.warning(order.budget)}".strip())

    def step(_: str) -> None:
        nonlocal done, written
        done += 1
        if time.monotonic() - written >= LOG_SECONDS:
            written = time.monotonic()
            write(f"{order.assistant}: {done} of {steps} steps")

    return await carry_out(order, place=home(), watch=Watch(begun=begun, step=step))


def _result(runs: "Sequence[FinishedRun]") -> dg.MaterializeResult[Any]:
    from pipelines.evaluation.boards import write_board
    from pipelines.evaluation.command import runs_folder
    from pipelines.evaluation.compare import compared
    from pipelines.evaluation.folder import PAGE
    from pipelines.evaluation.report import leaderboard, period_table

    place = runs_folder(home())
    pages = {run.manifest.assistant.name: place / run.manifest.run_id / PAGE for run in runs}
    scores = {run.manifest.assistant.name: run.results.metrics["memory"].value for run in runs}
    return dg.MaterializeResult(
        data_version=dg.DataVersion(canonical_digest([run.manifest.run_id for run in runs])[:16]),
        metadata={
            "leaderboard": dg.MetadataValue.md(leaderboard(runs)),
            "overall_by_period": dg.MetadataValue.md(period_table(runs, "overall")),
            # Paths to copy: browsers follow no link from a served page to the disk.
            "board": dg.PathMetadataValue(str(write_board(compared(runs), place=place))),
            **{f"page_{name}": dg.PathMetadataValue(str(page)) for name, page in pages.items()},
            # Numbers get a plot over the materializations.
            **{f"memory_{name}": dg.MetadataValue.float(score) for name, score in scores.items() if score is not None},
        },
    )
