"""Stage `dr_sources`: the documents of a task, told by a writer or renamed, and filler enough for its longest length."""

from collections.abc import Iterator

from assets.deep_research.corpus.renaming import renamed_sources
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.facts import SourceDocument, TaskSources
from assets.deep_research.records.world import TaskWorld
from assets.deep_research.world.clusters import make_cluster
from assets.deep_research.world.tellings import PHRASE, TELL, Tellings, ask_tellings
from assets.deep_research.worlds import DR_WORLDS
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.llm.text import count_tokens
from assets.reporting.asset_description import AssetDescription, Row

SPARE_TOKENS = 4000  # of filler, beside a tenth of the longest length: some of it may hold an answer by chance


async def tell_sources(world: TaskWorld, *, recipe: DeepResearchRecipe, model: LanguageModel) -> TaskSources:
    """The task's documents. Raises ItemFailed where the writer's templates cannot be used."""
    if world.sections:
        return renamed_sources(world, recipe=recipe)
    style = SeededRandom(recipe.seed, world.task_id, "style").integer_below(recipe.num_styles)
    tellings = await ask_tellings(recipe, style=style, count=recipe.num_tellings, model=model)
    path = (recipe.seed, world.task_id, "telling")
    return TaskSources(
        task_id=world.task_id,
        documents=tuple(tellings.document(plan, role=plan.role, path=path) for plan in world.plans),
        filler=tuple(_filler(world, tellings, recipe=recipe)),
    )


def _filler(world: TaskWorld, tellings: Tellings, *, recipe: DeepResearchRecipe) -> Iterator[SourceDocument]:
    """Documents of other clusters, told like the task's own, in clusters until there is enough for the longest length."""
    wanted = round(1.1 * recipe.lengths[-1]) + SPARE_TOKENS
    taken = frozenset(name for hop in world.chain for name in (hop.subject, hop.value))
    number = tokens = 0
    while tokens < wanted:
        path = (recipe.seed, world.task_id, "filler", number)
        hops = recipe.min_hops + SeededRandom(*path, "hops").integer_below(recipe.max_hops - recipe.min_hops + 1)
        cluster = make_cluster(hops, path=path, taken=taken)
        for plan in SeededRandom(*path, "order").shuffled(cluster.plans):
            document = tellings.document(plan, role="filler", path=path)
            tokens += count_tokens(f"{document.title}\n\n{document.text}")
            yield document
        number += 1


def _rows(sources: TaskSources) -> list[Row]:
    return [{"role": one.role, "title": one.title, "text": one.text} for one in sources.documents]


DR_SOURCES = Stage(
    name="dr_sources",
    record=TaskSources,
    make=tell_sources,
    needs=(DR_WORLDS,),
    prompts=(TELL, PHRASE),
    description=AssetDescription(
        group="worlds",
        description="The documents of each task. A writer tells an invented world in documents of several kinds; names of real "
        "documents are replaced by invented ones, everywhere at once. Filler is told in the same way.",
        rows=_rows,
        paper="MemGym",
    ),
)
