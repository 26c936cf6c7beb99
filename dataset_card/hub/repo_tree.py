"""A repository at one commit: its variants' cards, its list of versions, what people put there, and what the top should be."""

from collections.abc import Collection, Iterator, Mapping

from pydantic import ValidationError

from dataset_card.card.header import configurations_of, matches, split_card
from dataset_card.hub.layout import (
    VERSIONS,
    WRITTEN_CARD,
    ReleaseSummary,
    folders,
    release_paths,
    tree_change,
    variant_of_tag,
    variants_in,
)
from dataset_card.hub.merge import MergeConflict
from dataset_card.hub.port import Hub, HubError, LocalFile, PublishRefused, RemoteFile, TreeChange
from dataset_card.hub.repo_card import RepositoryPage, VariantCard, merged_card, repository_card
from dataset_card.hub.versions_file import Versions, newest_tag, read_versions, versions_bytes
from dataset_card.release.digests import bytes_digest
from dataset_card.release.manifest import CARD, MANIFEST

# Longer texts are compared by their size alone, as git names them by another digest than a manifest.
READ_TO_COMPARE = 200_000


class RepositoryTree:
    """Reads one commit. Files are small texts and are read once; `read_before` keeps them by digest over several commits."""

    def __init__(self, hub: Hub, *, repo: str, sha: str | None, read_before: dict[str, str] | None = None) -> None:
        self._hub, self.repo, self._sha = hub, repo, sha
        self.files: Mapping[str, RemoteFile] = {} if sha is None else hub.files(repo, sha=sha)
        self._read_before: dict[str, str] = {} if read_before is None else read_before

    def read(self, path: str) -> str | None:
        """A text file; None where there is none. Raises HubError for one that arrives damaged."""
        if path not in self.files or self._sha is None:
            return None
        remote = self.files[path]
        if remote.digest not in self._read_before:
            content = self._hub.read(self.repo, sha=self._sha, path=path)
            if not LocalFile(path, content).is_at(remote):
                raise HubError(f"{path} of {self.repo} arrived damaged; try again.")
            self._read_before[remote.digest] = content.decode(errors="replace")
        return self._read_before[remote.digest]

    def cards(self) -> dict[str, VariantCard]:
        """Manifest and card of each variant. Raises PublishRefused for a manifest that cannot be read."""
        return {name: VariantCard(self.release(name), self.read(f"{name}/{CARD}") or "") for name in variants_in(self.files)}

    def release(self, variant: str) -> ReleaseSummary:
        """What the variant's manifest says. Raises PublishRefused where it cannot be read."""
        path = f"{folders(variant)[0]}{MANIFEST}"
        try:
            return ReleaseSummary.model_validate_json(self.read(path) or "")
        except ValidationError as error:
            raise PublishRefused(f"{path} in {self.repo} cannot be read; remove that variant, or mend it.") from error

    def versions(self) -> Versions:
        """The list of versions, none where there is no such file."""
        return read_versions(self.read(VERSIONS), source=self.repo)

    def top(self, cards: Mapping[str, VariantCard], *, versions: Versions, tags: Collection[str]) -> dict[str, LocalFile]:
        """The files at the top: the card with what people wrote into it, the card as it is written here, the list of versions.

        Raises PublishRefused where people and this release changed the same lines.
        """
        page = RepositoryPage(self.repo, f"{self._hub.endpoint}/datasets/{self.repo}", cards, versions)
        ours = repository_card(page)
        text, current = ours, self.read(CARD)
        if current is not None:
            try:
                text = merged_card(self._written(tags, current), ours=ours, theirs=current, source=f"{CARD} of {self.repo}")
            except MergeConflict as conflict:
                raise PublishRefused(
                    f"{CARD} of {self.repo} was edited by hand where this release writes something else, and nothing of it "
                    f"shall be lost: {conflict}; put it back on the Hub, and your words into a section of their own."
                ) from conflict
        contents = {CARD: text.encode(), WRITTEN_CARD: ours.encode(), VERSIONS: versions_bytes(versions)}
        return {path: LocalFile(path, content) for path, content in contents.items()}

    def change(self, cards: Mapping[str, VariantCard], *, versions: Versions, tags: Collection[str]) -> TreeChange:
        """What turns the top of this commit into what it should be; the variants stay as they are."""
        return tree_change(self.top(cards, versions=versions, tags=tags), tree=self.files, owned=())

    def written_by_hand(self, tags: Collection[str]) -> Iterator[str]:
        """A sentence for each thing at the top that people wrote and a release keeps."""
        current = self.read(CARD)
        if current is not None and current != self._written(tags, current):
            yield f"{CARD} was edited by hand, which is kept"
        owned = {path for name in variants_in(self.files) for path in release_paths(self.release(name)).values()}
        ours = {CARD, WRITTEN_CARD, VERSIONS, ".gitattributes", "LICENSE", *owned}
        yield from (f"{path} was added by hand and is kept" for path in sorted(self.files) if path not in ours)

    def owned(self, variant: str) -> frozenset[str]:
        """Paths that the variant's last release wrote, as its manifest says."""
        return frozenset(release_paths(self.release(variant)).values()) if variant in variants_in(self.files) else frozenset()

    def check_foreign(self, release: ReleaseSummary, *, card: str, files: Mapping[str, LocalFile]) -> None:
        """Raise PublishRefused for a file that people added or changed and that publishing would lose, or load as rows."""
        owned = self.owned(release.variant)
        header = split_card(card, source=CARD)[0]
        patterns = [pattern for _, wanted in configurations_of(header) for pattern in wanted]
        for path in sorted(path for path in self.files if path.startswith(folders(release.variant))):
            if path in owned:
                continue
            if path in files and not files[path].is_at(self.files[path]):
                raise PublishRefused(f"{path} of {self.repo} was added by hand, and this release would replace it; move it.")
            if path not in files and any(matches(path, pattern) for pattern in patterns):
                raise PublishRefused(
                    f"{path} of {self.repo} was added by hand, and would be loaded as rows of {release.variant}; move it."
                )
        for path in self._edited(release.variant):
            if path in files and files[path].is_at(self.files[path]):
                continue
            raise PublishRefused(
                f"{path} of {self.repo} was changed by hand since the last release, and this one would replace it; put it back "
                f"on the Hub, and your words into the {CARD} at the top."
            )

    def _edited(self, variant: str) -> Iterator[str]:
        """Files of the variant's last release that no longer are as its manifest says."""
        if variant not in variants_in(self.files):
            return
        release = self.release(variant)
        remote_paths = release_paths(release)
        for file in release.files:
            path = remote_paths[file.path]
            remote = self.files.get(path)
            if remote is None or not file.sha256:
                continue
            is_text = len(remote.digest) != len(file.sha256)
            if not is_text:
                differs = remote.digest != file.sha256
            elif remote.size != file.bytes:
                differs = True
            elif path.endswith((".md", ".yaml")) and remote.size <= READ_TO_COMPARE:
                differs = bytes_digest((self.read(path) or "").encode()) != file.sha256
            else:
                differs = False
            if differs:
                yield path

    def _written(self, tags: Collection[str], current: str) -> str | None:
        """The card as a release wrote it last; None where none did.

        Releases of before kept no copy, and wrote over everything: the card at one of the newest tags is what they wrote.
        """
        if WRITTEN_CARD in self.files:
            return self.read(WRITTEN_CARD)
        if not variants_in(self.files):
            return None
        newest = {newest_tag(tags, variant=variant) for variant in map(variant_of_tag, tags)} - {None}
        texts = [text for tag in sorted(filter(None, newest)) if (text := self._card_at(tag)) is not None]
        return current if current in texts or not texts else texts[0]

    def _card_at(self, tag: str) -> str | None:
        state = self._hub.repo_state(self.repo, revision=tag)
        return (
            None
            if state is None
            else RepositoryTree(self._hub, repo=self.repo, sha=state.sha, read_before=self._read_before).read(CARD)
        )
