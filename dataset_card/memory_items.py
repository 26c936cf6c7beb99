"""The parts of releases of tasks with documents in turns beside items and tables: a card with ablation, lengths and funnel."""

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.panel import Panel

from assets.engine.benchmark import Benchmark
from assets.memory_items.documents import TOKENIZER
from assets.memory_items.final_ablation import stating_document
from assets.memory_items.tasks import MemoryTask
from assets.reporting.text_table import print_table
from dataset_card.release.content import ReleaseFormat, no_authors
from dataset_card.reported import ReportedExtras
from validation.memory_items.report import render_document_page

COUNTED_BY = {"tokens": TOKENIZER}


class MemoryItemsExtras(ReportedExtras):
    """The card and the quality report of tasks with documents in turns."""

    template = "items_card.md.j2"
    render_report = staticmethod(render_document_page)


def document_release(
    benchmark: Benchmark,
    *,
    about: str,
    attribution: Callable[[Any], str] = no_authors,
) -> ReleaseFormat:
    """Return how releases of a benchmark of documents look."""
    return ReleaseFormat(
        benchmark,
        extras=MemoryItemsExtras,
        about=about,
        attribution=attribution,
        reported=True,
        counted_by=COUNTED_BY,
        card_description="The README of the release: computed facts in a written template, under the header that the Hub "
        "reads. It tells how certificates came out, what was replaced and why, and the licenses of what documents are made of.",
    )


def print_task(console: Console, task: MemoryTask, *, brief: bool = False) -> None:  # brief or not, a task is short
    """Print a task's question and answer, the facts that it needs with their documents, and the turns of its shortest form."""
    misses = ", ".join(task.answer.near_misses) or "none"
    answer = f"{task.answer.value} ({task.answer.kind}; near misses: {misses})"
    console.print(Panel(f"{task.introduction}\n\n{task.question}\n\n{answer}".lstrip(), title=task.task_id))
    print_facts_and_turns(console, task)


def print_facts_and_turns(console: Console, task: MemoryTask) -> None:
    """Print the facts of a task with the documents that state them, its lengths, and the turns of its shortest form."""
    shortest = task.lengths[0]
    documents = list(shortest.documents)
    for number, fact in enumerate(task.hops, start=1):
        told = stating_document(fact, documents)
        console.print(f"[bold]Fact {number}[/bold]: {fact.phrase.format(x=fact.subject)}: {fact.value}", highlight=False)
        console.print(f"  {told.title}: {told.text}", highlight=False, markup=False)
    lengths = ", ".join(f"{sized.tokens:,} of {sized.target_tokens:,}" for sized in task.lengths)
    console.print(f"Lengths in tokens, as received and as wanted: {lengths}. At the shortest:", highlight=False)
    for number, turn in enumerate(shortest.turns):
        rows: list[tuple[str, ...]] = []
        for document in turn.documents:
            rows.append((document.title, document.role.replace("_", " "), f"{document.tokens:,}"))
        print_table(console, ("document", "there as", "tokens"), rows, title=f"turn {number}")
