"""Stage `dr_sources`: the documents of a task, told by a writer or renamed, and filler enough for its longest length."""

from assets.deep_research.corpus.renaming import renamed_sources
from assets.deep_research.fiction import WORLD
from assets.deep_research.records import TaskSources, TaskWorld
from assets.deep_research.worlds import DR_WORLDS
from assets.engine.stage import PromptCalls, Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.world.tellings import ask_tellings, told_filler
from assets.recipe.deep_research import DeepResearchRecipe
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription


async def tell_sources(world: TaskWorld, *, recipe: DeepResearchRecipe, model: LanguageModel) -> TaskSources:
    """Return the task's documents. Raises ItemFailed where the writer's templates cannot be used."""
    if world.sections:
        return renamed_sources(world, recipe=recipe)
    tellings = await ask_tellings(WORLD, task_id=world.task_id, recipe=recipe, model=model)
    return TaskSources(
        task_id=world.task_id,
        documents=tellings.own_documents(world.plans, seed=recipe.world_seed, task_id=world.task_id),
        filler=tuple(told_filler(tellings, chain=world.chain, task_id=world.task_id, recipe=recipe)),
    )


def _shares_of_sets(recipe: DeepResearchRecipe) -> float:
    """Return an item's share of the sets of tellings, each of which is asked for once."""
    return min(recipe.num_styles, recipe.num_tasks) / recipe.num_tasks


def _told_as(prompt: str) -> PromptCalls:
    """Return the calls of the prompt that asks for one form of documents: one for each kind of subject."""
    kinds = [kind for kind in WORLD.document_kinds if WORLD.tell_prompt_of(kind) == prompt]

    def per_item(recipe: DeepResearchRecipe) -> float:
        return _shares_of_sets(recipe) * len(kinds)

    return PromptCalls(per_item, reading=990, writing=_told_tokens)


def _phrase_calls(recipe: DeepResearchRecipe) -> float:
    return _shares_of_sets(recipe) * len(WORLD.relations)


def _told_tokens(recipe: DeepResearchRecipe) -> float:
    return 230.0 * recipe.num_tellings


def _phrased_tokens(recipe: DeepResearchRecipe) -> float:
    return 9.0 * recipe.num_tellings


DR_SOURCES = Stage(
    name="dr_sources",
    record=TaskSources,
    make=tell_sources,
    version=5,
    needs=(DR_WORLDS,),
    prompts=(*WORLD.tell_prompts, WORLD.phrase_prompt),
    calls={
        **{prompt: _told_as(prompt) for prompt in WORLD.tell_prompts},
        WORLD.phrase_prompt: PromptCalls(_phrase_calls, reading=420, writing=_phrased_tokens),
    },
    description=AssetDescription(
        group="worlds",
        description="The documents of each task: minutes, reports, letters, tables, news and reviews of an invented "
        "world, written by a model; or real documents with invented names in place of real ones. Filler is "
        "written likewise.",
        rows=preview_rows("documents", "role title text"),
        paper="MemGym",
    ),
)
