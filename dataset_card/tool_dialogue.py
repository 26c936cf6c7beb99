"""The parts of releases of tool dialogues beside items and tables."""

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from assets.tool_dialogue.pipeline import TOOL_DIALOGUE
from assets.tool_dialogue.records import ToolTask
from dataset_card.memory_items import document_release, print_facts_and_turns

TOOL_DIALOGUE_RELEASE = document_release(
    TOOL_DIALOGUE,
    about="Tool dialogues for testing memory. An agent gets a customer's request, tools that run on a company's tables, and "
    "what a memory recalls. Some arguments of the right calls were settled in earlier sessions and are nowhere else. A task "
    "is graded by the company's rows in the end and by the message that tells the customer what was made and asked for.",
)


def print_task(console: Console, task: ToolTask, *, brief: bool = False) -> None:  # brief or not, a task is short
    """Print a task's request and the right calls, the facts that they need with their documents, and its shortest form."""
    calls = "\n".join(call.text for call in task.calls)
    console.print(
        Panel(Text(f"{task.question}\n\n{calls}\n\nThe customer is told: {', '.join(task.said)}"), title=task.task_id)
    )
    print_facts_and_turns(console, task)
