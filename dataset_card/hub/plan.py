"""What publishing a release would do, found by reading only: the preflight checks, the version check, and the plan."""

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path

from assets.recipe.loading import RecipeError, build_recipe
from dataset_card.card.header import configuration_problems, split_card
from dataset_card.diff.compare import compare, read_release
from dataset_card.diff.render import too_low
from dataset_card.hub.layout import (
    RESERVED,
    ReleaseSummary,
    checked_repo,
    release_files,
    repository_path,
    tree_change,
    version_of_tag,
)
from dataset_card.hub.port import (
    Hub,
    HubError,
    HubMissing,
    LocalFile,
    PublishRefused,
    Refs,
    RepoState,
    TreeChange,
    UnfitRelease,
    Visibility,
)
from dataset_card.hub.read import ReleaseLocation, fetch_release
from dataset_card.hub.repo_card import VariantCard
from dataset_card.hub.repo_tree import RepositoryTree
from dataset_card.hub.versions_file import BaselineScore, PublishedVersion, newest_tag, with_tags, with_version
from dataset_card.release.content import ReleaseFormat, count_problems
from dataset_card.release.manifest import CARD, LICENSE, Manifest, ManifestError, read_manifest, read_recipe_fields
from dataset_card.release.verify import verify_release
from dataset_card.release.versions import numbers, smallest_after

# What git forbids in the name of a tag, of all that a variant's name may hold.
UNTAGGABLE = re.compile(r"\.\.|\.lock$|\.$")
FormatOf = Callable[[Path], ReleaseFormat]
# The scores that were made here on a release, by its digest.
ScoresOf = Callable[[str], Sequence[BaselineScore]]


class TagConflict(HubError):
    """The tag names other content; a published release never changes."""


@dataclass(frozen=True)
class PublishRequest:
    """What to publish where. `visibility` None: as the repository is, a new one is private.

    `embedded`: rows of the embedded model may go where others can read them. `day` goes into the list of versions.
    """

    folder: Path
    repo: str
    visibility: Visibility | None = None
    pull_request: bool = False
    embedded: bool = False
    day: date = field(default_factory=lambda: datetime.now(UTC).date())


@dataclass(frozen=True)
class PublishPlan:
    """What the repository has and what it lacks. `state` None: no repository. `tagged`: the commit that already has the tag.

    `by_hand`: what people wrote there, and publishing keeps.
    """

    state: RepoState | None
    tagged: str | None
    change: TreeChange
    pull_requests: Mapping[int, str]
    by_hand: tuple[str, ...] = ()


