"""What publishing a release would do, found by reading only: the base of each step and of the dry run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from dataset_card.hub.layout import LICENSE, Summary, change_of, folders, release_files, variants_in
from dataset_card.hub.port import Change, Hub, HubError, HubMissing, LocalFile, Refs, RemoteFile, RepoState, Visibility
from dataset_card.hub.preflight import checked_release, checked_repo
from dataset_card.hub.repo_card import VariantCard, repository_card, split_card
from dataset_card.hub.version_check import Candidate, PublishRefused, check_rule, newest_tag
from dataset_card.release.manifest import CARD, MANIFEST


class TagConflict(HubError):
    """The tag stands for something else; a published release never changes."""


@dataclass(frozen=True)
class Order:
    """What to publish where. `visibility` None: as the repository is, a new one is private."""

    folder: Path
    repo: str
    visibility: Visibility | None = None
    pull_request: bool = False


@dataclass(frozen=True)
class Plan:
    """What is there and what is missing. `state` None: no repository. `tagged`: the commit that already has the tag."""

    state: RepoState | None
    tagged: str | None
    change: Change
    pull_requests: Mapping[int, str]


class Planner:
    """Compares one order with the Hub. It reads only, and raises HubError for all that forbids publishing."""

    def __init__(self, hub: Hub, *, order: Order) -> None:
        self.hub, self.order = hub, order
        self.repo = checked_repo(order.repo)
        self.release = Summary.model_validate(checked_release(order.folder).model_dump())
        self.files = release_files(order.folder, release=self.release)
        self._own_card = (order.folder / CARD).read_text(encoding="utf-8")
        self._read_before: dict[str, str] = {}
        self._follows: str | None = None

    def plan(self) -> Plan:
        """Look at the Hub. Raises TagConflict, PublishRefused, or what the port raises."""
        state = self.hub.look(self.repo)
        if state is None:
            if self.order.pull_request:
                raise PublishRefused(f"There is no repository {self.repo} to propose to; publish without a pull request.")
            return Plan(None, None, self._change({}, cards={}, current=None), {})
        self.hub.check_access(self.repo, write=not self.order.pull_request)
        refs = self.hub.refs(self.repo)
        if self.release.tag in refs.branches:
            raise TagConflict(
                f"{self.repo} has a branch named {self.release.tag}, which would hide the tag; delete that branch."
            )
        if self.release.tag in refs.tags:
            return Plan(state, self._tagged(), Change((), (), frozenset()), refs.pull_requests)
        self._check_rule(refs)
        return Plan(state, None, self.change_at(state.sha), refs.pull_requests)

    def change_at(self, sha: str) -> Change:
        """What a commit onto this one has to change. Raises PublishRefused for a tree that it may not change."""
        tree = self.hub.files(self.repo, sha=sha)
        cards = {name: self._card(name, sha=sha, tree=tree) for name in variants_in(tree)}
        there = cards.get(self.release.variant)
        if there is not None and there.release.numbers > self.release.numbers:
            raise PublishRefused(
                f"{self.repo} already has {there.release.variant} {there.release.version}, which is newer than "
                f"{self.release.version}; publish a higher version."
            )
        current = self._read(CARD, sha=sha, tree=tree) if CARD in tree else None
        if not cards and current is not None and split_card(current, place=f"{CARD} of {self.repo}")[1].strip():
            raise PublishRefused(
                f"{self.repo} has a {CARD} that no release wrote, and it would be lost; "
                f"choose another repository, or empty that file."
            )
        return self._change(tree, cards=cards, current=current)

    def holds(self, sha: str) -> bool:
        """Whether the variant's own files at this commit are those of the release, and no others."""
        return not change_of(self.files, tree=self.hub.files(self.repo, sha=sha), variant=self.release.variant)

    def _change(self, tree: Mapping[str, RemoteFile], *, cards: Mapping[str, VariantCard], current: str | None) -> Change:
        own = VariantCard(self.release, self._own_card)
        text = repository_card({**cards, self.release.variant: own}, repo=self.repo, current=current)
        top = {CARD: LocalFile(CARD, text.encode())}
        if LICENSE not in tree and (self.order.folder / LICENSE).is_file():
            top[LICENSE] = LocalFile(LICENSE, self.order.folder / LICENSE)
        return change_of({**self.files, **top}, tree=tree, variant=self.release.variant)

    def _check_rule(self, refs: Refs) -> None:
        """Compare with the newest tag of the variant, once for all rounds."""
        tag = newest_tag(refs.tags, variant=self.release.variant)
        if tag is not None and tag != self._follows:
            check_rule(self.hub, Candidate(self.order.folder, self.repo, self.release), tag=tag)
            self._follows = tag

    def _tagged(self) -> str:
        state = self.hub.look(self.repo, revision=self.release.tag)
        if state is None:
            raise HubMissing(f"{self.repo} lists the tag {self.release.tag}, but does not show its commit; try again.")
        if not self.holds(state.sha):
            raise TagConflict(
                f"{self.repo} already has {self.release.tag} with other content; "
                f"a published version never changes, so choose a higher one."
            )
        return state.sha

    def _card(self, variant: str, *, sha: str, tree: Mapping[str, RemoteFile]) -> VariantCard:
        home, _ = folders(variant)
        try:
            release = Summary.model_validate_json(self._read(f"{home}{MANIFEST}", sha=sha, tree=tree))
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


def differs(state: RepoState, order: Order) -> bool:
    """Whether the repository's visibility is another than asked for."""
    return order.visibility not in (None, state.visibility)


def restricts(state: RepoState, order: Order) -> bool:
    """Whether fewer people may read it than do now."""
    openness: list[Visibility | None] = ["private", "gated", "public"]
    return differs(state, order) and openness.index(order.visibility) < openness.index(state.visibility)
