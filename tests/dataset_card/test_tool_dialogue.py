"""A tool dialogue on the command line: its right calls, and what was settled."""

from rich.console import Console

from dataset_card.tool_dialogue import print_task
from tests.support.tool_dialogues import made_dialogue


def test_a_tool_dialogue_is_told_with_its_right_calls_and_what_was_settled() -> None:
    task, console = made_dialogue().instance, Console(width=400)
    with console.capture() as shown:
        print_task(console, task)

    told = shown.get()
    assert all(call.text in told for call in task.calls)
    assert all(fact.value in told for fact in task.hops if fact.kind != "date")
    assert f"The customer is told: {', '.join(task.said)}" in told
