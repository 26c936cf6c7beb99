"""`versions.json` at the top of a repository: every published version with its day and reason, and which should not be used."""

from collections.abc import Iterable
from datetime import date
from typing import Self

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from assets.records.base import Record
from assets.records.estimate import Estimate
from dataset_card.hub.layout import VERSIONS, variant_of_tag, version_of_tag
from dataset_card.hub.port import HubError
from dataset_card.release.versions import is_version, numbers


class BaselineScore(Record):
    """What one assistant reached on a release, over how many of its users."""

    assistant: str
    model: str
    users: int
    accuracy: Estimate
    memory: Estimate


class PublishedVersion(BaseModel):
    """One tag. `published` None: before there was this file. At most one of the last two says why not to use it any more."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    tag: str
    published: date | None = None
    reason: str = ""
    superseded_by: str = ""
    withdrawn_because: str = ""
    scores: tuple[BaselineScore, ...] = ()

    @model_validator(mode="after")
    def has_one_status(self) -> Self:
        if self.superseded_by and self.withdrawn_because:
            raise ValueError("a version is superseded or withdrawn, not both")
        return self

    @property
    def variant(self) -> str:
        return variant_of_tag(self.tag)

    @property
    def version(self) -> str:
        return version_of_tag(self.tag)

    @property
    def status(self) -> str:
        """What a reader has to know, as a part of a sentence; nothing of a version that may be used."""
        if self.superseded_by:
            return f"superseded by {self.superseded_by}"
        return f"withdrawn because {self.withdrawn_because}" if self.withdrawn_because else ""


Versions = tuple[PublishedVersion, ...]
LISTED: TypeAdapter[Versions] = TypeAdapter(Versions)


def read_versions(content: str | bytes | None, *, source: str) -> Versions:
    """The list, none where there is no file. Raises HubError for a file that is no such list."""
    if content is None:
        return ()
    try:
        return LISTED.validate_json(content)
    except ValidationError as error:
        raise HubError(f"{VERSIONS} of {source} cannot be read as the list of versions; mend it or remove it.") from error


def versions_bytes(versions: Versions) -> bytes:
    """The list as the repository's file holds it."""
    return LISTED.dump_json(versions, indent=2, exclude_defaults=True) + b"\n"


def with_tags(versions: Versions, tags: Iterable[str]) -> Versions:
    """The list with every tag that names a release, also those of before there was this list."""
    known = {one.tag for one in versions}
    more = [
        PublishedVersion(tag=tag)
        for tag in tags
        if tag not in known and is_version(version_of_tag(tag)) and variant_of_tag(tag)
    ]
    return in_order((*versions, *more))


def with_version(versions: Versions, new: PublishedVersion) -> Versions:
    """The list with this version; one that stands there already keeps its day and status, and gets new scores."""
    old = next((one for one in versions if one.tag == new.tag), None)
    if old is not None and old.published is not None:
        new = old.model_copy(update={"scores": new.scores or old.scores})
    return in_order((*(one for one in versions if one.tag != new.tag), new))


def newest_tag(tags: Iterable[str], *, variant: str) -> str | None:
    """The tag of the variant's highest version."""
    own = [tag for tag in tags if variant_of_tag(tag) == variant and is_version(version_of_tag(tag))]
    return max(own, key=lambda tag: numbers(version_of_tag(tag)), default=None)


def in_order(versions: Iterable[PublishedVersion]) -> Versions:
    """By variant, the newest version first."""
    newest_first = sorted(versions, key=lambda one: numbers(one.version), reverse=True)
    return tuple(sorted(newest_first, key=lambda one: one.variant))
