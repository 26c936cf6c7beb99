"""What publishing a release would do, found by reading only: the preflight checks, the version check, and the plan."""

import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pydantic import ValidationError

from dataset_card.card.header import configuration_problems, split_card
from dataset_card.diff.compare import compare, read_release
from dataset_card.diff.render import too_low
from dataset_card.hub.layout import (
    RESERVED,
    ReleaseSummary,
    checked_repo,
    folders,
    release_files,
    repository_path,
    tree_change,
    variant_of_tag,
    variants_in,
    version_of_tag,
)
from dataset_card.hub.port import (
    Hub,
    HubError,
    HubMissing,
    LocalFile,
    Refs,
    RemoteFile,
    RepoState,
    TreeChange,
    UnfitRelease,
    Visibility,
)
from dataset_card.hub.read import ReleaseLocation, fetch_release
from dataset_card.hub.repo_card import VariantCard, repository_card
from dataset_card.release.content import ReleaseFormat
from dataset_card.release.manifest import CARD, LICENSE, MANIFEST, Manifest, ManifestError, read_manifest
from dataset_card.release.verify import verify_release
from dataset_card.release.versions import is_version, numbers, smallest_after

# What git forbids in the name of a tag, of all that a variant's name may hold.
UNTAGGABLE = re.compile(r"\.\.|\.lock$|\.$")
FormatOf = Callable[[Path], ReleaseFormat]


class PublishRefused(HubError):
    """The repository is not one that this release may be added to, or not under this version."""


class TagConflict(HubError):
    """The tag names other content; a published release never changes."""


@dataclass(frozen=True)
class PublishRequest:
    """What to publish where. `visibility` None: as the repository is, a new one is private."""

    folder: Path
    repo: str
    visibility: Visibility | None = None
    pull_request: bool = False


@dataclass(frozen=True)
class PublishPlan:
    """What the repository has and what it lacks. `state` None: no repository. `tagged`: the commit that already has the tag."""

    state: RepoState | None
    tagged: str | None
    change: TreeChange
    pull_requests: Mapping[int, str]


class Planner:
    """Compares one request with the Hub. It reads only, and raises HubError for all that forbids publishing."""

    def __init__(self, hub: Hub, *, request: PublishRequest, format_of: FormatOf) -> None:
        self.hub, self.request, self._format_of = hub, request, format_of
        self.repo = checked_repo(request.repo)
        self.release = ReleaseSummary.model_validate(checked_release(request.folder).model_dump())
        self.files = release_files(request.folder, release=self.release)
        self._own_card = (request.folder / CARD).read_text(encoding="utf-8")
        self._read_before: dict[str, str] = {}
        self._follows: str | None = None

    def plan(self) -> PublishPlan:
        """Look at the Hub. Raises TagConflict, PublishRefused, or what the port raises."""
        state = self.hub.repo_state(self.repo)
        if state is None:
            if self.request.pull_request:
                raise PublishRefused(f"There is no repository {self.repo} to propose to; publish without a pull request.")
            return PublishPlan(None, None, self._change({}, cards={}, current=None), {})
        self.hub.check_access(self.repo, write=not self.request.pull_request)
        refs = self.hub.refs(self.repo)
        if self.release.tag in refs.branches:
            raise TagConflict(
                f"{self.repo} has a branch named {self.release.tag}, which would hide the tag; delete that branch."
            )
        if self.release.tag in refs.tags:
            return PublishPlan(state, self._tagged(), TreeChange((), (), frozenset()), refs.pull_requests)
        self._check_version(refs)
        return PublishPlan(state, None, self.change_at(state.sha), refs.pull_requests)

    def change_at(self, sha: str) -> TreeChange:
        """What a commit onto this one has to change. Raises PublishRefused for a tree that it may not change."""
        tree = self.hub.files(self.repo, sha=sha)
        cards = {name: self._card(name, sha=sha, tree=tree) for name in variants_in(tree)}
        published = cards.get(self.release.variant)
        if published is not None and published.release.numbers > self.release.numbers:
            raise PublishRefused(
                f"{self.repo} already has {published.release.variant} {published.release.version}, which is newer than "
                f"{self.release.version}; publish a higher version."
            )
        current = self._read(CARD, sha=sha, tree=tree) if CARD in tree else None
        if not cards and current is not None and split_card(current, source=f"{CARD} of {self.repo}")[1].strip():
            raise PublishRefused(
                f"{self.repo} has a {CARD} that no release wrote, and it would be lost; "
                f"choose another repository, or empty that file."
            )
        return self._change(tree, cards=cards, current=current)

    def has_release_at(self, sha: str) -> bool:
        """Whether the variant's own files at this commit are those of the release, and no others."""
        return not tree_change(self.files, tree=self.hub.files(self.repo, sha=sha), variant=self.release.variant)

    def _change(self, tree: Mapping[str, RemoteFile], *, cards: Mapping[str, VariantCard], current: str | None) -> TreeChange:
        own = VariantCard(self.release, self._own_card)
        text = repository_card({**cards, self.release.variant: own}, repo=self.repo, current=current)
        top = {CARD: LocalFile(CARD, text.encode())}
        if LICENSE not in tree and (self.request.folder / LICENSE).is_file():
            top[LICENSE] = LocalFile(LICENSE, self.request.folder / LICENSE)
        return tree_change({**self.files, **top}, tree=tree, variant=self.release.variant)

    def _check_version(self, refs: Refs) -> None:
        """Compare with the newest tag of the variant, once for all rounds."""
        tag = newest_tag(refs.tags, variant=self.release.variant)
        if tag is not None and tag != self._follows:
            folder, format_of = self.request.folder, self._format_of
            check_version(self.hub, self.release, folder=folder, repo=self.repo, tag=tag, format_of=format_of)
            self._follows = tag

    def _tagged(self) -> str:
        state = self.hub.repo_state(self.repo, revision=self.release.tag)
        if state is None:
            raise HubMissing(f"{self.repo} lists the tag {self.release.tag}, but does not show its commit; try again.")
        if not self.has_release_at(state.sha):
            raise TagConflict(
                f"{self.repo} already has {self.release.tag} with other content; "
                f"a published version never changes, so choose a higher one."
            )
        return state.sha

    def _card(self, variant: str, *, sha: str, tree: Mapping[str, RemoteFile]) -> VariantCard:
        home, _ = folders(variant)
        try:
            release = ReleaseSummary.model_validate_json(self._read(f"{home}{MANIFEST}", sha=sha, tree=tree))
        except ValidationError as error:
            raise PublishRefused(f"{home}{MANIFEST} in {self.repo} cannot be read; remove that variant, or mend it.") from error
        return VariantCard(release, self._read(f"{home}{CARD}", sha=sha, tree=tree) if f"{home}{CARD}" in tree else "")

    def _read(self, path: str, *, sha: str, tree: Mapping[str, RemoteFile]) -> str:
        digest = tree[path].digest
        if digest not in self._read_before:
            content = self.hub.read(self.repo, sha=sha, path=path)
            if not LocalFile(path, content).is_at(tree[path]):
                raise HubError(f"{path} of {self.repo} arrived damaged; try again.")
            self._read_before[digest] = content.decode(errors="replace")
        return self._read_before[digest]


