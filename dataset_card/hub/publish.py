"""Publishing a release: one commit, the tag last, and the repository opened only when both are there. And deprecating one.

Nothing is remembered between steps. Each round looks at the Hub and does what is missing, so that a lost reply, another
publisher or a killed process only means another look, and never a second commit.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from assets.reporting.plurals import counted
from dataset_card.errors import HubError, HubMissing, HubStale, HubUncertain, PublishRefused
from dataset_card.hub.layout import PublishedVersion
from dataset_card.hub.plan import (
    FormatOf,
    Planner,
    PublishPlan,
    PublishRequest,
    TagConflict,
    changes_visibility,
    narrows_visibility,
)
from dataset_card.hub.port import MAIN, CommitMessage, Hub, TreeChange
from dataset_card.hub.repo_tree import RepositoryTree
from dataset_card.hub.tag_registry import TagEntry, TagRegistry

# Two minutes in all: pauses double from half a second. Deprecating sends so little that it looks again at once.
ROUNDS = 8
FIRST_PAUSE = 0.5
ROUNDS_OF_DEPRECATING = 5


@dataclass(frozen=True)
class Published:
    """The outcome. `created` is false when the tag existed before."""

    repo: str
    digest: str
    commit: str
    tag: str
    created: bool


class Publisher:
    """Brings a release to a Hub.

    `format_of` gives the format of a release's folder;
    `registry` None: no tag is written down; `notice` gets a line for each pause.
    """

    def __init__(
        self,
        hub: Hub,
        *,
        format_of: FormatOf,
        registry: TagRegistry | None = None,
        pause: Callable[[float], None] = time.sleep,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        self._hub = hub
        self._format_of = format_of
        self._registry = registry
        self._pause = pause
        self._notice = notice

    @property
    def endpoint(self) -> str:
        return self._hub.endpoint

    def commit_of(self, repo: str, *, revision: str) -> str | None:
        """Return the commit of a tag or branch now; None: it does not exist, or is hidden. Raises HubError."""
        state = self._hub.repo_state(repo, revision=revision)
        return None if state is None else state.sha

    def planner(self, request: PublishRequest) -> Planner:
        """Read the release and check it here alone. Raises UnfitRelease for one that cannot be published."""
        return Planner(self._hub, request=request, format_of=self._format_of)

    def plan(self, planner: Planner) -> PublishPlan:
        """Return what publishing it would do; nothing is written. Raises HubError."""
        self._check_registry(planner)
        return planner.plan()

    def publish(self, request: PublishRequest) -> Published:
        """Do what is missing. Raises HubError; running it again goes on from there."""
        planner = self.planner(request)
        self._check_registry(planner)
        failure: HubError = HubUncertain("nothing was tried")
        created = False
        for number in range(ROUNDS):
            try:
                plan = planner.plan()
                created = created or plan.tagged is None
                return self._round(planner, plan, created=created)
            except (HubStale, HubUncertain) as error:
                failure = error
            # The Hub may say how long to wait, which counts more than our own pause.
            wait = max(getattr(failure, "wait", 0.0), FIRST_PAUSE * 2**number)
            if self._notice is not None:
                self._notice(f"{str(failure).rstrip('.')}; looking again in {wait:.0f} s.")
            self._pause(wait)
        words = str(failure).rstrip(".")
        raise HubError(
            f"{planner.release.tag} is not published in {request.repo} yet: {words}; run it again to go on."
        ) from failure

    def _round(self, planner: Planner, plan: PublishPlan, *, created: bool) -> Published:
        if plan.state is None:
            self._hub.create(planner.repo)
            plan = planner.plan()
        if plan.state is None:
            raise HubUncertain(f"{planner.repo} was made, but does not show yet")
        # Fewer readers before the rows are sent, more of them only when all is there.
        narrows = narrows_visibility(plan.state, planner.request)
        if narrows:
            self._set_visibility(planner)
        commit = plan.tagged or self._commit_and_tag(planner, plan.change, head=plan.state.sha)
        if changes_visibility(plan.state, planner.request) and not narrows:
            self._set_visibility(planner)
        self._register(planner, commit)
        return Published(planner.repo, planner.release.digest, commit, planner.release.tag, created)

    def _commit_and_tag(self, planner: Planner, change: TreeChange, *, head: str) -> str:
        """Return the commit that carries the tag, after one commit at most."""
        if change:
            if self._notice is not None:
                what = f"{counted(len(change.adds), 'file')} of {counted(sum(file.size for file in change.adds), 'byte')}"
                self._notice(f"Sending {what} to {planner.repo}, in one commit.")
            # With its digest, for whoever looks at the history alone.
            message = CommitMessage(f"Release {planner.release.variant} {planner.release.version}", _digest_line(planner))
            head = self._hub.commit(planner.repo, change=change, message=message, parent=head)
        # The reply may be of another commit, so what is there is looked at before it gets the tag.
        if planner.change_at(head):
            raise HubUncertain(f"commit {head[:12]} does not hold what was sent")
        tag = planner.release.tag
        self._hub.tag(planner.repo, tag=tag, sha=head, message=_digest_line(planner))
        # A tag cannot be sent twice: it is read back in place of its reply.
        state = self._hub.repo_state(planner.repo, revision=tag)
        if state is None or state.sha != head:
            raise HubUncertain(f"the tag {tag} is not at commit {head[:12]}")
        return head

    def _set_visibility(self, planner: Planner) -> None:
        if planner.request.visibility is not None:
            self._hub.set_visibility(planner.repo, visibility=planner.request.visibility)

    def _check_registry(self, planner: Planner) -> None:
        registered = self._registered_tag(planner)
        # The Hub may have lost the tag; whoever has the data knows its digest.
        if registered is not None and registered.digest != planner.release.digest:
            raise TagConflict(
                f"{planner.release.tag} was published in {planner.repo} with other content (its digest begins with "
                f"{registered.digest[:12]}, this one's with {planner.release.digest[:12]}); choose a higher version."
            )

    def _register(self, planner: Planner, commit: str) -> None:
        """Write down where the tag is. Raises TagConflict when it was elsewhere, and nobody here moved it."""
        registered = self._registered_tag(planner)
        tag = planner.release.tag
        if self._registry is None or (registered is not None and registered.commit == commit):
            return
        if registered is not None and self._has_release_at(planner, registered.commit):
            raise TagConflict(
                f"{tag} in {planner.repo} was at commit {registered.commit[:12]} and is now at {commit[:12]}; somebody moved "
                f"it, so put it back, or publish a higher version."
            )
        entry = TagEntry(endpoint=self._hub.endpoint, repo=planner.repo, tag=tag, commit=commit, digest=planner.release.digest)
        self._registry.add(entry)

    def _has_release_at(self, planner: Planner, sha: str) -> bool:
        """Return False also where the commit is gone, as in a repository that was deleted and made anew."""
        try:
            return planner.has_release_at(sha)
        except HubMissing:
            return False

    def _registered_tag(self, planner: Planner) -> TagEntry | None:
        if self._registry is None:
            return None
        return self._registry.find(self._hub.endpoint, repo=planner.repo, tag=planner.release.tag)


def _digest_line(planner: Planner) -> str:
    return f"release-digest: sha256:{planner.release.digest}"


@dataclass(frozen=True)
class Deprecation:
    """The new status of a tag: another one is better, or why it is withdrawn; neither takes an earlier status back."""

    repo: str
    tag: str
    superseded_by: str = ""
    withdrawn_because: str = ""


def deprecate_version(hub: Hub, asked: Deprecation) -> PublishedVersion:
    """Say it in the card and in the list of versions, in one commit onto main; tags and rows stay. Raises HubError.

    Asking again for what is there already does nothing. A lost reply or another writer only means another look.
    """
    failure: HubStale | HubUncertain = HubUncertain("nothing was tried")
    for _ in range(ROUNDS_OF_DEPRECATING):
        state = hub.repo_state(asked.repo, revision=MAIN)
        if state is None:
            raise HubMissing(f"There is no repository {asked.repo}, or it is hidden from this token.")
        hub.check_access(asked.repo, write=True)
        tree = RepositoryTree(hub, repo=asked.repo, sha=state.sha)
        by_tag = {version.tag: version for version in tree.versions()}
        for tag in (asked.tag, asked.superseded_by):
            if tag and tag not in by_tag:
                raise PublishRefused(
                    f"{asked.repo} has no release tagged {tag}; there are {', '.join(sorted(by_tag)) or 'none'}."
                )
        if asked.superseded_by == asked.tag:
            raise PublishRefused(f"{asked.tag} cannot be superseded by itself; name the tag to use instead.")
        status = {"superseded_by": asked.superseded_by, "withdrawn_because": asked.withdrawn_because.strip().rstrip(".")}
        deprecated = by_tag[asked.tag].model_copy(update=status)
        by_tag[asked.tag] = deprecated
        change = tree.change(tree.cards(), versions=tuple(by_tag.values()))
        if not change:
            return deprecated
        title = f"{asked.tag} is {deprecated.status or 'in use again'}"
        try:
            hub.commit(asked.repo, change=change, message=CommitMessage(title, ""), parent=state.sha)
        except (HubStale, HubUncertain) as error:
            failure = error
    raise failure
