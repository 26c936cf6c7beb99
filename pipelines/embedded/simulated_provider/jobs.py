"""A batch job of the simulated provider: its lines, how far it is, and its two result files."""

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Scope

from pipelines.embedded.simulated_provider.exchange import CHAT, Answer

MOST_LINES = 50_000
TOO_LATE = {"code": "batch_expired", "message": "The request was not executed before the completion window ended."}


class BadBatch(ValueError):
    """An input file that cannot be worked on, with the number of the line."""

    def __init__(self, code: str, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.code, self.line = code, line


@dataclass
class Line:
    """One request of a batch. `answer` None once the job has ended: it was not done in time."""

    custom_id: str
    body: bytes
    answer: Answer | None = None


@dataclass
class Job:
    """One batch. `scope` is that of the request that made it; the lines are asked under its key."""

    id: str
    file_id: str
    metadata: dict[str, str]
    scope: Scope
    lines: list[Line] = field(default_factory=list[Line])
    done: int = 0
    status: str = "in_progress"
    files: dict[str, str] = field(default_factory=dict[str, str])
    errors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    created: int = field(default_factory=lambda: int(time.time()))
    began: float = field(default_factory=time.monotonic)
    worked_on: bool = False

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.status != "in_progress"

    def due(self, delay: float) -> int:
        """How many lines should be done by now; the work is spread evenly over the delay in seconds."""
        share = min(1.0, (time.monotonic() - self.began) / delay) if delay else 1.0
        return int(share * len(self.lines))

    def fail(self, bad: BadBatch) -> None:
        """End it before any work."""
        self.status = "failed"
        self.errors.append({"code": bad.code, "message": str(bad), "line": bad.line, "param": None})

    def results(self, status: str) -> dict[str, bytes]:
        """Content of the output and the error file when the job ends like this."""
        output, error = list[dict[str, Any]](), list[dict[str, Any]]()
        for number, line in enumerate(self.lines):
            entry = {"id": f"batch_req_{number:06d}", "custom_id": line.custom_id, "response": None, "error": None}
            if line.answer is not None:
                body = {"status_code": line.answer.status, "request_id": entry["id"], "body": line.answer.content}
                (output if line.answer.status == 200 else error).append({**entry, "response": body})
            elif status == "expired":
                error.append({**entry, "error": TOO_LATE})
        return {"output_file_id": _jsonl(output), "error_file_id": _jsonl(error)}

    def public(self) -> dict[str, Any]:
        """As the API shows it."""
        good = sum(line.answer is not None and line.answer.status == 200 for line in self.lines)
        late = self.ended and self.status != "failed"
        failed = (len(self.lines) if late else self.done) - good
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": CHAT,
            "errors": {"object": "list", "data": self.errors} if self.errors else None,
            "input_file_id": self.file_id,
            "completion_window": "24h",
            "status": self.status,
            "output_file_id": self.files.get("output_file_id"),
            "error_file_id": self.files.get("error_file_id"),
            "created_at": self.created,
            "request_counts": {"total": len(self.lines), "completed": good, "failed": max(0, failed)},
            "metadata": self.metadata,
        }


def parse(content: bytes) -> list[Line]:
    """The requests of an input file. Raises BadBatch."""
    rows = [row for row in content.split(b"\n") if row.strip()]
    if not rows or len(rows) > MOST_LINES:
        raise BadBatch("invalid_file", f"A batch has from 1 to {MOST_LINES} lines, not {len(rows)}.")
    entries = [_entry(row, number) for number, row in enumerate(rows, start=1)]
    repeated = [name for name, times in Counter(entry["custom_id"] for entry in entries).items() if times > 1]
    if repeated:
        raise BadBatch("duplicate_custom_id", f"The custom_id {repeated[0]!r} is there twice.")
    if len({entry["body"].get("model") for entry in entries}) > 1:
        raise BadBatch("mismatched_model", "All requests of a batch go to one model.")
    return [Line(entry["custom_id"], json.dumps(entry["body"], ensure_ascii=False).encode()) for entry in entries]


def _entry(row: bytes, number: int) -> dict[str, Any]:
    try:
        entry: Any = json.loads(row)
        right = (entry["method"], entry["url"]) == ("POST", CHAT) and entry["custom_id"] and isinstance(entry["body"], dict)
    except (ValueError, KeyError, TypeError) as error:
        raise BadBatch("invalid_json_line", "The line is not a JSON object with the four keys.", line=number) from error
    if not right:
        raise BadBatch("invalid_method_or_url", f"The line is not a POST to {CHAT}.", line=number)
    return entry


def _jsonl(entries: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(entry, ensure_ascii=False).encode() + b"\n" for entry in entries)
