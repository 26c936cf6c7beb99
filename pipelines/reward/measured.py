"""What models of some rows reach on rows that they never saw, as it is kept in a model's file."""

from pydantic import Field

from assets.records.base import Record
from assets.records.estimate import Estimate
from pipelines.evaluation.report.formatting import format_estimate, format_number

LEAST_TAU = 0.8  # of memories on each benchmark, from which on a model may rank others


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

    @property
    def beats_floors(self) -> bool:
        """True where the interval of the gain lies above 0."""
        return self.gain.low is not None and self.gain.low > 0

    @property
    def loses_to_a_floor(self) -> bool:
        """True where the interval of the gain lies below 0."""
        return self.gain.high is not None and self.gain.high < 0

    @property
    def sentence(self) -> str:
        floor = f"{format_estimate(self.floors[self.best_floor])} of {self.best_floor}"
        said = f"area under the curve {format_estimate(self.areas[self.best])} against {floor}"
        if self.beats_floors:
            return f"On {self.name} a model tells more than any floor: {said}."
        if self.loses_to_a_floor:
            return f"On {self.name} a floor tells more than any model: {said}."
        return f"A floor does as well as a model on {self.name}: {said}."


class Ranking(Record):
    """Memories of one benchmark and budget in the order that was predicted, and in the true one, by models that saw no row
    of the memory."""

    benchmark: str
    budget: int = Field(description="tokens that each memory could give back")
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
    def may_rank(self) -> bool:
        """True where a model beats the floors on every group held out, and orders memories that it never saw."""
        taus = [one.tau for one in self.rankings if one.tau is not None]
        return all(split.beats_floors for split in self.splits) and bool(taus) and min(taus) >= LEAST_TAU

    @property
    def verdict(self) -> str:
        """Sentences on whether a model may be trusted with what it never saw; what it does not win comes first."""
        lost = [split.sentence for split in self.splits if not split.beats_floors]
        won = [split.sentence for split in self.splits if split.beats_floors]
        parts = [*lost, *won[:1]]
        taus = {one.benchmark: one.tau for one in self.rankings if one.tau is not None}
        for one in self.rankings:
            if one.tau is not None:
                taus[one.benchmark] = min(taus[one.benchmark], one.tau)
        if taus:
            benchmark = min(taus, key=lambda name: taus[name])
            tau = f"Kendall's tau of memories that it never saw is {format_number(taus[benchmark], digits=2)}"
            parts.append(f"{tau} or more." if self.may_rank else f"{tau} on {benchmark}.")
        if not self.may_rank:
            parts.append("Do not rank memories by this model.")
        return " ".join(parts)
