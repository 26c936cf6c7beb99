"""Stage `code_documents`: the notes that tell decisions and behaviours among others; a reader finds each of them again."""

from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.decisions import CODE_DECISIONS
from assets.code_qa.packages.vocabulary import code_vocabulary
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeDecisions, CodeDocuments
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import CODE_SOURCES
from assets.code_qa.team.world import TeamWorld
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.recovery import RECOVER
from assets.memory_items.told_documents import write_told_documents
from assets.memory_items.world.tellings import document_rows
from assets.recipe.code_qa import CodeQaRecipe
from assets.reporting.asset_description import AssetDescription, Row


async def write_notes(
    sources: CodeSources, behaviours: CodeBehaviours, decisions: CodeDecisions, *, recipe: CodeQaRecipe, model: LanguageModel
) -> CodeDocuments:
    """Return the question's notes and filler. Raises ItemFailed for unusable templates, or facts that no reader finds."""
    world = TeamWorld(sources, behaviours.behaviours, code_vocabulary(sources, recipe.packages))
    return await write_told_documents(
        CodeDocuments, world, task_id=sources.task_id, chain=decisions.chain, plans=decisions.plans, recipe=recipe, model=model
    )


def _rows(documents: CodeDocuments) -> list[Row]:
    return document_rows(documents.documents)


CODE_DOCUMENTS = Stage(
    name="code_documents",
    record=CodeDocuments,
    make=write_notes,
    version=4,
    needs=(CODE_SOURCES, CODE_BEHAVIOURS, CODE_DECISIONS),
    prompts=(*TeamWorld.tell_prompts, TeamWorld.phrase_prompt, RECOVER),
    description=AssetDescription(
        group="questions",
        description="The team's notes: bug reports, reviews, tickets, incident notes, commit messages and design notes, signed "
        "and dated. Each shows a call as it was run; a reader finds all that it states again in the final text.",
        rows=_rows,
        paper="MemGym",
    ),
)
