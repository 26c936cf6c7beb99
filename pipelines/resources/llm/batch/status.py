"""A batch job as its provider shows it, in the words of OpenAI: providers spell statuses and leave out parts as they like."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from openai.types import Batch

End = Literal["completed", "failed", "expired", "cancelled"]
ENDS: dict[str, End] = {
    "completed": "completed",
    "complete": "completed",
    "succeeded": "completed",
    "success": "completed",
    "ended": "completed",
    "finished": "completed",
    "done": "completed",
    "failed": "failed",
    "failure": "failed",
    "error": "failed",
    "expired": "expired",
    "timeout_exceeded": "expired",
    "cancelled": "cancelled",
    "canceled": "cancelled",
}
UNDER_WAY = {"validating", "queued", "pending", "in_progress", "running", "finalizing", "cancelling"}


@dataclass(frozen=True)
class BatchStatus:
    """`end` None: it is at work, or nobody knows. `errors`: code and message of each. `files`: those that hold results."""

    word: str
    end: End | None
    total: int
    done: int
    failed: int
    errors: tuple[tuple[str, str], ...]
    files: tuple[str, ...]

    @classmethod
    def of(cls, batch: "Batch") -> "BatchStatus":
        """Read what the provider answered, of which the client checks nothing."""
        fields = cast(dict[str, Any], batch.to_dict(warnings=False))
        word = str(fields.get("status") or "").lower().replace("-", "_")
        counts = _fields(fields.get("request_counts"))
        files = (fields.get("output_file_id"), fields.get("error_file_id"))
        status = cls(
            word=word or "unknown",
            end=ENDS.get(word),
            total=_count(counts.get("total")),
            done=_count(counts.get("completed")),
            failed=_count(counts.get("failed")),
            errors=tuple(_errors(fields)),
            files=tuple(name for name in files if isinstance(name, str) and name),
        )
        # Whatever it is called, a job that has worked on all its lines and says where the answers are has ended.
        all_there = status.files and 0 < status.total <= status.done + status.failed
        return replace(status, end="completed") if status.is_unknown and all_there else status

    @property
    def is_unknown(self) -> bool:
        """Return True for a word that says neither that it works nor that it has ended."""
        return self.end is None and self.word not in UNDER_WAY

    @property
    def lacks_its_files(self) -> bool:
        """Return True where lines were answered and no file with the answers is named, yet or for good."""
        return self.end == "completed" and self.done > 0 and not self.files


def _fields(value: object) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _errors(fields: dict[str, Any]) -> list[tuple[str, str]]:
    """Return code and message of each error, however they are packed."""
    given: object = fields.get("errors") or fields.get("error")
    listed: object = _fields(given).get("data", given)
    errors: list[tuple[str, str]] = []
    for error in cast(list[object], listed) if isinstance(listed, list) else [listed]:
        parts = _fields(error)
        if parts:
            errors.append((str(parts.get("code") or ""), str(parts.get("message") or "")))
        elif isinstance(error, str):
            errors.append(("", error))
    return errors
