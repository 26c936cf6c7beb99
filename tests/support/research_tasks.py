"""A small research task with everything that its stages make of it, told and read by the embedded model in process."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from assets.deep_research.facts import read_facts
from assets.deep_research.instances import accept_task
from assets.deep_research.lengths import fill_lengths
from assets.deep_research.questions import ask_research_question
from assets.deep_research.records import TaskFacts, TaskSources, TaskWorld
from assets.deep_research.sources import tell_sources
from assets.deep_research.turns import arrange_turns
from assets.deep_research.worlds import draw_worlds
from assets.llm.ports import LanguageModel, ModelReply, ModelRequest
from assets.memory_items.final_ablation import certify_lengths
from assets.memory_items.tasks import MemoryTask, TaskAblation, TaskLengths, TaskQuestion, TaskTurns
from assets.recipe.deep_research import DeepResearchRecipe
from assets.recipe.loading import units
from assets.records.base import ItemRecord
from pipelines.embedded.app import write_reply
from pipelines.embedded.task import recognise
from tests.support.coroutines import run
from validation.rules import RecordsByStage


class EmbeddedModel:
    """The LanguageModel port over the embedded model's program, without its HTTP interface."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        task = recognise(messages, schema_name=request.schema_name, seed=request.seed + request.sample)
        return ModelReply(text=write_reply(task), finish="stop", input_tokens=10, output_tokens=2)


def small_recipe(**fields: Any) -> DeepResearchRecipe:
    """A chain of two hops at one length, unless the fields say otherwise."""
    given: dict[str, Any] = {"num_tasks": 1, "num_reserve": 0, "min_hops": 2, "max_hops": 2, "lengths": (4000,)}
    given |= {"num_tellings": 2, "operations": ("follow",)}
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
    sources = await tell_sources(world, recipe=recipe, model=model)
    facts = await read_facts(sources, recipe=recipe, model=model)
    question = await ask_research_question(world, sources, facts, recipe=recipe, model=model)
    turns = await arrange_turns(world, sources, facts, question, recipe=recipe, model=model)
    lengths = await fill_lengths(sources, facts, question, turns, recipe=recipe, model=model)
    ablation = await certify_lengths(question, lengths, recipe=recipe, model=model)
    instance = await accept_task(question, lengths, ablation, recipe=recipe, model=model)
    return MadeTask(world, sources, facts, question, turns, lengths, ablation, instance)


def worlds(recipe: DeepResearchRecipe) -> list[TaskWorld]:
    return [world for _, world in draw_worlds(recipe, units(recipe)[0])]


@cache
def made_task() -> MadeTask:
    """The one task of the small recipe; made once."""
    recipe = small_recipe()
    return run(make(worlds(recipe)[0], recipe=recipe, model=EmbeddedModel()))
