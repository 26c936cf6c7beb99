"""Stage `dr_sources`: the documents of a task, written around their facts or renamed, and filler for its longest length."""

from assets.deep_research.corpus.renaming import renamed_sources
from assets.deep_research.fiction import WORLD
from assets.deep_research.records import TaskSources, TaskWorld
from assets.deep_research.worlds import DR_WORLDS, shared_clusters
from assets.engine.stage import PromptCalls, Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.world.filler import write_documents, written_per_task
from assets.memory_items.world.writing import DocumentWriter
from assets.recipe.deep_research import DeepResearchRecipe
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription


async def write_sources(world: TaskWorld, *, recipe: DeepResearchRecipe, model: LanguageModel) -> TaskSources:
    """Return the task's documents. Raises ItemFailed where the writer tells one of them otherwise than planned."""
    if world.sections:
        return renamed_sources(world, recipe=recipe)
    writer = DocumentWriter(WORLD, recipe, model)
    told = await write_documents(writer, shared_clusters(recipe), world)
    return TaskSources(task_id=world.task_id, documents=told.documents, filler=told.filler)


def _documents_per_task(recipe: DeepResearchRecipe) -> float:
    return written_per_task(recipe, spare=WORLD.spare_clusters)


DR_SOURCES = Stage(
    name="dr_sources",
    record=TaskSources,
    make=write_sources,
    version=16,
    needs=(DR_WORLDS,),
    prompts=(WORLD.write_prompt,),
    calls={WORLD.write_prompt: PromptCalls(_documents_per_task, reading=1800, writing=300)},
    description=AssetDescription(
        group="worlds",
        description="The documents of each task: letters, minutes, news, notices, memos and certificates of an invented "
        "world, each written by a model around its facts; or real documents with their names replaced."
        " Filler is what other tasks ask about.",
        rows=preview_rows("documents", "role title text"),
        paper="MemGym",
    ),
)
