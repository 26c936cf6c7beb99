"""The files of a repository that holds several variants: where they are, which versions are listed, what a commit changes.

Everything of a variant is below `<variant>/` and `tables/<variant>/`: data files keep the path they have in the release
folder, so that configurations and snippets stay true, and the others (card, recipe, manifest, license) move below
`<variant>/`. At the top there are the card of the whole repository and the benchmark's file, copies of both as they were
written, the list of versions and a license. A publisher touches nothing else.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from assets.recipe.recipe import VARIANT_PATTERN
from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.records.paths import RelativePath
from assets.reporting.verdict import Verdict, embedded_note
from dataset_card.card.benchmark_file import BENCHMARK_FILE
from dataset_card.errors import HubError, UnfitRelease
from dataset_card.hub.port import LocalFile, RemoteFile, TreeChange
from dataset_card.release.manifest import CARD, MANIFEST, VERSION_PATTERN, ManifestUsage
from dataset_card.release.versions import VARIANT, Numbers, is_version, numbers

TABLES = "tables"
VERSIONS = "versions.json"
# Files at the top as the last release wrote them: what people changed there since is found by comparing with these.
WRITTEN_CARD = f".written/{CARD}"
WRITTEN_BENCHMARK_FILE = f".written/{BENCHMARK_FILE}"
REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
# The Hub refuses longer names, and two dashes, which it puts between owner and name in its caches.
LONGEST_REPO = 96


class _ListedFile(BaseModel):
    path: RelativePath
    bytes: int = 0
    sha256: str = ""
    rows: int | None = None


class _Predecessor(BaseModel):
    because: str | None = None


class _Usage(ManifestUsage):
    model_config = ConfigDict(extra="ignore")


class ReleaseSummary(BaseModel):
    """The part of a manifest that a repository's card needs. Other fields are ignored: releases may have later formats."""

    model_config = ConfigDict(frozen=True)

    variant: str = Field(pattern=VARIANT_PATTERN)
    version: str = Field(pattern=VERSION_PATTERN)
    digest: str
    files: tuple[_ListedFile, ...]
    generator: str = ""
    previous: _Predecessor | None = None
    usage: _Usage | None = None
    counts: dict[str, int] = Field(default_factory=dict[str, int])
    models: dict[str, str] = Field(default_factory=dict[str, str])
    own_texts: tuple[tuple[str, ...], ...] = ()
    derived_from: str = ""

    @property
    def verdict(self) -> Verdict:
        """What may be done with it, as far as the models tell."""
        return Verdict(embedded=embedded_note(self.models.get("writer", ""), self.models.get("judge", "").split(", ")))

    @property
    def tag(self) -> str:
        """The git tag of the release: versions count per variant, so the variant is part of it."""
        return f"{self.variant}-v{self.version}"

    @property
    def numbers(self) -> Numbers:
        """The three numbers of the version, which compare as versions do."""
        return numbers(self.version)


def checked_repo(repo: str) -> str:
    """Return the repository's name. Raises UnfitRelease unless it is OWNER/NAME."""
    if not REPO.fullmatch(repo) or ".." in repo or "--" in repo or len(repo) > LONGEST_REPO:
        raise UnfitRelease(f"{repo!r} is no repository; give OWNER/NAME, as in my-lab/amemgym.")
    return repo


def variant_of_tag(tag: str) -> str:
    return tag.rpartition("-v")[0]


def version_of_tag(tag: str) -> str:
    return tag.rpartition("-v")[2]


def newest_first(tags: Iterable[str], *, variant: str) -> list[str]:
    """Return the tags by version, the newest first: those of `variant`, then the others."""

    def rank(tag: str) -> tuple[bool, tuple[int, ...], str]:
        version = version_of_tag(tag)
        return variant_of_tag(tag) == variant, numbers(version) if is_version(version) else (), tag

    return sorted(tags, key=rank, reverse=True)


