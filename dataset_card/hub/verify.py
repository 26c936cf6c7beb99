"""Whether a repository still holds a release at its tag: everything is fetched anew, and no cache is trusted."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dataset_card.card.header import CardError, configurations_of, matches, split_card
from dataset_card.hub.layout import variant_of_tag, variants_in
from dataset_card.hub.port import Hub, RemoteFile
from dataset_card.hub.read import ReleaseLocation, fetch_release
from dataset_card.hub.tag_registry import TagEntry, missing_tag, moved_tag
from dataset_card.release.manifest import CARD, read_manifest
from dataset_card.release.verify import examine_release


@dataclass(frozen=True)
class ExpectedTag:
    """What shall hold: this repository has this tag, at the commit that it had when it was published or read here."""

    repo: str
    tag: str
    registered: TagEntry | None = None
    variant: str | None = None

    @property
    def address(self) -> str:
        """The repository and the tag as OWNER/NAME@TAG."""
        return f"{self.repo}@{self.tag}"


def repository_problems(hub: Hub, expected: ExpectedTag) -> list[str]:
    """A sentence for each problem; none when all is well. Raises HubError when the Hub cannot be asked."""
    state = hub.repo_state(expected.repo, revision=expected.tag)
    if state is None:
        return [missing_tag(expected.repo, tag=expected.tag, registered=expected.registered)]
    problems = list[str]()
    if expected.registered is not None and expected.registered.commit != state.sha:
        problems.append(moved_tag(expected.address, commit=state.sha, before=expected.registered.commit))
    tree = hub.files(expected.repo, sha=state.sha)
    variant = expected.variant or variant_of_tag(expected.tag)
    if variant not in variants_in(tree):
        held = ", ".join(variants_in(tree)) or "no release"
        return [*problems, f"{expected.address} holds {held}, and not {variant or 'a variant that its name tells'}."]
    with tempfile.TemporaryDirectory(prefix="verifying-") as scratch:
        folder = Path(scratch) / variant
        location = ReleaseLocation(expected.repo, state.sha, variant)
        found_problems = fetch_release(hub, location, target=folder, force=True) or examine_release(folder)
        if not found_problems:
            found_problems = list(_release_problems(expected, folder))
    return [*problems, *found_problems, *_card_problems(hub, location, tree=tree)]


def _release_problems(expected: ExpectedTag, folder: Path) -> Iterator[str]:
    manifest = read_manifest(folder)
    if variant_of_tag(expected.tag) and expected.tag != f"{manifest.variant}-v{manifest.version}":
        yield f"{expected.address} holds version {manifest.version} of {manifest.variant}."
    if expected.registered is not None and expected.registered.digest != manifest.digest:
        yield f"{expected.address} had the digest {expected.registered.digest[:16]} and now has {manifest.digest[:16]}."


def _card_problems(hub: Hub, location: ReleaseLocation, *, tree: dict[str, RemoteFile]) -> Iterator[str]:
    """The card at the top is the one whose configurations the Hub and `datasets` know."""
    if CARD not in tree:
        yield f"{location.repo} has no {CARD} at commit {location.commit[:12]}, so nothing of it can be loaded by name."
        return
    text = hub.read(location.repo, sha=location.commit, path=CARD).decode(errors="replace")
    try:
        configurations = dict(configurations_of(split_card(text, source=f"{CARD} of {location.repo}")[0]))
    except CardError as error:
        yield str(error)
        return
    except (LookupError, TypeError):
        yield f"The configurations in {CARD} of {location.repo} cannot be read."
        return
    if location.variant not in configurations:
        yield f"{CARD} of {location.repo} has no configuration {location.variant!r}."
    for name, patterns in configurations.items():
        for pattern in patterns or [""]:
            if not any(matches(path, pattern) for path in tree):
                yield f"The configuration {name!r} in {CARD} of {location.repo} asks for {pattern!r}, which matches no file."
