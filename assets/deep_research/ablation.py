"""Stage `dr_ablation`: readers read the final bytes with something left out, and each length gets its certificate."""

from assets.deep_research.lengths import DR_LENGTHS
from assets.deep_research.questions import DR_QUESTIONS
from assets.deep_research.recipe import DeepResearchRecipe
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import READ
from assets.memory_items.final_ablation import certificate_rows, certify_lengths
from assets.memory_items.tasks import TaskAblation, TaskLengths, TaskQuestion
from assets.reporting.asset_description import AssetDescription


async def certify(
    question: TaskQuestion, lengths: TaskLengths, *, recipe: DeepResearchRecipe, model: LanguageModel
) -> TaskAblation:
    """Read every length as it will be released. Raises ItemFailed where a condition fails or could not be read."""
    return await certify_lengths(question, lengths, recipe=recipe, model=model)


DR_ABLATION = Stage(
    name="dr_ablation",
    record=TaskAblation,
    make=certify,
    needs=(DR_QUESTIONS, DR_LENGTHS),
    prompts=(READ,),
    description=AssetDescription(
        group="items",
        description="Readers answer from the final bytes: from nothing, from the facts, without each one of them, from filler, "
        "from the last turns, from everything. What passes gets a certificate with its digest; an error never does.",
        rows=certificate_rows,
        paper="MemGym",
    ),
)
