"""Rows of what was made, for programs outside Dagster."""

from typing import TYPE_CHECKING

from pipelines.home import home
from pipelines.resources.storage.io_manager import open_asset_values

if TYPE_CHECKING:
    import pandas as pd


def read_rows(stage: str, partition: str, *, finished: bool = False) -> "pd.DataFrame":
    """The rows of a stage's latest snapshot, such as `read_rows("answers", "demo")`, from the data folder `AMEMGYM_HOME`.

    A stage holds the items that had not failed by then. `finished`: those of the finished set instead, the replacements that
    joined later among them. Columns: `unit`, `position` in the sample, and the fields of the stage's record. Raises
    StoreError, which is an OSError, in one sentence where there are none.
    """
    return open_asset_values(home()).rows(stage, partition, finished=finished).to_pandas()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
