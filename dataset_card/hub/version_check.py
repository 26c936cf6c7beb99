"""The rule of versions against what a repository has published, which may be more than lies on this disk."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dataset_card.diff.card_section import too_low
from dataset_card.diff.compare import compare, read_side
from dataset_card.hub.download import Place, fetch_release
from dataset_card.hub.layout import Summary, variant_of_tag
from dataset_card.hub.port import Hub, HubError, HubMissing
from dataset_card.release.versions import is_version, numbers, smallest_after


class PublishRefused(HubError):
    """The repository is not one that this release may be added to, or not under this version."""


@dataclass(frozen=True)
class Candidate:
    """A release on the disk that has no tag in the repository yet."""

    folder: Path
    repo: str
    release: Summary


def newest_tag(tags: Iterable[str], *, variant: str) -> str | None:
    """The tag of the variant's highest version."""
    own = [tag for tag in tags if variant_of_tag(tag) == variant and is_version(_version(tag))]
    return max(own, key=lambda tag: numbers(_version(tag)), default=None)


def check_rule(hub: Hub, candidate: Candidate, *, tag: str) -> None:
    """Raise PublishRefused unless the candidate's version may follow that of the tag, the newest of the variant."""
    release, last = candidate.release, _version(tag)
    if numbers(last) > release.numbers:
        raise PublishRefused(
            f"{candidate.repo} already has {release.variant} {last}, which is newer than {release.version}; "
            f"publish a higher version."
        )
    most = smallest_after(last, level="major")
    if release.numbers >= numbers(most):
        return  # nothing can ask for more, so nothing needs to be fetched
    state = hub.look(candidate.repo, revision=tag)
    if state is None:
        raise HubMissing(f"{candidate.repo} lists the tag {tag}, but does not show its commit; try again.")
    with tempfile.TemporaryDirectory(prefix="comparing-") as scratch:
        folder = Path(scratch) / release.variant
        problems = fetch_release(hub, Place(candidate.repo, state.sha, release.variant), target=folder)
        if problems:
            raise PublishRefused(
                f"{candidate.repo}@{tag} cannot be compared with: {problems[0].rstrip('.')}; publish {most} or higher."
            )
        diff = compare(read_side(folder), read_side(candidate.folder))
    smallest = smallest_after(last, level=diff.level)
    if release.numbers < numbers(smallest):
        raise PublishRefused(f"{candidate.repo}: {too_low(release.version, diff=diff, smallest=smallest)}")


def _version(tag: str) -> str:
    return tag.rpartition("-v")[2]
