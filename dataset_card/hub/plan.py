"""The plan of publishing a release, found by reading only: the preflight checks, the version check, and the plan."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path

from assets.recipe.loading import build_recipe
from assets.recipe.recipe import RecipeError, variant_problem
from dataset_card.diff.compare import compare_releases, read_compared
from dataset_card.diff.render import too_low
from dataset_card.errors import HubError, HubMissing, PublishRefused, UnfitRelease
from dataset_card.hub.layout import (
    BaselineScore,
    PublishedVersion,
    ReleaseSummary,
    checked_repo,
    newest_tag,
    release_paths,
    repository_path,
    tree_change,
    version_of_tag,
    with_version,
)
from dataset_card.hub.port import Hub, LocalFile, Refs, RepoState, TreeChange, Visibility
from dataset_card.hub.read import fetch_release
from dataset_card.hub.repo_card import VariantCard
from dataset_card.hub.repo_tree import RepositoryTree
from dataset_card.release.content import ReleaseFormat, count_problems
from dataset_card.release.loadable import configuration_problems
from dataset_card.release.manifest import CARD, LICENSE, REPORT, Manifest, ManifestError, read_manifest, read_recipe_fields
from dataset_card.release.verify import remedy, verify_release
from dataset_card.release.versions import numbers, smallest_after

FormatOf = Callable[[Path], ReleaseFormat]
# From the least open on.
OPENNESS: tuple[Visibility, ...] = ("private", "gated", "public")


class TagConflict(HubError):
    """The tag names other content; a published release never changes."""


@dataclass(frozen=True)
class PublishRequest:
    """A folder to publish in a repository. `visibility` None: as the repository is, a new one is private.

    `embedded`: rows of the embedded model may go where others can read them. `day` goes into the list of versions. `scores` are
    those that somebody named: none goes out unasked.
    """

    folder: Path
    repo: str
    visibility: Visibility | None = None
    embedded: bool = False
    scores: tuple[BaselineScore, ...] = ()
    day: date = field(default_factory=lambda: datetime.now(UTC).date())


@dataclass(frozen=True)
class PublishPlan:
    """The steps that are missing. `state` None: no repository. `tagged`: the commit that already has the tag.

    `by_hand`: a sentence for each thing that people wrote there, and publishing keeps.
    """

    state: RepoState | None
    tagged: str | None
    change: TreeChange
    by_hand: tuple[str, ...] = ()


class Planner:
    """Compares one request with the Hub. It reads only, and raises HubError for all that forbids publishing."""

    def __init__(self, hub: Hub, *, request: PublishRequest, format_of: FormatOf) -> None:
        self.hub = hub
        self.request = request
        self._format_of = format_of
        self.repo = checked_repo(request.repo)
        self.release, self.files = publishable(request.folder, format_of=format_of)
        self._own_card = (request.folder / CARD).read_text(encoding="utf-8")
        # A publication looks at the Hub in several rounds: texts are read, and the version is compared, once for all of them.
        self._read_before: dict[str, str] = {}
        self._compared_tag: str | None = None

    def plan(self) -> PublishPlan:
        """Look at the Hub. Raises TagConflict, PublishRefused, or what the port raises."""
        state = self.hub.repo_state(self.repo)
        self._check_embedded(state)
        if state is None:
            return PublishPlan(None, None, self._change(self._tree(None)))
        self.hub.check_access(self.repo, write=True)
        refs = self.hub.refs(self.repo)
        # A name that is both leads to the branch, whose files change.
        if self.release.tag in refs.branches:
            raise TagConflict(
                f"{self.repo} has a branch named {self.release.tag}, which would hide the tag; delete that branch."
            )
        if self.release.tag in refs.tags:
            self._check_scores(state)
            return PublishPlan(state, self._tagged_commit(), TreeChange((), (), frozenset()))
        self._check_version(refs)
        by_hand = tuple(self._tree(state.sha).written_by_hand())
        return PublishPlan(state, None, self.change_at(state.sha), by_hand)

    def change_at(self, sha: str) -> TreeChange:
        """Return what a commit onto this one has to change. Raises PublishRefused for a tree that it may not change."""
        tree = self._tree(sha)
        cards = tree.cards()
        # Another publisher may have been first since the tags were compared.
        published = cards.get(self.release.variant)
        if published is not None and published.release.numbers > self.release.numbers:
            raise self._older_than(published.release.version)
        tree.check_foreign(self.release, card=self._own_card, files=self.files)
        for card in cards.values():
            self._check_own_items(card.release)
        return self._change(tree)

    def has_release_at(self, sha: str) -> bool:
        """Return True when the variant's own files at this commit are those of the release."""
        return not tree_change(self.files, tree=self._tree(sha).files, owned=())

    def _tree(self, sha: str | None) -> RepositoryTree:
        return RepositoryTree(self.hub, repo=self.repo, sha=sha, read_before=self._read_before)

    def _change(self, tree: RepositoryTree) -> TreeChange:
        report = self.request.folder / REPORT
        own = VariantCard(self.release, self._own_card, report.read_text(encoding="utf-8") if report.is_file() else None)
        cards = {**tree.cards(), self.release.variant: own}
        because = self.release.previous.because if self.release.previous else "the first version"
        version = PublishedVersion(
            tag=self.release.tag, published=self.request.day, reason=because or "", scores=self.request.scores
        )
        top = tree.top(cards, versions=with_version(tree.versions(), version))
        # A license that people chose for the whole repository stays.
        if LICENSE not in tree.files and (self.request.folder / LICENSE).is_file():
            top[LICENSE] = LocalFile(LICENSE, self.request.folder / LICENSE)
        return tree_change({**self.files, **top}, tree=tree.files, owned=tree.owned_paths(self.release.variant))

    def _check_embedded(self, state: RepoState | None) -> None:
        """Raise PublishRefused where rows of the embedded model would be open to others, and nobody said that they may."""
        visibility = self.request.visibility or (state.visibility if state else "private")
        # People who find such rows would take them for those of a language model.
        if visibility == "private" or self.request.embedded:
            return
        releases = [self.release]
        if state is not None and changes_visibility(state, self.request):
            # Opening a repository opens what it holds already.
            for card in self._tree(state.sha).cards().values():
                releases.append(card.release)
        for release in releases:
            if release.verdict.embedded:
                raise PublishRefused(
                    f"{release.tag}: {release.verdict.words}. {release.verdict.embedded} {self.repo} is open to others or "
                    "would be: publish it privately, make it with a real model, or allow it (--embedded, in Dagster "
                    "`embedded: true`)."
                )

    def _check_own_items(self, other: ReleaseSummary) -> None:
        """Raise PublishRefused where another variant has items of this one, and neither says that it is derived from the other.

        Whoever trains on the one or is scored on both would count these items twice.
        """
        release = self.release
        if {release.variant, release.derived_from or release.variant} & {other.variant, other.derived_from}:
            return
        others = [set(texts) for texts in other.own_texts]
        shared = 0
        for texts in release.own_texts:
            own = set(texts)
            shared += bool(own) and any(own <= theirs or theirs < own for theirs in others if theirs)
        if shared:
            raise PublishRefused(
                f"{shared} of the {len(release.own_texts)} items of {release.variant} ask the same as items of "
                f"{other.variant}, which {self.repo} has already: set `salt` of {release.variant} and generate it again, or "
                f"say in its recipe that it is derived (`derived_from: {other.variant}`)."
            )

    def _check_scores(self, state: RepoState) -> None:
        """Raise PublishRefused for scores that the published version does not have already."""
        there: set[BaselineScore] = set()
        for version in self._tree(state.sha).versions():
            if version.tag == self.release.tag:
                there.update(version.scores)
        if not there.issuperset(self.request.scores):
            raise PublishRefused(
                f"{self.repo} already has {self.release.tag}, and scores are sent with a version when it is published; "
                "publish without --scores, or name the runs when you publish the next version."
            )

    def _check_version(self, refs: Refs) -> None:
        """Raise PublishRefused unless the version may follow that of the variant's newest tag.

        The repository may have more versions than this disk, so the tag's release is fetched where the comparison needs it.
        """
        tag = newest_tag(refs.tags, variant=self.release.variant)
        if tag is None or tag == self._compared_tag:
            return
        last = version_of_tag(tag)
        if numbers(last) > self.release.numbers:
            raise self._older_than(last)
        # Nothing can ask for more than a new major number, so that nothing needs to be fetched.
        if self.release.numbers < numbers(smallest_after(last, level="major")):
            self._check_follows(tag)
        self._compared_tag = tag

    def _older_than(self, last: str) -> PublishRefused:
        return PublishRefused(
            f"{self.repo} already has {self.release.variant} {last}, which is newer than {self.release.version}; "
            "publish a higher version."
        )

    def _check_follows(self, tag: str) -> None:
        last = version_of_tag(tag)
        state = self._state_of_tag(tag)
        with tempfile.TemporaryDirectory(prefix="comparing-") as scratch:
            fetched = Path(scratch) / self.release.variant
            problems = fetch_release(self.hub, self.repo, commit=state.sha, variant=self.release.variant, target=fetched)
            if problems:
                most = smallest_after(last, level="major")
                raise PublishRefused(
                    f"This release cannot be compared with {self.repo}@{tag}: {problems[0].rstrip('.')}; "
                    f"publish {most} or higher."
                )
            folder = self.request.folder
            diff = compare_releases(read_compared(fetched), read_compared(folder), form=self._format_of(folder))
        smallest = smallest_after(last, level=diff.level)
        if self.release.numbers < numbers(smallest):
            raise PublishRefused(f"{self.repo}: {too_low(self.release.version, diff=diff, smallest=smallest)}")

    def _tagged_commit(self) -> str:
        state = self._state_of_tag(self.release.tag)
        if not self.has_release_at(state.sha):
            raise TagConflict(
                f"{self.repo} already has {self.release.tag} with other content; "
                f"a published version never changes, so choose a higher one."
            )
        return state.sha

    def _state_of_tag(self, tag: str) -> RepoState:
        state = self.hub.repo_state(self.repo, revision=tag)
        if state is None:
            raise HubMissing(f"{self.repo} lists the tag {tag}, but does not show its commit; try again.")
        return state


