"""A repository at one commit: its variants' cards, its list of versions, what people put there, and what the top should be."""

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from dataset_card.card.benchmark_file import BENCHMARK_FILE, benchmark_file
from dataset_card.card.header import split_card
from dataset_card.errors import HubError, PublishRefused
from dataset_card.hub.card_merge import MergeConflict, merged_card
from dataset_card.hub.layout import (
    VERSIONS,
    WRITTEN_BENCHMARK_FILE,
    WRITTEN_CARD,
    ReleaseSummary,
    Versions,
    folders,
    read_versions,
    release_paths,
    tree_change,
    variants_in,
    versions_bytes,
)
from dataset_card.hub.port import Hub, LocalFile, RemoteFile, TreeChange
from dataset_card.hub.repo_card import RepositoryPage, VariantCard, repository_card
from dataset_card.release.digests import bytes_digest
from dataset_card.release.loadable import matches, read_configurations
from dataset_card.release.manifest import CARD, LICENSE, MANIFEST, REPORT

# Longer texts are compared by their size alone, as git names them by another digest than a manifest.
READ_TO_COMPARE = 200_000


class RepositoryTree:
    """One commit. Files are small texts and are read once; `read_before` keeps them by digest over several commits."""

    def __init__(self, hub: Hub, *, repo: str, sha: str | None, read_before: dict[str, str] | None = None) -> None:
        self._hub = hub
        self.repo = repo
        self._sha = sha
        self.files: Mapping[str, RemoteFile] = {} if sha is None else hub.files(repo, sha=sha)
        self._read_before: dict[str, str] = {} if read_before is None else read_before

    def read(self, path: str) -> str | None:
        """Return a text file; None where there is none. Raises HubError for one that arrives damaged."""
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
        """Return manifest, card and report of each variant. Raises PublishRefused for a manifest that cannot be read."""
        cards: dict[str, VariantCard] = {}
        for name in variants_in(self.files):
            cards[name] = VariantCard(self.release(name), self.read(f"{name}/{CARD}") or "", self.read(f"{name}/{REPORT}"))
        return cards

    def release(self, variant: str) -> ReleaseSummary:
        """Return the variant's manifest in short. Raises PublishRefused where it cannot be read."""
        path = f"{variant}/{MANIFEST}"
        try:
            return ReleaseSummary.model_validate_json(self.read(path) or "")
        except ValidationError as error:
            raise PublishRefused(f"{path} in {self.repo} cannot be read; remove that variant, or mend it.") from error

    def versions(self) -> Versions:
        """Return the list of versions, empty where no release is. Raises PublishRefused where it was removed."""
        listed = self.read(VERSIONS)
        if listed is None and variants_in(self.files):
            raise self._refuse_removed(
                VERSIONS, "it alone says when and why each version was published, and which to use no more"
            )
        return read_versions(listed, source=self.repo)

    def top(self, cards: Mapping[str, VariantCard], *, versions: Versions) -> dict[str, LocalFile]:
        """Return the files at the top: the card with what people wrote into it, the card as it is written here, the versions.

        Raises PublishRefused for a card that no release wrote, and for what people changed in a section of a release.
        """
        page = RepositoryPage(self.repo, f"{self._hub.endpoint}/datasets/{self.repo}", cards, versions)
        ours = repository_card(page)
        contents = {CARD: self._merge_card(ours).encode(), WRITTEN_CARD: ours.encode(), VERSIONS: versions_bytes(versions)}
        name = str(split_card(ours, source=CARD)[0]["pretty_name"])
        tasks = benchmark_file(name, sorted(cards))
        contents |= {BENCHMARK_FILE: self._with_edits(tasks).encode(), WRITTEN_BENCHMARK_FILE: tasks.encode()}
        return {path: LocalFile(path, content) for path, content in contents.items()}

    def _with_edits(self, tasks: str) -> str:
        """Return the benchmark's file with what people wrote into it. One that no release wrote stays as it is."""
        current = self.read(BENCHMARK_FILE)
        written = self.read(WRITTEN_BENCHMARK_FILE)
        if current is None or current == written:
            return tasks
        if written is None or written == tasks:
            return current
        raise PublishRefused(
            f"{BENCHMARK_FILE} of {self.repo} was edited by hand, and this release writes something else; put it back on "
            "the Hub."
        )

    def _merge_card(self, ours: str) -> str:
        current = self.read(CARD)
        if current is None:
            return ours
        source = f"{CARD} of {self.repo}"
        written = self.read(WRITTEN_CARD)
        # Without the copy nobody can tell what people wrote, unless there is a header alone, which is merged by field.
        if written is None and split_card(current, source=source)[1].strip():
            if variants_in(self.files):
                raise self._refuse_removed(WRITTEN_CARD, f"without it nobody can tell what people wrote into {CARD}")
            raise PublishRefused(
                f"{self.repo} has a {CARD} that no release wrote, and it would be lost; "
                f"choose another repository, or empty that file."
            )
        try:
            return merged_card(written, ours=ours, theirs=current, source=source)
        except MergeConflict as conflict:
            raise PublishRefused(
                f"{source} was edited by hand where a release writes, and publishing would lose that: {conflict}; put it back "
                "on the Hub, and your words into a section of their own."
            ) from conflict

    def _refuse_removed(self, path: str, because: str) -> PublishRefused:
        return PublishRefused(
            f"{path} was removed from {self.repo}, and {because}; put it back from the history of the repository on the Hub."
        )

    def change(self, cards: Mapping[str, VariantCard], *, versions: Versions) -> TreeChange:
        """Return what turns the top of this commit into what it should be; the variants stay as they are."""
        return tree_change(self.top(cards, versions=versions), tree=self.files, owned=())

    def written_by_hand(self) -> Iterator[str]:
        """Yield a sentence for each thing at the top that people wrote and a release keeps."""
        current = self.read(CARD)
        if current is not None and current != self.read(WRITTEN_CARD):
            yield f"{CARD} was edited by hand, which is kept"
        current = self.read(BENCHMARK_FILE)
        if current is not None and current != self.read(WRITTEN_BENCHMARK_FILE):
            yield f"{BENCHMARK_FILE} was edited by hand, which is kept"
        # The Hub itself puts .gitattributes into every repository.
        written = {CARD, WRITTEN_CARD, BENCHMARK_FILE, WRITTEN_BENCHMARK_FILE, VERSIONS, LICENSE, ".gitattributes"}
        for name in variants_in(self.files):
            written |= self.owned_paths(name)
        for path in sorted(self.files.keys() - written):
            yield f"{path} was added by hand and is kept"

    def owned_paths(self, variant: str) -> frozenset[str]:
        """Return the paths that the variant's last release wrote, as its manifest says."""
        if variant not in variants_in(self.files):
            return frozenset()
        return frozenset(release_paths(self.release(variant)).values())

    def check_foreign(self, release: ReleaseSummary, *, card: str, files: Mapping[str, LocalFile]) -> None:
        """Raise PublishRefused for a file that people added or changed and that publishing would lose, or load as rows."""
        owned = self.owned_paths(release.variant)
        patterns: list[str] = []
        for wanted in read_configurations(card, source=CARD).values():
            patterns += wanted
        for path in sorted(self.files.keys() - owned):
            if not path.startswith(folders(release.variant)):
                continue
            if path in files and not files[path].is_at(self.files[path]):
                raise PublishRefused(f"{path} of {self.repo} was added by hand, and this release would replace it; move it.")
            if path not in files and any(matches(path, pattern) for pattern in patterns):
                raise PublishRefused(
                    f"{path} of {self.repo} was added by hand, and would be loaded as rows of {release.variant}; move it."
                )
        for path in self._edited_files(release.variant):
            if path in files and files[path].is_at(self.files[path]):
                continue
            raise PublishRefused(
                f"{path} of {self.repo} was changed by hand since the last release, and this one would replace it; put it back "
                f"on the Hub, and your words into the {CARD} at the top."
            )

    def _edited_files(self, variant: str) -> Iterator[str]:
        """Yield the files of the variant's last release that no longer are as its manifest says."""
        if variant not in variants_in(self.files):
            return
        release = self.release(variant)
        remote_paths = release_paths(release)
        for file in release.files:
            path = remote_paths[file.path]
            remote = self.files.get(path)
            if remote is not None and file.sha256 and self._differs(remote, size=file.bytes, sha256=file.sha256):
                yield path

    def _differs(self, remote: RemoteFile, *, size: int, sha256: str) -> bool:
        if len(remote.digest) == len(sha256):
            return remote.digest != sha256
        if remote.size != size:
            return True
        if remote.path.endswith((".md", ".yaml")) and remote.size <= READ_TO_COMPARE:
            return bytes_digest((self.read(remote.path) or "").encode()) != sha256
        return False
