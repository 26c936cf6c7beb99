"""Stage `td_lengths`: the sessions in turns, at each length, with sessions of other customers as filler."""

from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.lengths import length_rows
from assets.memory_items.tasks import TaskLengths
from assets.memory_items.told_documents import arrange_documents
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.reporting.asset_description import AssetDescription
from assets.tool_dialogue.records import ToolRequest, ToolSessions, ToolWorld
from assets.tool_dialogue.requests import TD_REQUESTS
from assets.tool_dialogue.sessions import TD_SESSIONS
from assets.tool_dialogue.worlds import TD_WORLDS


async def arrange_sessions(
    world: ToolWorld, sessions: ToolSessions, request: ToolRequest, *, recipe: ToolDialogueRecipe, model: LanguageModel
) -> TaskLengths:
    """Arrange the sessions in turns, then add filler up to each length. Raises ItemFailed where a length cannot be met."""
    return arrange_documents(sessions, request, rival_first=world.rival_first, recipe=recipe)


TD_LENGTHS = Stage(
    name="td_lengths",
    record=TaskLengths,
    make=arrange_sessions,
    needs=(TD_WORLDS, TD_SESSIONS, TD_REQUESTS),
    description=AssetDescription(
        group="items",
        description="Each task's sessions in turns, at every length, counted by what a memory receives. Filler is sessions of "
        "the same company with other customers.",
        rows=length_rows,
        paper="MemGym",
    ),
)
