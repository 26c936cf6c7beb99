"""Stages `cr_sessions`, in which a team's earlier sessions are told, and `cr_lengths`: the sessions at each length."""

from assets.code_qa.documents import CODE_DOCUMENTS
from assets.code_qa.packages.vocabulary import code_vocabulary
from assets.code_qa.records.questions import CodeDocuments
from assets.code_qa.records.sources import CodeSources
from assets.code_repair.mutants import CR_MUTANTS
from assets.code_repair.records import SeededFault
from assets.code_repair.sources import CR_SOURCES
from assets.code_repair.team import RepairWorld
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.told_documents import write_told_documents
from assets.memory_items.world.tellings import document_rows
from assets.recipe.code_repair import CodeRepairRecipe
from assets.reporting.asset_description import AssetDescription, Row


async def tell_team_sessions(
    sources: CodeSources, seeded: SeededFault, *, recipe: CodeRepairRecipe, model: LanguageModel
) -> CodeDocuments:
    """Return the team's sessions and filler. Raises ItemFailed for unusable templates, or facts that no reader finds."""
    world = RepairWorld(sources, seeded.repair, seeded.behaviours, code_vocabulary(sources, recipe.packages))
    return await write_told_documents(
        CodeDocuments, world, task_id=seeded.task_id, chain=seeded.chain, plans=seeded.plans, recipe=recipe, model=model
    )


def _rows(sessions: CodeDocuments) -> list[Row]:
    return document_rows(sessions.documents)


CR_SESSIONS = Stage(
    name="cr_sessions",
    record=CodeDocuments,
    make=tell_team_sessions,
    needs=(CR_SOURCES, CR_MUTANTS),
    prompts=CODE_DOCUMENTS.prompts,
    description=AssetDescription(
        group="sessions",
        description="The team's sessions, signed and dated: rules of functions, what they replaced, proposals, "
        "and calls with their output, which were really run. A reader finds each rule again.",
        rows=_rows,
        paper="MemGym",
    ),
)
