"""The benchmark of tool dialogues: its stages, each of which is entered here, and the tables of its releases."""

from assets.engine.benchmark import Benchmark
from assets.memory_items.report import MemoryItemsReport
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.tool_dialogue.domains import domain_named
from assets.tool_dialogue.instances import TD_CERTIFICATES, TD_INSTANCES
from assets.tool_dialogue.lengths import TD_LENGTHS
from assets.tool_dialogue.requests import TD_REQUESTS
from assets.tool_dialogue.sessions import TD_SESSIONS
from assets.tool_dialogue.tables import TABLES, tool_task_rows
from assets.tool_dialogue.worlds import TD_WORLDS


def with_known_domains(recipe: ToolDialogueRecipe) -> ToolDialogueRecipe:
    """Return the recipe. Raises RecipeError where it names a company that is not there."""
    for name in recipe.domains:
        domain_named(name)
    return recipe


TOOL_DIALOGUE = Benchmark(
    name="tool_dialogue",
    noun="task",
    recipe=ToolDialogueRecipe,
    resolve=with_known_domains,
    stages=(TD_WORLDS, TD_SESSIONS, TD_REQUESTS, TD_LENGTHS, TD_CERTIFICATES, TD_INSTANCES),
    tables=TABLES,
    rows=tool_task_rows,
    report=MemoryItemsReport,
    prefix="td_",
)
