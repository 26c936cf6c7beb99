"""Everything a stage's wrapper works with, gathered by whoever opens it for a run."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from assets.engine.in_flight import InFlight
from assets.engine.ports import RecordCache, SnapshotStore, StageProgress
from assets.llm.ports import Embedder, LanguageModel
from assets.recipe.recipe import Recipe


@dataclass(frozen=True)
class RunContext:
    """Model, stores and limits of one run."""

    model: LanguageModel
    snapshots: SnapshotStore
    record_cache: RecordCache
    items_at_once: int = 32
    items_per_part: int = 200
    report: Callable[[StageProgress], None] | None = None
    expected_calls: Callable[[Recipe, str], float] | None = None
    embedded_model: str | None = None
    open_model: Callable[[Recipe, str], LanguageModel] | None = None
    open_embedder: Callable[[Recipe, str], Embedder] | None = None
    in_flight: InFlight = field(default_factory=InFlight)

    def for_unit(self, unit: str, *, recipe: Recipe) -> "RunContext":
        """The run context as one work unit of a recipe uses it: its calls are in the ledger, and the recipe's budget holds."""
        return self if self.open_model is None else replace(self, model=self.open_model(recipe, unit))
