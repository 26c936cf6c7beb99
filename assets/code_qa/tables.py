"""The flat tables of benchmarks around packages: what is shown, the package, its files and its calls."""

from assets.code_qa.records.questions import CodeTask, PackageTask
from assets.memory_items.tables import document_tables
from assets.records.flat_tables import Table, TableColumn, flat_row, number

SHOWN_CODE = Table(
    flat_row(
        CodeTask,
        "code",
        "Code of a package that is in sight together with a question, and never written to a memory.",
        "task_id",
        number("position", "its place among what is shown, from 0"),
        "title text",
    ),
    ("task_id", "position"),
    group=("task_id",),
)
PACKAGES = {
    "packages": Table(
        flat_row(
            PackageTask,
            "package",
            "The package that a question is about.",
            "task_id name version license content",
        ),
        ("task_id",),
        unread=frozenset({"name", "version", "license", "content"}),
    ),
    "files": Table(
        flat_row(
            PackageTask,
            "files",
            "One file of a package that the calls of a question take, as it was when they were run.",
            "task_id path module text content",
        ),
        ("task_id", "path"),
        scored=False,
    ),
    "behaviours": Table(
        flat_row(
            PackageTask,
            "behaviours",
            "A call that the notes of a question tell, what it came to, and what it comes to in changed functions.",
            "task_id behaviour_id function=symbol_id",
            TableColumn("call", str, "the call as one writes it", lambda place: place.record.call),
            "outcome=result.outcome result=result.text",
            TableColumn(
                "near_misses",
                tuple[str, ...],
                "what the call comes to when one place of the function is changed",
                lambda place: tuple(miss.result.text for miss in place.record.near_misses),
            ),
            TableColumn(
                "changes",
                tuple[str, ...],
                "what was changed for each of these",
                lambda place: tuple(miss.change for miss in place.record.near_misses),
            ),
        ),
        ("task_id", "behaviour_id"),
        scored=False,
    ),
}
PACKAGE_TABLES = document_tables(PACKAGES)
TABLES = document_tables({"shown_code": SHOWN_CODE, **PACKAGES})