def changes_visibility(state: RepoState, request: PublishRequest) -> bool:
    """Return True when the repository's visibility is another than asked for."""
    return request.visibility not in (None, state.visibility)


def narrows_visibility(state: RepoState, request: PublishRequest) -> bool:
    """Return True when fewer people may read it than do now."""
    return request.visibility is not None and OPENNESS.index(request.visibility) < OPENNESS.index(state.visibility)


def publishable(folder: Path, *, format_of: FormatOf) -> tuple[ReleaseSummary, dict[str, LocalFile]]:
    """Return the release and its files by their paths in a repository, after all checks that need no Hub.

    Raises UnfitRelease with the first problem.
    """
    manifest = _checked_manifest(folder)
    try:
        form = format_of(folder)
        recipe = build_recipe(read_recipe_fields(folder))
    except (RecipeError, ManifestError) as error:
        raise UnfitRelease(f"The release in {folder} cannot be published: {error}") from error
    for problem in count_problems(form, recipe, manifest.counts):
        raise UnfitRelease(f"The release in {folder} says what its rows do not show: {problem}; make it again.")
    release = ReleaseSummary.model_validate(manifest.model_dump())
    return release, {remote: LocalFile(remote, folder / local) for local, remote in release_paths(release).items()}


def _checked_manifest(folder: Path) -> Manifest:
    # The release may have been changed since it was written, and a published one stays for ever.
    problems = verify_release(folder)
    if problems:
        rest = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UnfitRelease(f"The release in {folder} is not whole: {problems[0].rstrip('.')}{rest}. {remedy(folder)}")
    manifest = read_manifest(folder)
    problem = variant_problem(manifest.variant)
    if problem:
        raise UnfitRelease(problem)
    # Files of two folders may move below the same one.
    moved = sorted(repository_path(file.path, variant=manifest.variant) for file in manifest.files)
    for path, later in pairwise(moved):
        if path == later:
            raise UnfitRelease(f"Two files of the release in {folder} would both become {path!r} in the repository.")
    for problem in configuration_problems(folder, manifest=manifest):
        raise UnfitRelease(f"The release in {folder} cannot be loaded: {problem} Make it again.")
    return manifest
