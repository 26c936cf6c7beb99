"""Rows of snapshots that are quick to make, and a snapshot of them."""

from collections.abc import Sequence
from pathlib import Path

from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import Question, QuestionSet, RequiredInfo
from assets.amemgym.records.user import UserRecord
from assets.engine.ports import SnapshotRef
from assets.engine.serialized_record import SerializedRecord, serialize_record, serialized_rows
from assets.records.base import Failure
from pipelines.resources.storage.file_store import LocalFiles
from pipelines.resources.storage.snapshots import ParquetSnapshots

FAILURE = Failure(item_id="u1", position=1, stage="questions", reason="refused", message="Nein.", last_reply="…")


def questions(position: int, text: str = "Was nun?") -> QuestionSet:
    info = RequiredInfo(info_type="diät", info_choices=("vegan", "'alles'"))
    return QuestionSet(user_id=f"u{position}", questions=(Question(question_id="q1", text=text, required_info=(info,)),))


def profile(position: int) -> UserProfile:
    fields = {name: "x" for name in UserProfile.model_fields if name not in ("user_id", "age", "cast")}
    return UserProfile.model_validate({**fields, "user_id": f"u{position}", "age": 40})


def rows(*positions: int, text: str = "Was nun?") -> list[tuple[int, SerializedRecord[UserRecord]]]:
    return [(position, serialize_record(questions(position, text))) for position in positions]


def write(
    store: ParquetSnapshots, parts: Sequence[Sequence[int]], *, text: str = "Was nun?", unit: str = "demo"
) -> SnapshotRef:
    writer = store.writer("questions", unit=unit)
    for part in parts:
        writer.add("questions", rows(*part, text=text))
    writer.add("user_profiles", serialized_rows([(4, profile(4))]))
    return writer.finish([FAILURE])


def folder_of(store: ParquetSnapshots) -> Path:
    assert isinstance(store.files, LocalFiles)
    return store.files.root
