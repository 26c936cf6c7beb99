"""`releases.json`: which commit and digest a tag stood for when it was published or first read from here."""

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from dataset_card.hub.port import HubError


class ReleaseRecord(BaseModel):
    """One tag of one repository. `digest` is that of the manifest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: str
    repo: str
    tag: str
    commit: str
    digest: str


RECORDS = TypeAdapter(list[ReleaseRecord])


class ReleaseRecords:
    """The file of records, replaced as a whole; several processes may write to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def find(self, endpoint: str, *, repo: str, tag: str) -> ReleaseRecord | None:
        """What is known of a tag."""
        wanted = (endpoint, repo.casefold(), tag)
        return next((record for record in self.all() if _key(record) == wanted), None)

    def keep(self, record: ReleaseRecord) -> None:
        """Add the record, or put it in the place of the one for the same tag."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._alone():
            others = [other for other in self.all() if _key(other) != _key(record)]
            content = [line.model_dump() for line in sorted([*others, record], key=_key)]
            draft = self.path.with_suffix(f".{os.getpid()}.tmp")
            draft.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
            draft.replace(self.path)

    def all(self) -> list[ReleaseRecord]:
        """All records. Raises HubError when the file is damaged."""
        try:
            return RECORDS.validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return []
        except ValidationError as error:
            raise HubError(f"{self.path} cannot be read as the record of releases; mend it or move it away.") from error

    @contextmanager
    def _alone(self) -> Generator[None, None, None]:
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _key(record: ReleaseRecord) -> tuple[str, str, str]:
    return record.endpoint, record.repo.casefold(), record.tag


def missing_tag(repo: str, *, tag: str, known: ReleaseRecord | None) -> str:
    """One sentence on a tag that is not there, or no longer."""
    if known is None:
        return f"{repo} has no tag {tag!r}, or it is hidden from this token."
    return (
        f"{repo} has lost its tag {tag}, which was at commit {known.commit[:12]}: publish that release again to put it back, "
        f"or read {repo}@{known.commit} if it still exists."
    )


def moved_tag(place: str, *, commit: str, before: str) -> str:
    """One sentence on a tag that stands for another commit than before. `place` is OWNER/NAME@TAG."""
    return (
        f"{place} was commit {before[:12]} and is now {commit[:12]}: the tag was moved, so ask its owner for a new "
        f"version, or read {place.partition('@')[0]}@{before} if it still exists."
    )
