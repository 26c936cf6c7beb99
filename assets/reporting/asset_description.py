"""How a stage describes itself in the Dagster UI. Imports no Dagster: stages are also read where nothing is materialized."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from assets.reporting.markdown import Row

if TYPE_CHECKING:
    import dagster as dg

GroupName = Literal["sampling", "schema", "trajectory", "sessions", "answers", "release", "evaluation"]
Metadata = Mapping[str, "dg.MetadataValue[Any] | int | float | str"]


def no_summary(_: Sequence[Any]) -> Metadata:
    """The summary of a stage that has none."""
    return {}


def fields(record: Any) -> Sequence[Row]:
    """The preview of a stage that describes no other: one row, the record's fields."""
    return [record.model_dump(mode="json")]


@dataclass(frozen=True)
class AssetDescription:
    """How a stage shows itself: its group, two sentences, and rows of a record for the preview.

    `paper`: the section that it follows. `summary`: what the finished items' records come to, as metadata. `kinds`: what the
    asset is made with, as icons.
    """

    group: str = "items"
    description: str = ""
    rows: Callable[[Any], Sequence[Row]] = fields
    paper: str = "3.1"
    kinds: tuple[str, ...] = ("python",)
    summary: Callable[[Sequence[Any]], Metadata] = no_summary


def group(name: GroupName) -> str:
    """The group's name in Dagster, which sorts groups by name: numbered in the order in which data passes them."""
    return f"{get_args(GroupName).index(name) + 1}_{name}"
