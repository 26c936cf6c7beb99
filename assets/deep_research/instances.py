"""Stage `dr_instances`: the accepted tasks, which are what is released."""

from assets.deep_research.ablation import DR_ABLATION
from assets.deep_research.lengths import DR_LENGTHS
from assets.deep_research.questions import DR_QUESTIONS
from assets.deep_research.recipe import DeepResearchRecipe
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.final_ablation import accepted_rows, expect_certified
from assets.memory_items.tasks import MemoryTask, TaskAblation, TaskLengths, TaskQuestion
from assets.reporting.asset_description import AssetDescription


async def accept(
    question: TaskQuestion,
    lengths: TaskLengths,
    ablation: TaskAblation,
    *,
    recipe: DeepResearchRecipe,
    model: LanguageModel,
) -> MemoryTask:
    """The task, if each length is still what its certificate stands for; else ItemFailed."""
    task = MemoryTask(
        task_id=question.task_id,
        question=question.question,
        answer=question.answer,
        hops=question.hops,
        eviction=recipe.eviction,
        lengths=lengths.lengths,
        certificates=ablation.certificates,
    )
    expect_certified(task)
    return task


DR_INSTANCES = Stage(
    name="dr_instances",
    record=MemoryTask,
    make=accept,
    needs=(DR_QUESTIONS, DR_LENGTHS, DR_ABLATION),
    description=AssetDescription(
        group="items",
        description="The accepted tasks: question, typed answer, chain, and the documents at each length with its certificate. "
        "They are the rows of a release.",
        rows=accepted_rows,
        paper="MemGym",
    ),
)
