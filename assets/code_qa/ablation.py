"""Stage `code_ablation`: readers read the final bytes with something left out, and each length gets its certificate."""

from assets.code_qa.lengths import CODE_LENGTHS
from assets.code_qa.questions import CODE_QUESTIONS
from assets.code_qa.recipe import CodeQaRecipe
from assets.code_qa.records.questions import CodeQuestion
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import READ
from assets.memory_items.final_ablation import certificate_rows, certify_lengths
from assets.memory_items.tasks import TaskAblation, TaskLengths
from assets.reporting.asset_description import AssetDescription


async def certify(question: CodeQuestion, lengths: TaskLengths, *, recipe: CodeQaRecipe, model: LanguageModel) -> TaskAblation:
    """Read every length as it will be released. Raises ItemFailed where a condition fails or could not be read."""
    return await certify_lengths(question, lengths, recipe=recipe, model=model)


CODE_ABLATION = Stage(
    name="code_ablation",
    record=TaskAblation,
    make=certify,
    needs=(CODE_QUESTIONS, CODE_LENGTHS),
    prompts=(READ,),
    description=AssetDescription(
        group="items",
        description="Readers answer from the final bytes: from nothing, from the facts, without each one of them, from the "
        "code shown with the question, from filler, from the last turns, from everything. An error never certifies.",
        rows=certificate_rows,
        paper="MemGym",
    ),
)
