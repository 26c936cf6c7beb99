"""`releases.json`: which commit and digest a tag had when it was published or first read from here."""

import fcntl
import json
from collections.abc import Collection, Generator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from assets.whole_files import whole_file
from dataset_card.errors import HubError
from dataset_card.hub.layout import newest_first, variant_of_tag

MOST_NAMED = 5  # tags in one sentence


class TagEntry(BaseModel):
    """One tag of one repository. `digest` is that of the manifest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: str
    repo: str
    tag: str
    commit: str
    digest: str


ENTRIES = TypeAdapter(list[TagEntry])


class TagRegistry:
    """The file of entries, replaced as a whole; several processes may write to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def find(self, endpoint: str, *, repo: str, tag: str) -> TagEntry | None:
        """Return the entry of a tag; None for one that is not known."""
        for entry in self.all():
            if _key(entry) == (endpoint, repo.casefold(), tag):
                return entry
        return None

    def add(self, entry: TagEntry) -> None:
        """Add the entry, or replace the one for the same tag."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock_file():
            entries = {_key(other): other.model_dump() for other in self.all()}
            entries[_key(entry)] = entry.model_dump()
            content = [entries[key] for key in sorted(entries)]
            # In one move, so that a reader never sees half of the file.
            with whole_file(self.path) as draft:
                draft.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    def all(self) -> list[TagEntry]:
        """Read all entries. Raises HubError when the file is damaged."""
        try:
            return ENTRIES.validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return []
        except ValidationError as error:
            raise HubError(f"{self.path} cannot be read as the registry of tags; mend it or move it away.") from error

    @contextmanager
    def _lock_file(self) -> Generator[None, None, None]:
        with self.path.with_suffix(".lock").open("w") as lock:
            # Without the lock, of two publishers on one machine one would lose its entry.
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _key(entry: TagEntry) -> tuple[str, str, str]:
    # The Hub takes names of repositories without regard to case.
    return entry.endpoint, entry.repo.casefold(), entry.tag


def missing_tag(repo: str, *, tag: str, tags: Collection[str], registered: TagEntry | None) -> str:
    """Say in one sentence that a tag does not exist, or no longer. `tags`: those that can be seen."""
    if registered is None and not tags:
        return f"{repo} has no tag {tag!r}, or it is hidden from this token."
    if registered is None:
        known = newest_first(tags, variant=variant_of_tag(tag))
        more = f" and {len(known) - MOST_NAMED:,} more" if len(known) > MOST_NAMED else ""
        return f"{repo} has no tag {tag!r}; it has {', '.join(known[:MOST_NAMED])}{more}."
    return (
        f"{repo} has lost its tag {tag}, which was at commit {registered.commit[:12]}: publish that release again to put it "
        f"back, or read {repo}@{registered.commit} if it still exists."
    )


def moved_tag(address: str, *, commit: str, before: str) -> str:
    """Say in one sentence that a tag names another commit than before. `address` is OWNER/NAME@TAG."""
    return (
        f"{address} was commit {before[:12]} and is now {commit[:12]}: the tag was moved, so ask its owner for a new "
        f"version, or read {address.partition('@')[0]}@{before} if it still exists."
    )
