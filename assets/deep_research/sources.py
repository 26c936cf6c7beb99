"""Stage `dr_sources`: the documents of a task, told by a writer or renamed, and filler enough for its longest length."""

from assets.deep_research.corpus.renaming import renamed_sources
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.facts import TaskSources
from assets.deep_research.records.world import TaskWorld
from assets.deep_research.world.relations import WORLD
from assets.deep_research.worlds import DR_WORLDS
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.world.tellings import ask_tellings, told_filler
from assets.reporting.asset_description import AssetDescription, Row

SPARE_TOKENS = 4000  # of filler, beside a tenth of the longest length: some of it may hold an answer by chance


async def tell_sources(world: TaskWorld, *, recipe: DeepResearchRecipe, model: LanguageModel) -> TaskSources:
    """The task's documents. Raises ItemFailed where the writer's templates cannot be used."""
    if world.sections:
        return renamed_sources(world, recipe=recipe)
    style = SeededRandom(recipe.seed, world.task_id, "style").integer_below(recipe.num_styles)
    tellings = await ask_tellings(WORLD, recipe=recipe, style=style, count=recipe.num_tellings, model=model)
    path = (recipe.seed, world.task_id, "telling")
    filler = told_filler(
        tellings,
        sizes=(recipe.min_hops, recipe.max_hops),
        wanted=round(1.1 * recipe.lengths[-1]) + SPARE_TOKENS,
        path=(recipe.seed, world.task_id),
        taken=frozenset(name for hop in world.chain for name in (hop.subject, hop.value)),
    )
    return TaskSources(
        task_id=world.task_id,
        documents=tuple(tellings.document(plan, role=plan.role, path=path) for plan in world.plans),
        filler=tuple(filler),
    )


def _rows(sources: TaskSources) -> list[Row]:
    return [{"role": one.role, "title": one.title, "text": one.text} for one in sources.documents]


DR_SOURCES = Stage(
    name="dr_sources",
    record=TaskSources,
    make=tell_sources,
    needs=(DR_WORLDS,),
    prompts=(WORLD.tell_prompt, WORLD.phrase_prompt),
    description=AssetDescription(
        group="worlds",
        description="The documents of each task. A writer tells an invented world in documents of several kinds; names of real "
        "documents are replaced by invented ones, everywhere at once. Filler is told in the same way.",
        rows=_rows,
        paper="MemGym",
    ),
)
