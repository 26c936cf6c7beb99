"""Fields that recipes of benchmarks of documents share: counts of tasks, chains, lengths, turns, ablation."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from assets.recipe.recipe import MOST_ITEMS, FoundCheaply, Recipe
from assets.records.base import Record, quantity

# What a question asks of its facts: the end of a chain, a sum, a difference, an order, how many there are, something about the
# one with the most, or how far an unconfirmed source is from the one that counts.
AskedOperation = Literal["follow", "sum", "difference", "order", "count", "most", "weigh"]
# What a question asks of sessions: what a ticket settles, which of two statements of it does not count, what is agreed about a
# function, or whether a statement still counts.
SessionOperation = Literal["decision", "failed_path", "convention", "still_so"]
# What a developer asks as well: since when the end of a chain is so, whether a note on it still holds, which of two has more.
CodeOperation = Literal["since_when", "still_so", "which_of_two"]
# In a tool dialogue an agent acts on its facts: each gives an argument of a call.
Operation = Literal[AskedOperation, CodeOperation, SessionOperation, "act"]
FEWEST_FACTS: Mapping[AskedOperation, int] = {
    "follow": 1,
    "sum": 2,
    "difference": 2,
    "order": 3,
    "count": 3,
    "most": 3,
    "weigh": 2,
}
MOST_HOPS = 6
LEAST_TOKENS_PER_HOP = 1200  # of the documents that tell a hop and its siblings


class Eviction(Record):
    """The documents that are still in view when the question comes: none, or the last turns."""

    mode: Literal["full", "window"] = Field(
        default="full", description="full: nothing stays in view; window: the last turns stay"
    )
    window_turns: int = Field(default=1, ge=1, le=20, description="turns that stay in view, where the mode is window")

    @property
    def visible_turns(self) -> int:
        """The number of last turns that are in view when the question comes."""
        return self.window_turns if self.mode == "window" else 0

    @property
    def hidden_turns(self) -> int:
        """The number of last turns that have no needed fact: those in view, and the last one, which is still in mind."""
        return max(1, self.visible_turns)


class AblationPolicy(Record):
    """The readings of a task's parts, and how much is read at once."""

    votes: int = quantity(2, "readings", ge=1, le=15, description="readings of each part")
    needed_right: int = quantity(
        2, "readings", ge=1, le=15, description="readings that must be right where all facts are given"
    )
    allowed_right: int = quantity(0, "readings", ge=0, le=14, description="readings that may be right where a fact is missing")
    max_reading_tokens: int = quantity(
        100_000, "tokens", ge=500, description="length of one reading at most; longer filler is read in parts"
    )

    @model_validator(mode="after")
    def votes_are_enough(self) -> Self:
        if not self.allowed_right < self.needed_right <= self.votes:
            raise ValueError(
                f"ablation.needed_right is {self.needed_right}; it must be more than ablation.allowed_right, which is "
                f"{self.allowed_right}, and no more than ablation.votes, which is {self.votes}."
            )
        return self


class DocumentTaskRecipe(Recipe):
    """All parameters that any benchmark of questions over documents has."""

    decide_no_row: ClassVar[Mapping[str, Any]] = Recipe.decide_no_row
    decide_which_items: ClassVar[frozenset[str]] = Recipe.decide_which_items | {"num_tasks", "tasks_per_unit"}
    decide_the_report: ClassVar[frozenset[str]] = frozenset({"max_auroc", "max_found_cheaply"})

    num_tasks: int = quantity(
        100, "tasks", ge=1, le=MOST_ITEMS, description="questions in the variant, each with its documents"
    )
    tasks_per_unit: int | None = quantity(
        None, "tasks", ge=1, description="size of the work units that the variant is split into"
    )
    min_hops: int = quantity(3, "facts", ge=1, le=MOST_HOPS, description="facts of a chain at least")
    max_hops: int = quantity(5, "facts", ge=1, le=MOST_HOPS, description="facts of a chain at most")
    lengths: tuple[int, ...] = Field(default=(10_000, 50_000), description="what a memory receives of a task, at each length")
    length_tolerance: float = Field(default=0.05, gt=0, le=0.2, description="share by which a length may differ")
    num_quiet_turns: int = quantity(2, "turns", ge=1, le=20, description="turns without a fact of the chain")
    eviction: Eviction = Eviction()
    ablation: AblationPolicy = AblationPolicy()
    max_auroc: float = Field(
        default=0.6,
        ge=0.5,
        le=1,
        description="how well words, names or form may tell support from filler, as the area under the curve",
    )
    max_found_cheaply: FoundCheaply = 1

    @model_validator(mode="after")
    def sizes_are_possible(self) -> Self:
        if self.min_hops > self.max_hops:
            raise ValueError(f"min_hops is {self.min_hops}, but max_hops is only {self.max_hops}.")
        if not self.lengths or list(self.lengths) != sorted(set(self.lengths)):
            raise ValueError(f"lengths is {list(self.lengths)}; give different lengths, the shortest first.")
        return self

    @model_validator(mode="after")
    def an_invented_world_fits(self) -> Self:
        if self.source_kind == "world" and self.language != "en":
            raise ValueError(f"language is {self.language}, but the invented world is told in English; set language en.")
        least = self.max_hops * LEAST_TOKENS_PER_HOP
        if self.source_kind == "world" and self.lengths[0] < least:
            raise ValueError(
                f"lengths begins with {self.lengths[0]}, but the documents of {self.max_hops} hops take up to {least} tokens; "
                "give a greater length or fewer hops."
            )
        return self

    def operations_of(self, hops: int) -> list[Operation]:
        """Return what a question of so many facts may ask."""
        return ["follow"]

    @property
    def source_kind(self) -> str:
        """`world` where documents are told of an invented one, else what real documents are."""
        return "world"

    @property
    def num_items(self) -> int:
        return self.num_tasks

    @property
    def items_per_unit(self) -> int | None:
        return self.tasks_per_unit
