"""Later stages of an item begin with the draft of an earlier one, so that the item's chain of calls is shorter.

What they ask is asked again when their turn comes, of the finished record; where that is as its draft was, the replies are
there. So no record depends on a draft. What a refused draft had them ask in vain stands in the ledger and counts for no stage.
"""

from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from assets.engine.ports import RunContext
from assets.engine.stage import Stage
from assets.llm.asked_ahead import AskingAhead
from assets.llm.item_watch import WATCH
from assets.llm.ports import EndpointError
from assets.recipe.recipe import Recipe
from assets.records.base import ItemFailed, ItemRecord


@dataclass
class DraftsAhead:
    """The drafts of one item. `reached`: the stages that the run makes of it.

    `find` returns a stage's record, None without one; `start` lets work for the item go on.
    """

    recipe: Recipe
    run_context: RunContext
    item_id: str
    reached: Sequence[Stage[ItemRecord]]
    find: Callable[[str], ItemRecord | None]
    start: Callable[[Coroutine[Any, Any, None]], None]
    drafts: dict[str, ItemRecord] = field(default_factory=dict[str, ItemRecord])
    _due: set[str] = field(default_factory=set[str])
    _running: set[str] = field(default_factory=set[str])

    def show(self, stage: str, draft: ItemRecord) -> None:
        """Let the stages that need this one begin with its draft, or go on with it when they are done with an earlier one."""
        self.drafts[stage] = draft
        for other in self.reached:
            if other.draft is None or stage not in (need.name for need in other.needs):
                continue
            self._due.add(other.name)
            if other.name not in self._running:
                self._running.add(other.name)
                self.start(self._draft(other))

    async def _draft(self, stage: Stage[ItemRecord]) -> None:
        WATCH.set(None)  # what fails here is not lost yet
        labels = self.run_context.labels(stage.name, item_id=self.item_id)
        model = AskingAhead(self.run_context.model, labels, self.run_context.in_flight.ahead)
        recipe = self.recipe.for_stage(stage.name, item_id=self.item_id)
        assert stage.draft is not None
        # The stage itself meets the same failure when its turn comes, and says it.
        with suppress(ItemFailed, EndpointError):
            while stage.name in self._due:
                self._due.remove(stage.name)
                inputs = [self.drafts.get(need.name) or self.find(need.name) for need in stage.needs]
                draft = await stage.draft(*inputs, self.drafts.get(stage.name), recipe=recipe, model=model)
                if draft is not None:
                    self.show(stage.name, draft)
            self._running.remove(stage.name)
