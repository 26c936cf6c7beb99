"""The benchmark of tool dialogues: its stages, each of which is entered here, and the tables of its releases."""

from assets.engine.benchmark import Benchmark
from assets.memory_items.report import MemoryItemsReport
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.tool_dialogue.domains import digest_of_domains
from assets.tool_dialogue.instances import TD_CERTIFICATES, TD_INSTANCES
from assets.tool_dialogue.lengths import TD_LENGTHS
from assets.tool_dialogue.requests import TD_REQUESTS
from assets.tool_dialogue.sessions import TD_SESSIONS
from assets.tool_dialogue.tables import TABLES, tool_task_rows
from assets.tool_dialogue.worlds import TD_WORLDS


def with_digest_of_companies(recipe: ToolDialogueRecipe) -> ToolDialogueRecipe:
    """Return the recipe with the digest of its companies. Raises RecipeError where it names one that is not there."""
    return recipe.model_copy(update={"content": digest_of_domains(recipe.domains)})


TOOL_DIALOGUE = Benchmark(
    name="tool_dialogue",
    noun="task",
    recipe=ToolDialogueRecipe,
    resolve=with_digest_of_companies,
    stages=(TD_WORLDS, TD_SESSIONS, TD_REQUESTS, TD_LENGTHS, TD_CERTIFICATES, TD_INSTANCES),
    tables=TABLES,
    rows=tool_task_rows,
    report=MemoryItemsReport,
    prefix="td_",
)
