"""Reads the rows of a stage, for programs outside Dagster."""

from typing import TYPE_CHECKING

from pipelines.home import home
from pipelines.resources.storage.io_manager import open_asset_values

if TYPE_CHECKING:
    import pandas as pd


def read_rows(stage: str, partition: str, *, finished: bool = False) -> "pd.DataFrame":
    """Return the rows of a stage's latest snapshot in the data folder `AMEMGYM_HOME`, as in `read_rows("answers", "demo")`.

    By default these are the items that had not failed when the stage ended. `finished`: return the items of the finished set
    instead, with replacements that joined in later stages. Columns: `unit`, `position` in the sample, and the fields of the
    stage's record. Raises StoreError, which is an OSError, with one sentence if there are no rows.
    """
    return open_asset_values(home()).rows(stage, partition, finished=finished).to_pandas()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
