"""What models of some rows reach on rows that they never saw, as it is kept in a model's file."""

from pydantic import Field

from assets.records.base import Record
from assets.records.estimate import Estimate
from pipelines.evaluation.report.formatting import format_estimate


class Split(Record):
    """How models do on rows of a group that they never saw: a memory, a benchmark, a reasoner, items."""

    name: str
    groups: int
    rows: int
    items: int
    areas: dict[str, Estimate] = Field(description="area under the ROC curve by model")
    floors: dict[str, Estimate] = Field(description="the same without a model, by what it takes")
    measures: dict[str, dict[str, Estimate]] = Field(description="further measures, by model")
    best: str = Field(description="the model with the largest area")
    best_floor: str
    gain: Estimate = Field(description="the area of that model minus that of the best floor")


class Ranking(Record):
    """Memories of one benchmark in the order that was predicted, and in the true one; the model saw no row of the memory."""

    benchmark: str
    memories: int
    tau: float | None = Field(description="Kendall's tau-b; none where one side has no order")
    first_is_first: bool = Field(description="the memory with the highest prediction is the best")
    pairs: int = Field(description="of memories, damaged ones too, with a true order")
    saved: float | None = Field(
        description="share of them that is decided by the model, at a margin that other benchmarks gave"
    )
    wrong: float | None = Field(description="share of these in a wrong order")


class Bin(Record):
    """Rows with like calibrated values: their mean, and the share that kept what was needed."""

    predicted: float
    kept: Estimate
    rows: int


class RewardReport(Record):
    """Held-out memories come first in `splits`, held-out items last."""

    rows: int
    kept: float = Field(description="share of the rows that kept what was needed")
    splits: tuple[Split, ...]
    rankings: tuple[Ranking, ...]
    bins: tuple[Bin, ...] = Field(description="of the chosen model on new items")
    alone: dict[str, float | None] = Field(
        description="area under the ROC curve of each feature alone; below .5 where less is better"
    )

    @property
    def beats_floors(self) -> bool:
        """True where the gain over the best floor on the first split has an interval above 0."""
        gain = self.splits[0].gain
        return gain.low is not None and gain.low > 0

    @property
    def verdict(self) -> str:
        """One sentence, or two: whether a model may be trusted with memories that it never saw."""
        first = self.splits[0]
        floor = first.floors[first.best_floor]
        area = format_estimate(first.areas[first.best])
        said = f"area under the curve {area} against {format_estimate(floor)} of {first.best_floor}"
        if self.beats_floors:
            return f"On {first.name} a model tells more than any floor: {said}."
        return f"A floor does as well as a model on {first.name}: {said}. Do not rank memories by this model."
