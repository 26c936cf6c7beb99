"""Where a release's files are in a repository that holds several variants, and what a commit has to change there.

Everything of a variant is below `<variant>/` and `tables/<variant>/`: data files keep the path they have in the release
folder, so that configurations and snippets stay true, and the others (card, recipe, manifest, license) move below
`<variant>/`. At the top there are the card of the
whole repository, a copy of it as it was written, the list of versions and a license. A publisher touches nothing else.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from dataset_card.card.recipe import EMBEDDED_FAMILY
from dataset_card.hub.port import LocalFile, RemoteFile, TreeChange, UnfitRelease
from dataset_card.release.manifest import CARD, LICENSE, MANIFEST, VERSION_PATTERN

TABLES = "tables"
# The list of published versions, and the card at the top as the last release wrote it: what people changed there since is kept.
VERSIONS = "versions.json"
WRITTEN_CARD = f".written/{CARD}"
# Folders and files at the top that a variant's folder may not shadow.
RESERVED = frozenset({TABLES, CARD, LICENSE, VERSIONS})
REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


class _ListedFile(BaseModel):
    path: str
    bytes: int = 0
    sha256: str = ""
    rows: int | None = None


class _Predecessor(BaseModel):
    because: str | None = None


class ReleaseSummary(BaseModel):
    """What a repository's card needs of a manifest. Other fields are ignored: releases may have later formats."""

    model_config = ConfigDict(frozen=True)

    variant: str
    version: str = Field(pattern=VERSION_PATTERN)
    digest: str
    files: tuple[_ListedFile, ...]
    generator: str = ""
    previous: _Predecessor | None = None
    models: dict[str, str] = Field(default_factory=dict[str, str])

    @property
    def is_embedded(self) -> bool:
        """Whether the embedded model, which is no language model, wrote or judged any of the rows."""
        return any(EMBEDDED_FAMILY in self.models.get(role, "") for role in ("writer", "judge"))

    @property
    def tag(self) -> str:
        """The git tag of the release: versions count per variant, so the variant is part of it."""
        return f"{self.variant}-v{self.version}"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The three numbers of the version, which compare as versions do."""
        return tuple(int(number) for number in self.version.split("."))


def checked_repo(repo: str) -> str:
    """The repository's name. Raises UnfitRelease unless it is OWNER/NAME."""
    if not REPO.fullmatch(repo) or ".." in repo or "--" in repo or len(repo) > 96:
        raise UnfitRelease(f"{repo!r} is no repository; give OWNER/NAME, as in my-lab/amemgym.")
    return repo


def variant_of_tag(tag: str) -> str:
    """The variant that a release's tag names."""
    return tag.rpartition("-v")[0]


def version_of_tag(tag: str) -> str:
    """The version that a release's tag names."""
    return tag.rpartition("-v")[2]


def folders(variant: str) -> tuple[str, str]:
    """What a variant owns, with slashes at the end."""
    return f"{variant}/", f"{TABLES}/{variant}/"


def repository_path(path: str, *, variant: str) -> str:
    """The path in the repository of a file of the release folder."""
    return path if path.startswith(folders(variant)) else f"{variant}/{path}"


def release_paths(release: ReleaseSummary) -> dict[str, str]:
    """Path in the release folder to path in the repository, the manifest among them."""
    names = [*(file.path for file in release.files), MANIFEST]
    return {name: repository_path(name, variant=release.variant) for name in names}


def release_files(folder: Path, *, release: ReleaseSummary) -> dict[str, LocalFile]:
    """The release's files by their path in the repository."""
    return {remote: LocalFile(remote, folder / local) for local, remote in release_paths(release).items()}


def variants_in(paths: Iterable[str]) -> list[str]:
    """The variants that a repository holds, by their manifests."""
    return sorted(folder for folder, slash, name in (path.partition("/") for path in paths) if slash and name == MANIFEST)


def tree_change(files: Mapping[str, LocalFile], *, tree: Mapping[str, RemoteFile], owned: Collection[str]) -> TreeChange:
    """What turns the tree into one with these files; of others, those that a release wrote before (`owned`) go."""
    adds = [file for path, file in sorted(files.items()) if not file.is_at(tree.get(path))]
    deletes = sorted(path for path in tree if path in owned and path not in files)
    return TreeChange(adds, deletes, frozenset(file.path for file in adds if file.path not in tree))
