"""A small research task with everything that its stages make of it, told and read by the embedded model in process."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from assets.deep_research.pipeline import DEEP_RESEARCH
from assets.deep_research.records import TaskFacts, TaskSources, TaskWorld
from assets.deep_research.worlds import draw_worlds
from assets.llm.ports import LanguageModel
from assets.memory_items.tasks import MemoryTask, TaskAblation, TaskLengths, TaskQuestion, TaskTurns
from assets.recipe.deep_research import DeepResearchRecipe
from assets.recipe.recipe import units
from assets.records.base import ItemRecord
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.made_stages import make_records
from validation.rules import RecordsByStage


def small_recipe(**fields: Any) -> DeepResearchRecipe:
    """A chain of two hops at one length, unless the fields say otherwise."""
    given: dict[str, Any] = {"num_tasks": 1, "num_reserve": 0, "min_hops": 2, "max_hops": 2, "lengths": (4000,)}
    given |= {"operations": ("follow",)}
    return DeepResearchRecipe.model_validate({"variant": "small", **given, **fields})


@dataclass(frozen=True)
class MadeTask:
    """A task's record of every stage."""

    world: TaskWorld
    sources: TaskSources
    facts: TaskFacts
    question: TaskQuestion
    turns: TaskTurns
    lengths: TaskLengths
    ablation: TaskAblation
    instance: MemoryTask

    @property
    def records(self) -> RecordsByStage:
        """By stage and item, as rules read them."""
        records: dict[str, ItemRecord] = {
            "dr_worlds": self.world,
            "dr_sources": self.sources,
            "dr_facts": self.facts,
            "dr_questions": self.question,
            "dr_turns": self.turns,
            "dr_lengths": self.lengths,
            "dr_ablation": self.ablation,
            "dr_instances": self.instance,
        }
        return {stage: {self.world.task_id: record} for stage, record in records.items()}


async def make(world: TaskWorld, *, recipe: DeepResearchRecipe, model: LanguageModel) -> MadeTask:
    """Take a task through all stages."""
    return MadeTask(*(await make_records(DEEP_RESEARCH, world, recipe=recipe, model=model)).values())


def worlds(recipe: DeepResearchRecipe) -> list[TaskWorld]:
    return [world for _, world in draw_worlds(recipe, units(recipe)[0])]


@cache
def made_task() -> MadeTask:
    """The one task of the small recipe; made once."""
    recipe = small_recipe()
    return run(make(worlds(recipe)[0], recipe=recipe, model=EmbeddedModel()))
