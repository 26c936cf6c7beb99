"""The flat tables of tasks over documents; a benchmark adds those of its own records."""

from collections.abc import Mapping

from assets.memory_items.tasks import MemoryTask
from assets.records.common_tables import FailureRow, GateVoteRow
from assets.records.flat_tables import ItemPath, Table, TableColumn, flat_row, number


def _tokens(place: ItemPath) -> int:
    """Return the length that a certificate is of."""
    task: MemoryTask = place.records[0]
    return task.lengths[place.numbers[1]].tokens


SCORED: Mapping[str, Table] = {
    "tasks": Table(
        flat_row(
            MemoryTask,
            "",
            "One task: the question that comes after all turns, and its answer.",
            "task_id introduction question answer=answer.value answer_kind=answer.kind",
            "options=answer.options near_misses=answer.near_misses",
            TableColumn("hops", int, "how many facts the answer takes", lambda place: len(place.record.hops)),
            "operation",
            TableColumn("starts", tuple[str, ...], "the names in the question", lambda place: place.record.names_in_question),
            TableColumn(
                "eviction",
                str,
                "full: all is out of view when the question comes; window: the last turns are still in view",
                lambda place: place.record.eviction.mode,
            ),
            TableColumn(
                "window_turns", int, "how many turns are still in view", lambda place: place.record.eviction.visible_turns
            ),
        ),
        ("task_id",),
        unread=frozenset({"near_misses", "operation", "starts", "hops"}),
    ),
    "hops": Table(
        flat_row(
            MemoryTask,
            "hops",
            "One fact that the answer takes; `hop` counts from 1. It is in the document's text, from `start` to before `end`.",
            "task_id",
            number("hop", "which of the facts that the answer takes, from 1", first=1),
            "fact_id subject relation phrase value document_id start end",
        ),
        ("task_id", "hop"),
        group=("task_id",),
    ),
    "documents": Table(
        flat_row(
            MemoryTask,
            "documents",
            "One document of a task, whatever lengths it is part of. A memory receives title, an empty line, and text.",
            "task_id document_id title text role facts source license",
        ),
        ("task_id", "document_id"),
        unread=frozenset({"role", "facts", "source", "license"}),
    ),
    "placements": Table(
        flat_row(
            MemoryTask,
            "lengths.turns.documents",
            "The place of a document at one length: `turn` and `position` in it count from 0.",
            "task_id target_tokens",
            number("turn", "in which turn it comes, from 0", of=2),
            number("position", "its place in the turn, from 0"),
            "document_id",
        ),
        ("task_id", "target_tokens", "turn", "position"),
        group=("task_id", "target_tokens"),
    ),
}
UNSCORED: Mapping[str, Table] = {
    "conditions": Table(
        flat_row(
            MemoryTask,
            "certificates.outcomes",
            "One condition of a length's certificate: how many readings were right.",
            "task_id target_tokens condition expected outcome readings right errors",
            TableColumn("tokens", int, "the length of what a memory receives", _tokens),
            "digest",
        ),
        ("task_id", "target_tokens", "condition"),
        scored=False,
    ),
    "gate_records": Table(GateVoteRow, ("user_id", "number"), scored=False),
    "failures": Table(FailureRow, ("user_id",), scored=False),
}


def document_tables(own: Mapping[str, Table] | None = None) -> dict[str, Table]:
    """Return the tables of a benchmark of documents, its `own` ones among them."""
    return {**SCORED, **(own or {}), **UNSCORED}
