"""Stage `code_lengths`: the notes in turns, at each length, with filler that holds no answer."""

from assets.code_qa.documents import CODE_DOCUMENTS
from assets.code_qa.questions import CODE_QUESTIONS
from assets.code_qa.records.questions import CodeDocuments, CodeQuestion
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import CODE_SOURCES
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.lengths import length_rows
from assets.memory_items.tasks import TaskLengths
from assets.memory_items.told_documents import arrange_documents
from assets.recipe.code_qa import CodeQaRecipe
from assets.reporting.asset_description import AssetDescription


async def arrange_notes(
    sources: CodeSources, documents: CodeDocuments, question: CodeQuestion, *, recipe: CodeQaRecipe, model: LanguageModel
) -> TaskLengths:
    """Arrange the notes in turns, then add filler up to each length. Raises ItemFailed where a length cannot be met."""
    return arrange_documents(documents, question, rival_first=sources.rival_first, recipe=recipe)


CODE_LENGTHS = Stage(
    name="code_lengths",
    record=TaskLengths,
    make=arrange_notes,
    version=2,
    needs=(CODE_SOURCES, CODE_DOCUMENTS, CODE_QUESTIONS),
    description=AssetDescription(
        group="items",
        description="Each question's notes in turns, at every length, counted by what a memory receives. Filler is notes "
        "of the same team on the same package that hold nothing of the chain.",
        rows=length_rows,
        paper="MemGym",
    ),
)
