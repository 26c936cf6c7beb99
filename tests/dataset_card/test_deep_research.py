"""A research task on the command line: each fact with the sentence that states it."""

from rich.console import Console

from dataset_card.memory_items import print_task
from tests.support.research_tasks import made_task


def test_a_task_is_told_with_its_facts_as_the_documents_state_them() -> None:
    task, console = made_task().instance, Console(width=200)
    with console.capture() as shown:
        print_task(console, task)

    told = shown.get()
    assert task.answer.value in told
    assert all(f"Fact {number}" in told and fact.value in told for number, fact in enumerate(task.hops, start=1))
    assert f"turn {len(task.lengths[0].turns) - 1}" in told
    assert "superseded" in told or "near miss" in told
