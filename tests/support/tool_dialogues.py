"""A small tool dialogue with everything that its stages make of it, told and acted by the embedded model in process."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from assets.llm.ports import LanguageModel
from assets.memory_items.tasks import TaskAblation, TaskDocuments, TaskLengths
from assets.recipe.recipe import units
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.records.base import ItemRecord
from assets.tool_dialogue.pipeline import TOOL_DIALOGUE
from assets.tool_dialogue.records import ToolRequest, ToolTask, ToolWorld
from assets.tool_dialogue.worlds import draw_companies
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.made_stages import make_records
from validation.rules import RecordsByStage


def tool_recipe(**fields: Any) -> ToolDialogueRecipe:
    """One task of two settled matters with a repair company, at one length, unless the fields say otherwise."""
    given: dict[str, Any] = {"num_tasks": 1, "num_reserve": 0, "min_hops": 2, "max_hops": 2, "lengths": (12000,)}
    return ToolDialogueRecipe.model_validate({"variant": "small tools", **given, "domains": ("repairs",), **fields})


@dataclass(frozen=True)
class MadeDialogue:
    """A task's record of every stage."""

    world: ToolWorld
    sessions: TaskDocuments
    request: ToolRequest
    lengths: TaskLengths
    certificates: TaskAblation
    instance: ToolTask

    @property
    def records(self) -> RecordsByStage:
        """By stage and item, as rules read them."""
        records: dict[str, ItemRecord] = {
            "td_worlds": self.world,
            "td_sessions": self.sessions,
            "td_requests": self.request,
            "td_lengths": self.lengths,
            "td_certificates": self.certificates,
            "td_instances": self.instance,
        }
        return {stage: {self.world.task_id: record} for stage, record in records.items()}


async def make_dialogue(world: ToolWorld, *, recipe: ToolDialogueRecipe, model: LanguageModel) -> MadeDialogue:
    """Take a task through all stages."""
    return MadeDialogue(*(await make_records(TOOL_DIALOGUE, world, recipe=recipe, model=model)).values())


def drawn(recipe: ToolDialogueRecipe) -> list[ToolWorld]:
    return [world for _, world in draw_companies(recipe, units(recipe)[0])]


@cache
def made_dialogue() -> MadeDialogue:
    """The one task of the small recipe; made once."""
    recipe = tool_recipe()
    return run(make_dialogue(drawn(recipe)[0], recipe=recipe, model=EmbeddedModel()))
