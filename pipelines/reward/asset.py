"""The asset `reward_rows`: one table of the rows of all finished runs, from which reward models learn.

Evaluations are imported late, as in `evaluation_assets`: whoever opens Dagster does not wait for them.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from assets.reporting.definition_metadata import OWNERS, column_schema, definition
from pipelines.errors import EvaluationError
from pipelines.home import home

if TYPE_CHECKING:
    from pipelines.reward.rows import RewardRow

TABLE = "reward_rows.parquet"  # in the data folder


class RewardRowsConfig(dg.Config):
    """Which runs: ids, or their beginnings. Empty: all finished runs of this data folder."""

    runs: list[str] = Field(default=[])


def reward_rows_asset(evaluations: Sequence[str]) -> dg.AssetsDefinition:
    """Return the asset below the evaluations of all benchmarks, whose names these are."""

    @dg.asset(
        name="reward_rows",
        group_name="8_reward_models",
        deps=list(evaluations),
        owners=OWNERS,
        kinds={"python", "parquet"},
        tags={"asks_a_model": "no"},
        metadata=definition(None, _found_rows),
        check_specs=[
            dg.AssetCheckSpec(
                "some_rows_have_a_label",
                asset="reward_rows",
                description="Models learn from rows whose answer is known with the memory and without.",
            )
        ],
        description="What memories recalled in finished runs on any benchmark, as features, and whether answers were right. "
        "From this table `amemgym reward train` learns what a memory is worth.",
    )
    def reward_rows(config: RewardRowsConfig) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
        """Write the table. Raises dg.Failure with one sentence where a run that was named cannot be read, or none is there."""
        from pipelines.reward.rows import rows_digest, write_reward_rows

        try:
            rows, left_out = _found_rows(config.runs)
        except EvaluationError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        write_reward_rows(home().root / TABLE, rows)
        labelled = sum(row.kept is not None for row in rows)
        check = dg.AssetCheckResult(
            check_name="some_rows_have_a_label",
            passed=labelled > 0,
            metadata={"looked_at": len(rows), "with_a_label": labelled},
        )
        return dg.MaterializeResult(
            data_version=dg.DataVersion(rows_digest(rows)[:16]), metadata=_metadata(rows, left_out), check_results=[check]
        )

    return reward_rows


def _found_rows(named: Sequence[str]) -> "tuple[list[RewardRow], list[str]]":
    """Return the rows of the runs that are named, or of all, and why others were left out. Raises EvaluationError."""
    from pipelines.evaluation.folder import RESULTS, find_run, runs_folder
    from pipelines.reward.rows import reward_rows

    runs = runs_folder(home())
    if named:
        return reward_rows([find_run(name, runs=runs) for name in named]), []
    rows: list[RewardRow] = []
    left_out: list[str] = []
    for path in sorted(runs.glob(f"*/{RESULTS}")):
        try:
            rows += reward_rows([path.parent])
        except EvaluationError as error:  # a run of another version, say
            left_out.append(str(error))
    if not rows:
        raise EvaluationError(f"There is no finished run in {runs} whose rows can be read; evaluate a memory first.")
    return rows, left_out


def _metadata(rows: "Sequence[RewardRow]", left_out: Sequence[str]) -> dict[str, Any]:
    from pipelines.evaluation.report.formatting import headed_table
    from pipelines.reward.rows import RewardRow

    counts: Counter[tuple[str, str, str]] = Counter()
    labelled: Counter[tuple[str, str, str]] = Counter()
    kept: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        key = (row.benchmark, row.memory, row.perturbed)
        counts[key] += 1
        labelled[key] += row.kept is not None
        kept[key] += bool(row.kept)
    lines = [[*key, f"{counts[key]:,}", f"{labelled[key]:,}", f"{kept[key]:,}"] for key in sorted(counts)]
    return {
        "dagster/row_count": len(rows),
        "dagster/column_schema": column_schema(RewardRow),
        "with_a_label": labelled.total(),
        "rows": dg.MetadataValue.md(headed_table(["benchmark", "memory", "damaged by", "rows", "with a label", "kept"], lines)),
        "runs_left_out": dg.MetadataValue.md("\n".join(f"- {sentence}" for sentence in left_out) or "none"),
        "table": str(home().root / TABLE),
    }