def changes_visibility(state: RepoState, request: PublishRequest) -> bool:
    """Whether the repository's visibility is another than asked for."""
    return request.visibility not in (None, state.visibility)


def narrows_visibility(state: RepoState, request: PublishRequest) -> bool:
    """Whether fewer people may read it than do now."""
    openness: list[Visibility | None] = ["private", "gated", "public"]
    return changes_visibility(state, request) and openness.index(request.visibility) < openness.index(state.visibility)


def checked_release(folder: Path) -> Manifest:
    """The release's manifest, after everything that can be checked here. Raises UnfitRelease with the first problem."""
    problems = verify_release(folder)
    if problems:
        rest = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UnfitRelease(f"The release in {folder} is not whole: {problems[0].rstrip('.')}{rest}; make it again.")
    try:
        manifest = read_manifest(folder)
    except ManifestError as error:
        raise UnfitRelease(f"The release in {folder} is not whole: {error}") from error
    if manifest.variant in RESERVED or UNTAGGABLE.search(manifest.variant):
        raise UnfitRelease(f"A variant named {manifest.variant!r} cannot be published; give its recipe another name.")
    moved = sorted(repository_path(file.path, variant=manifest.variant) for file in manifest.files)
    if len(set(moved)) < len(moved):
        repeated = next(path for path, later in pairwise(moved) if path == later)
        raise UnfitRelease(f"Two files of the release in {folder} would both become {repeated!r} in the repository.")
    for problem in configuration_problems(folder, manifest=manifest):
        raise UnfitRelease(f"The release in {folder} cannot be loaded: {problem} Make it again.")
    return manifest


def newest_tag(tags: Iterable[str], *, variant: str) -> str | None:
    """The tag of the variant's highest version."""
    own = [tag for tag in tags if variant_of_tag(tag) == variant and is_version(version_of_tag(tag))]
    return max(own, key=lambda tag: numbers(version_of_tag(tag)), default=None)


def check_version(hub: Hub, release: ReleaseSummary, *, folder: Path, repo: str, tag: str, format_of: FormatOf) -> None:
    """Raise PublishRefused unless the version of the release in `folder` may follow that of the variant's newest tag.

    The repository may have more versions than this disk, so the tag's release is fetched where the comparison needs it.
    """
    last = version_of_tag(tag)
    if numbers(last) > release.numbers:
        raise PublishRefused(
            f"{repo} already has {release.variant} {last}, which is newer than {release.version}; publish a higher version."
        )
    most = smallest_after(last, level="major")
    if release.numbers >= numbers(most):
        return  # nothing can ask for more, so nothing needs to be fetched
    state = hub.repo_state(repo, revision=tag)
    if state is None:
        raise HubMissing(f"{repo} lists the tag {tag}, but does not show its commit; try again.")
    with tempfile.TemporaryDirectory(prefix="comparing-") as scratch:
        fetched = Path(scratch) / release.variant
        problems = fetch_release(hub, ReleaseLocation(repo, state.sha, release.variant), target=fetched)
        if problems:
            raise PublishRefused(f"{repo}@{tag} cannot be compared with: {problems[0].rstrip('.')}; publish {most} or higher.")
        diff = compare(read_release(fetched), read_release(folder), form=format_of(folder))
    smallest = smallest_after(last, level=diff.level)
    if release.numbers < numbers(smallest):
        raise PublishRefused(f"{repo}: {too_low(release.version, diff=diff, smallest=smallest)}")
