"""Publishing: one commit, the tag last, and the repository opened only when both are there.

Nothing is remembered between steps. Each round looks at the Hub and does what is missing, so that a lost reply, another
publisher or a killed process only means another look, and never a second commit.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from dataset_card.hub.plan import Order, Plan, Planner, TagConflict, differs, restricts
from dataset_card.hub.port import Change, CommitMessage, Hub, HubError, HubMissing, HubStale, HubUncertain
from dataset_card.hub.tag_registry import ReleaseRecord, ReleaseRecords

ROUNDS = 8
FIRST_PAUSE = 0.5
LATEST_PROPOSALS = 20


@dataclass(frozen=True)
class Published:
    """What the Hub holds now. `commit` and `tag` None: a pull request is all there is.

    `created` is false when the tag, or the pull request, was there before.
    """

    repo: str
    digest: str
    commit: str | None
    tag: str | None
    created: bool
    pull_request: int | None = None


class Publisher:
    """Brings a release to a Hub. `records` None: what is published is not written down; `notice` is told of pauses."""

    def __init__(
        self,
        hub: Hub,
        *,
        records: ReleaseRecords | None = None,
        pause: Callable[[float], None] = time.sleep,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        self._hub, self._records, self._pause, self._notice = hub, records, pause, notice

    @property
    def endpoint(self) -> str:
        """The Hub's address."""
        return self._hub.endpoint

    def commit_of(self, repo: str, *, revision: str) -> str | None:
        """The commit that a tag or branch stands for now; None: it is not there, or hidden. Raises HubError."""
        state = self._hub.look(repo, revision=revision)
        return None if state is None else state.sha

    def preview(self, order: Order) -> tuple[Planner, Plan]:
        """The release and what publishing it would do; nothing is written."""
        planner = Planner(self._hub, order=order)
        self._check_record(planner)
        return planner, planner.plan()

    def publish(self, order: Order) -> Published:
        """Do what is missing. Raises HubError; running it again goes on from there."""
        planner = Planner(self._hub, order=order)
        self._check_record(planner)
        trouble: HubError = HubUncertain("nothing was tried")
        created = False
        for number in range(ROUNDS):
            try:
                plan = planner.plan()
                created = created or plan.tagged is None
                return self._round(planner, plan, created=created)
            except (HubStale, HubUncertain) as error:
                trouble = error
            wait = max(getattr(trouble, "wait", 0.0), FIRST_PAUSE * 2**number)
            if self._notice is not None:
                self._notice(f"{str(trouble).rstrip('.')}; looking again in {wait:.0f} s.")
            self._pause(wait)
        words = str(trouble).rstrip(".")
        raise HubError(
            f"{planner.release.tag} is not published in {order.repo} yet: {words}; run it again to go on."
        ) from trouble

    def _round(self, planner: Planner, plan: Plan, *, created: bool) -> Published:
        if plan.state is None:
            self._hub.create(planner.repo)
            plan = planner.plan()
        if plan.state is None:
            raise HubUncertain(f"{planner.repo} was made, but does not show yet")
        if planner.order.pull_request and plan.tagged is None:
            return self._proposed(planner, plan, head=plan.state.sha)
        if restricts(plan.state, planner.order):
            self._set_visibility(planner)
        commit = plan.tagged or self._tagged(planner, plan.change, head=plan.state.sha)
        if differs(plan.state, planner.order) and not restricts(plan.state, planner.order):
            self._set_visibility(planner)
        self._keep_record(planner, commit)
        return Published(planner.repo, planner.release.digest, commit, planner.release.tag, created)

    def _tagged(self, planner: Planner, change: Change, *, head: str) -> str:
        """The commit that carries the tag, after one commit at most."""
        if change:
            head = self._hub.commit(planner.repo, change=change, message=commit_message(planner), parent=head)
        if planner.change_at(head):
            raise HubUncertain(f"commit {head[:12]} does not hold what was sent")
        tag, message = planner.release.tag, f"release-digest: sha256:{planner.release.digest}"
        self._hub.tag(planner.repo, tag=tag, sha=head, message=message)
        state = self._hub.look(planner.repo, revision=tag)
        if state is None or state.sha != head:
            raise HubUncertain(f"the tag {tag} is not at commit {head[:12]}")
        return head

    def _proposed(self, planner: Planner, plan: Plan, *, head: str) -> Published:
        repo, digest = planner.repo, planner.release.digest
        if not plan.change:
            return Published(repo, digest, head, None, created=False)
        latest = sorted(plan.pull_requests.items(), reverse=True)[:LATEST_PROPOSALS]
        there = next((number for number, sha in latest if planner.holds(sha)), None)
        if there is not None:
            return Published(repo, digest, None, None, created=False, pull_request=there)
        number = self._hub.propose(repo, change=plan.change, message=commit_message(planner), parent=head)
        return Published(repo, digest, None, None, created=True, pull_request=number)

    def _set_visibility(self, planner: Planner) -> None:
        if planner.order.visibility is not None:
            self._hub.set_visibility(planner.repo, visibility=planner.order.visibility)

    def _check_record(self, planner: Planner) -> None:
        known = self._known(planner)
        if known is not None and known.digest != planner.release.digest:
            raise TagConflict(
                f"{planner.release.tag} was published in {planner.repo} with other content (its digest begins with "
                f"{known.digest[:12]}, this one's with {planner.release.digest[:12]}); choose a higher version."
            )

    def _keep_record(self, planner: Planner, commit: str) -> None:
        """Write down where the tag is. Raises TagConflict when it was elsewhere, and nobody here moved it."""
        known, tag = self._known(planner), planner.release.tag
        if self._records is None or (known is not None and known.commit == commit):
            return
        if known is not None and self._holds(planner, known.commit):
            raise TagConflict(
                f"{tag} in {planner.repo} was at commit {known.commit[:12]} and is now at {commit[:12]}; somebody moved it, "
                f"so put it back, or publish a higher version."
            )
        record = ReleaseRecord(
            endpoint=self._hub.endpoint, repo=planner.repo, tag=tag, commit=commit, digest=planner.release.digest
        )
        self._records.keep(record)

    def _holds(self, planner: Planner, sha: str) -> bool:
        """False also where the commit is gone, as in a repository that was deleted and made anew."""
        try:
            return planner.holds(sha)
        except HubMissing:
            return False

    def _known(self, planner: Planner) -> ReleaseRecord | None:
        if self._records is None:
            return None
        return self._records.find(self._hub.endpoint, repo=planner.repo, tag=planner.release.tag)


def commit_message(planner: Planner) -> CommitMessage:
    """Says which release it is, and its digest for whoever looks at the history alone."""
    release = planner.release
    return CommitMessage(f"Release {release.variant} {release.version}", f"release-digest: sha256:{release.digest}")
