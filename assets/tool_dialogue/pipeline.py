"""The benchmark of tool dialogues: a company's sessions, a request, a program that acts on it, and the tables of releases."""

from collections.abc import Sequence

from assets.memory_items.benchmark import AcceptedTask, by_acting, document_benchmark
from assets.memory_items.facts import Fact
from assets.memory_items.tables import document_tables
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.records.flat_tables import Table, flat_row, number
from assets.tool_dialogue.dialogue import ToolDialogue
from assets.tool_dialogue.domain import domain_in
from assets.tool_dialogue.domains import digest_of_domains
from assets.tool_dialogue.errands import act_by_program
from assets.tool_dialogue.records import ToolRequest, ToolTask
from assets.tool_dialogue.requests import TD_REQUESTS, settled_arguments

TABLES = document_tables(
    {
        "errands": Table(
            flat_row(
                ToolTask,
                "errand",
                "What the customer of a task asks for.",
                "task_id domain name customer person item stated settled said company",
            ),
            ("task_id",),
        ),
        "companies": Table(
            flat_row(
                ToolTask,
                "rows",
                "One row of the company's tables, as it is when the request comes.",
                "task_id",
                number("position", "its place among the rows, from 0"),
                "table values",
            ),
            ("task_id", "position"),
            group=("task_id",),
        ),
        "calls": Table(
            flat_row(
                ToolTask,
                "calls",
                "One of the right calls of a task.",
                "task_id",
                number("position", "its place among the calls, from 0"),
                "tool arguments",
            ),
            ("task_id", "position"),
            group=("task_id",),
        ),
    }
)


def with_digest_of_companies(recipe: ToolDialogueRecipe) -> ToolDialogueRecipe:
    """Return the recipe with the digest of its companies. Raises RecipeError where it names one that is not there."""
    return recipe.model_copy(update={"content": digest_of_domains(recipe.domains)})


async def passes_with(request: ToolRequest, facts: Sequence[Fact] | None) -> bool:
    """Let the program act with these facts, or do nothing; say whether the end is as was asked for."""
    dialogue = ToolDialogue(request)
    if facts is not None:
        act_by_program(dialogue, request.errand, settled_arguments(request.errand, facts, domain_in(request.company)))
    return not dialogue.failed_by


TOOL_DIALOGUE = document_benchmark(
    "td_",
    recipe=ToolDialogueRecipe,
    ask=TD_REQUESTS,
    certify=by_acting("the program that plans errands", passes_with),
    accept=AcceptedTask(record=ToolTask, tables=TABLES),
    resolve=with_digest_of_companies,
)