def newest_tag(tags: Iterable[str], *, variant: str) -> str | None:
    versions = [tag for tag in tags if variant_of_tag(tag) == variant and is_version(version_of_tag(tag))]
    return next(iter(newest_first(versions, variant=variant)), None)


def folders(variant: str) -> tuple[str, str]:
    """Return the two folders that a variant owns, with slashes at the end."""
    return f"{variant}/", f"{TABLES}/{variant}/"


def repository_path(path: str, *, variant: str) -> str:
    """Return the path in the repository of a file of the release folder."""
    return path if path.startswith(folders(variant)) else f"{variant}/{path}"


def release_paths(release: ReleaseSummary) -> dict[str, str]:
    """Map each path in the release folder to that in the repository, the manifest's among them."""
    paths = {file.path: repository_path(file.path, variant=release.variant) for file in release.files}
    paths[MANIFEST] = repository_path(MANIFEST, variant=release.variant)
    return paths


def variants_in(paths: Iterable[str]) -> list[str]:
    """Return the variants that a repository holds, by their manifests."""
    variants: list[str] = []
    for path in paths:
        folder, _, name = path.partition("/")
        if name == MANIFEST and VARIANT.fullmatch(folder):
            variants.append(folder)
    return sorted(variants)


def tree_change(files: Mapping[str, LocalFile], *, tree: Mapping[str, RemoteFile], owned: Collection[str]) -> TreeChange:
    """Return what turns the tree into one with these files; of others, those that a release wrote before (`owned`) go."""
    adds: list[LocalFile] = []
    new: set[str] = set()
    for path, file in sorted(files.items()):
        if file.is_at(tree.get(path)):
            continue
        adds.append(file)
        if path not in tree:
            new.add(path)
    gone = tree.keys() & set(owned) - files.keys()
    return TreeChange(adds, sorted(gone), frozenset(new))


class BaselineScore(Record):
    """The scores of one assistant on a release; `users`: over how many of its users.

    `gap`: accuracy less that on users that nobody has seen, where that was tried.
    """

    assistant: str
    model: str
    users: int
    accuracy: Estimate
    memory: Estimate
    gap: Estimate | None = Field(default=None, exclude_if=lambda gap: gap is None)


class PublishedVersion(BaseModel):
    """One tag of `versions.json`. At most one of `superseded_by` and `withdrawn_because` says why not to use it any more."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    tag: str
    published: date
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
    def status(self) -> str:
        """The reason not to use it, as a part of a sentence; empty for a version that may be used."""
        if self.superseded_by:
            return f"superseded by {self.superseded_by}"
        if self.withdrawn_because:
            return f"withdrawn because {self.withdrawn_because}"
        return ""


Versions = tuple[PublishedVersion, ...]
LISTED: TypeAdapter[Versions] = TypeAdapter(Versions)


def read_versions(content: str | bytes | None, *, source: str) -> Versions:
    """Return the list, empty where there is no file. Raises HubError for a file that is no such list."""
    if content is None:
        return ()
    try:
        return LISTED.validate_json(content)
    except ValidationError as error:
        raise HubError(f"{VERSIONS} of {source} cannot be read as the list of versions; mend it or remove it.") from error


def versions_bytes(versions: Versions) -> bytes:
    # Empty fields are left out, because people read the file on its page.
    return LISTED.dump_json(versions, indent=2, exclude_defaults=True) + b"\n"


def with_version(versions: Versions, new: PublishedVersion) -> Versions:
    """Return the list with this version; one that is there already keeps its day and status, and gets new scores."""
    by_tag = {version.tag: version for version in versions}
    old = by_tag.get(new.tag)
    if old is not None:
        # A publication that goes on after midnight, or after the version was deprecated, changes neither.
        new = old.model_copy(update={"scores": new.scores or old.scores})
    by_tag[new.tag] = new
    newest_first = sorted(by_tag, key=lambda tag: numbers(version_of_tag(tag)), reverse=True)
    # Sorting keeps the order of equals, so that a variant's versions stay the newest first.
    return tuple(by_tag[tag] for tag in sorted(newest_first, key=variant_of_tag))
