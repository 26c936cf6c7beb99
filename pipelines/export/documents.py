"""A release as documents and questions, for harnesses that ingest and ask: Parquet and JSONL, and what is lost that way.

A question may go by the documents of its group until its period alone. On AMemGym a group is a user, a document the message
that opens a session, and a question is asked after every period. On documents in turns a group is a task at one length, its
periods are the turns, and the question comes after the last. Whoever ingests everything first needs a namespace for each group
and period.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assets.entry_points import EntryPointGroup
from assets.records.base import Record
from assets.reporting.plurals import counted
from dataset_card.release.writers import write_durably
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import write_table
from pipelines.evaluation.run import BenchmarkTasks, DatasetInfo
from pipelines.export.folders import PAGE, check_free
from pipelines.export.rows import ExportedDocument, ExportedQuestion

FILES = {PAGE, "documents.parquet", "documents.jsonl", "questions.parquet", "questions.jsonl"}


@dataclass(frozen=True)
class Export:
    """Documents of a data set, and questions or acted tasks. `lost`: sentences on what is not in them."""

    lost: str
    documents: list[ExportedDocument] = field(default_factory=list[ExportedDocument])
    questions: list[ExportedQuestion] = field(default_factory=list[ExportedQuestion])
    dialogues: list[Record] = field(default_factory=list[Record])


# Of tasks of each benchmark that has documents and questions.
EXPORTED_BENCHMARKS = EntryPointGroup[Callable[[Any], Export]]("amemgym.exported_benchmarks")


def write_release_documents(tasks: BenchmarkTasks, folder: Path) -> list[str]:
    """Write both tables and a page on them, and say what was written and lost. Raises what `export_tasks` raises."""
    export = export_tasks(tasks, folder)
    documents = counted(len(export.documents), "document")
    questions = counted(len(export.questions), "question")
    return [f"{documents} and {questions} of {tasks.info.name} are in {folder}.", export.lost]


def export_tasks(tasks: BenchmarkTasks, folder: Path) -> Export:
    """Write both tables and a page on them, and return what was written.

    Raises EvaluationError for a folder that holds anything but an earlier export, and for tasks of a benchmark that names no
    export. Raises OSError.
    """
    check_free(folder, FILES)
    export = exported_questions(tasks)
    # Made last, so that nothing is left where an export is refused.
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, "documents", export.documents, kind=ExportedDocument)
    _write(folder, "questions", export.questions, kind=ExportedQuestion)
    write_durably(folder / PAGE, _page(tasks.info, export).encode())
    return export


def exported_questions(tasks: BenchmarkTasks) -> Export:
    """Return the tasks as documents and questions. Raises EvaluationError for a benchmark that is acted."""
    export = exported_view(tasks)
    if export.dialogues:
        raise EvaluationError(
            f"{tasks.info.name} cannot be exported as questions, because its tasks are acted; give --as traces or verifiers."
        )
    return export


def exported_view(tasks: BenchmarkTasks) -> Export:
    """Return the tasks as documents with what is asked or acted on. Raises EvaluationError for a world of others."""
    export = EXPORTED_BENCHMARKS.get(tasks.info.benchmark)
    if export is None:
        raise EvaluationError(f"{tasks.info.name} is a world of others, which cannot be exported.")
    return export(tasks)


def _write(folder: Path, name: str, rows: Sequence[Record], *, kind: type[Record]) -> None:
    write_table(folder / f"{name}.parquet", rows, kind=kind)
    lines = [f"{row.model_dump_json()}\n" for row in rows]
    write_durably(folder / f"{name}.jsonl", "".join(lines).encode())


def _page(info: DatasetInfo, export: Export) -> str:
    parts = [f"# {info.name} for other harnesses", export.lost, f"Digest of the data set: `{info.digest}`."]
    parts.append(_columns("documents", ExportedDocument))
    parts.append(_columns("questions", ExportedQuestion))
    return "\n\n".join(parts) + "\n"


def _columns(name: str, kind: type[Record]) -> str:
    lines = [f"## `{name}.parquet`, `{name}.jsonl`", "", "| column | holds |", "|---|---|"]
    for column, described in kind.model_fields.items():
        lines.append(f"| `{column}` | {described.description} |")
    return "\n".join(lines)


def export_id(group: str, period: int, number: int) -> str:
    """Return the id of the document of this number in a period or session of a group."""
    return f"{group}/{period:02}/{number:02}"
