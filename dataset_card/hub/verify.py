"""Whether a repository still holds a release at its tag: everything is fetched anew, and nothing kept is believed."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dataset_card.card.configurations import configurations_of, matches
from dataset_card.hub.download import Place, fetch_release
from dataset_card.hub.layout import variant_of_tag, variants_in
from dataset_card.hub.port import Hub, RemoteFile
from dataset_card.hub.repo_card import CardError, split_card
from dataset_card.hub.tag_registry import ReleaseRecord, missing_tag, moved_tag
from dataset_card.release.manifest import CARD, read_manifest
from dataset_card.release.verify import examine_release


@dataclass(frozen=True)
class Claim:
    """What shall hold: this repository has this tag, which stands for what it did when it was published or read here."""

    repo: str
    tag: str
    known: ReleaseRecord | None = None
    variant: str | None = None

    @property
    def place(self) -> str:
        """OWNER/NAME@TAG."""
        return f"{self.repo}@{self.tag}"


def repository_problems(hub: Hub, claim: Claim) -> list[str]:
    """A sentence for each problem; none when all is well. Raises HubError when the Hub cannot be asked."""
    state = hub.look(claim.repo, revision=claim.tag)
    if state is None:
        return [missing_tag(claim.repo, tag=claim.tag, known=claim.known)]
    problems = list[str]()
    if claim.known is not None and claim.known.commit != state.sha:
        problems.append(moved_tag(claim.place, commit=state.sha, before=claim.known.commit))
    tree = hub.files(claim.repo, sha=state.sha)
    variant = claim.variant or variant_of_tag(claim.tag)
    if variant not in variants_in(tree):
        held = ", ".join(variants_in(tree)) or "no release"
        return [*problems, f"{claim.place} holds {held}, and not {variant or 'a variant that its name tells'}."]
    with tempfile.TemporaryDirectory(prefix="verifying-") as scratch:
        folder = Path(scratch) / variant
        place = Place(claim.repo, state.sha, variant)
        found = fetch_release(hub, place, target=folder, anew=True) or examine_release(folder)
        if not found:
            found = list(_release_problems(claim, folder))
    return [*problems, *found, *_card_problems(hub, place, tree=tree)]


def _release_problems(claim: Claim, folder: Path) -> Iterator[str]:
    manifest = read_manifest(folder)
    if variant_of_tag(claim.tag) and claim.tag != f"{manifest.variant}-v{manifest.version}":
        yield f"{claim.place} holds version {manifest.version} of {manifest.variant}."
    if claim.known is not None and claim.known.digest != manifest.digest:
        yield f"{claim.place} had the digest {claim.known.digest[:16]} and now has {manifest.digest[:16]}."


def _card_problems(hub: Hub, place: Place, *, tree: dict[str, RemoteFile]) -> Iterator[str]:
    """The card at the top is the one whose configurations the Hub and `datasets` know."""
    if CARD not in tree:
        yield f"{place.repo} has no {CARD} at commit {place.commit[:12]}, so nothing of it can be loaded by name."
        return
    text = hub.read(place.repo, sha=place.commit, path=CARD).decode(errors="replace")
    try:
        configurations = dict(configurations_of(split_card(text, place=f"{CARD} of {place.repo}")[0]))
    except CardError as error:
        yield str(error)
        return
    except (LookupError, TypeError):
        yield f"The configurations in {CARD} of {place.repo} cannot be read."
        return
    if place.variant not in configurations:
        yield f"{CARD} of {place.repo} has no configuration {place.variant!r}."
    for name, patterns in configurations.items():
        for pattern in patterns or [""]:
            if not any(matches(path, pattern) for path in tree):
                yield f"The configuration {name!r} in {CARD} of {place.repo} asks for {pattern!r}, which matches no file."
