"""The flat tables of tool dialogues: those of every task over documents, the company's rows, and the right calls."""

from assets.memory_items.tables import document_tables
from assets.records.flat_tables import Table, flat_row, number
from assets.tool_dialogue.records import ToolTask

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