class Planner:
    """Compares one request with the Hub. It reads only, and raises HubError for all that forbids publishing."""

    def __init__(self, hub: Hub, *, request: PublishRequest, format_of: FormatOf, scores_of: ScoresOf) -> None:
        self.hub, self.request, self._format_of = hub, request, format_of
        self.repo = checked_repo(request.repo)
        self.release, self.files = publishable(request.folder, format_of=format_of)
        self._scores = tuple(scores_of(self.release.digest))
        self._own_card = (request.folder / CARD).read_text(encoding="utf-8")
        self._read_before: dict[str, str] = {}
        self._follows: str | None = None
        self._tags: frozenset[str] = frozenset()

    def plan(self) -> PublishPlan:
        """Look at the Hub. Raises TagConflict, PublishRefused, or what the port raises."""
        state = self.hub.repo_state(self.repo)
        self._check_embedded(state)
        if state is None:
            if self.request.pull_request:
                raise PublishRefused(f"There is no repository {self.repo} to propose to; publish without a pull request.")
            return PublishPlan(None, None, self._change(self._tree(None)), {})
        self.hub.check_access(self.repo, write=not self.request.pull_request)
        refs = self.hub.refs(self.repo)
        self._tags = refs.tags
        if self.release.tag in refs.branches:
            raise TagConflict(
                f"{self.repo} has a branch named {self.release.tag}, which would hide the tag; delete that branch."
            )
        if self.release.tag in refs.tags:
            return PublishPlan(state, self._tagged(), TreeChange((), (), frozenset()), refs.pull_requests)
        self._check_version(refs)
        by_hand = tuple(self._tree(state.sha).written_by_hand(self._tags))
        return PublishPlan(state, None, self.change_at(state.sha), refs.pull_requests, by_hand)

    def change_at(self, sha: str) -> TreeChange:
        """What a commit onto this one has to change. Raises PublishRefused for a tree that it may not change."""
        tree = self._tree(sha)
        cards = tree.cards()
        published = cards.get(self.release.variant)
        if published is not None and published.release.numbers > self.release.numbers:
            raise PublishRefused(
                f"{self.repo} already has {published.release.variant} {published.release.version}, which is newer than "
                f"{self.release.version}; publish a higher version."
            )
        current = tree.read(CARD)
        if not cards and current is not None and split_card(current, source=f"{CARD} of {self.repo}")[1].strip():
            raise PublishRefused(
                f"{self.repo} has a {CARD} that no release wrote, and it would be lost; "
                f"choose another repository, or empty that file."
            )
        tree.check_foreign(self.release, card=self._own_card, files=self.files)
        return self._change(tree)

    def has_release_at(self, sha: str) -> bool:
        """Whether the variant's own files at this commit are those of the release."""
        return not tree_change(self.files, tree=self._tree(sha).files, owned=())

    def _tree(self, sha: str | None) -> RepositoryTree:
        return RepositoryTree(self.hub, repo=self.repo, sha=sha, read_before=self._read_before)

    def _change(self, tree: RepositoryTree) -> TreeChange:
        cards = {**tree.cards(), self.release.variant: VariantCard(self.release, self._own_card)}
        because = self.release.previous.because if self.release.previous else "the first version"
        own = PublishedVersion(tag=self.release.tag, published=self.request.day, reason=because or "", scores=self._scores)
        versions = with_version(with_tags(tree.versions(), self._tags), own)
        top = tree.top(cards, versions=versions, tags=self._tags)
        if LICENSE not in tree.files and (self.request.folder / LICENSE).is_file():
            top[LICENSE] = LocalFile(LICENSE, self.request.folder / LICENSE)
        return tree_change({**self.files, **top}, tree=tree.files, owned=tree.owned(self.release.variant))

    def _check_embedded(self, state: RepoState | None) -> None:
        """Raise PublishRefused where rows of the embedded model would be open to others, and nobody said that they may."""
        visibility = self.request.visibility or (state.visibility if state else "private")
        if visibility == "private" or self.request.embedded:
            return
        releases = [self.release]
        if state is not None and changes_visibility(state, self.request):
            releases += [card.release for card in self._tree(state.sha).cards().values()]
        for release in releases:
            if release.is_embedded:
                raise PublishRefused(
                    f"No language model wrote {release.tag}, and {self.repo} is open to others or would be: publish it "
                    "privately, make it with a real model, or allow it (--embedded, in Dagster `embedded: true`)."
                )

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


def changes_visibility(state: RepoState, request: PublishRequest) -> bool:
    """Whether the repository's visibility is another than asked for."""
    return request.visibility not in (None, state.visibility)


def narrows_visibility(state: RepoState, request: PublishRequest) -> bool:
    """Whether fewer people may read it than do now."""
    openness: list[Visibility | None] = ["private", "gated", "public"]
    return changes_visibility(state, request) and openness.index(request.visibility) < openness.index(state.visibility)


def publishable(folder: Path, *, format_of: FormatOf) -> tuple[ReleaseSummary, dict[str, LocalFile]]:
    """The release and its files by their paths in a repository, after all checks that need no Hub. Raises UnfitRelease."""
    manifest = checked_release(folder)
    check_rows_follow_recipe(folder, format_of=format_of, counts=manifest.counts)
    release = ReleaseSummary.model_validate(manifest.model_dump())
    return release, release_files(folder, release=release)


def check_rows_follow_recipe(folder: Path, *, format_of: FormatOf, counts: Mapping[str, int]) -> None:
    """Raise UnfitRelease where the rows are not what the recipe beside them says, which earlier versions could write."""
    try:
        form, recipe = format_of(folder), build_recipe(read_recipe_fields(folder))
    except (RecipeError, ManifestError) as error:
        raise UnfitRelease(f"The release in {folder} cannot be published: {error}") from error
    for problem in count_problems(form, recipe, counts):
        raise UnfitRelease(f"The release in {folder} says what its rows do not show: {problem}; make it again.")


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
