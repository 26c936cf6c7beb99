"""Reading a release from the Hub or from a folder: the same checks, and nothing taken that does not pass them."""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dataset_card.hub.download import Place, fetch_release
from dataset_card.hub.layout import Summary, variant_of_tag, variants_in
from dataset_card.hub.port import Hub, HubError, HubMissing, HubUnreachable, LocalFile
from dataset_card.hub.preflight import checked_repo
from dataset_card.hub.tag_registry import ReleaseRecord, ReleaseRecords, missing_tag, moved_tag
from dataset_card.release.manifest import MANIFEST, Manifest, read_manifest
from dataset_card.release.verify import verify_release
from dataset_card.release.versions import VARIANT

# Beside the variants; no variant begins with a dot.
FILES = ".files"
COMMIT = re.compile(r"[0-9a-f]{40}")
ON_THE_HUB = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)@(?P<revision>[^@\s]+)")


class BadRelease(HubError):
    """What was read is not the release that was asked for, or not whole."""


class MovedTag(BadRelease):
    """The tag stands for another commit than it did."""


@dataclass(frozen=True)
class Wanted:
    """What is known beforehand: the commit of a tag, the manifest's digest, which variant if a commit holds several."""

    commit: str | None = None
    digest: str | None = None
    variant: str | None = None


ANYTHING = Wanted()


@dataclass(frozen=True)
class ReadRelease:
    """A folder that is what its manifest says. `repo`, `revision` and `commit` are None for a folder of one's own."""

    folder: Path
    manifest: Manifest
    repo: str | None = None
    revision: str | None = None
    commit: str | None = None

    @property
    def digest(self) -> str:
        """The manifest's digest."""
        return self.manifest.digest


@dataclass(frozen=True)
class ReadFile:
    """One file of a commit, for datasets that have no manifest."""

    path: Path
    commit: str
    sha256: str


class Reader:
    """Reads releases. `open_hub` is called only for those on the Hub.

    What was fetched stays below `cache`, by commit, and serves without the network; `records` holds what tags stood for
    when they were published or first read here, and a tag that stands for something else later is refused.
    """

    def __init__(
        self, open_hub: Callable[[], Hub], *, cache: Path, records: ReleaseRecords, notice: Callable[[str], None] = print
    ) -> None:
        self._open_hub, self._cache, self._records, self._notice = open_hub, cache, records, notice

    def read(self, source: str | Path, *, wanted: Wanted = ANYTHING) -> ReadRelease:
        """The release at `OWNER/NAME@TAG`, `OWNER/NAME@COMMIT` or in a folder. Raises HubError with one sentence."""
        asked = ON_THE_HUB.fullmatch(str(source))
        if asked is not None and not Path(source).exists():
            return self._on_the_hub(checked_repo(asked["repo"]), revision=asked["revision"], wanted=wanted)
        folder = Path(source)
        if not (folder / MANIFEST).is_file():
            raise BadRelease(f"{source} is no release: give a folder with a {MANIFEST}, or OWNER/NAME@TAG.")
        problems = verify_release(folder)
        if problems:
            raise BadRelease(f"The release in {folder} is not whole: {problems[0]}")
        return _as_wanted(ReadRelease(folder, read_manifest(folder)), digest=wanted.digest)

    def read_file(self, source: str, *, path: str, wanted: Wanted = ANYTHING) -> ReadFile:
        """One file of `OWNER/NAME@REVISION`, checked against the commit's tree. `wanted.digest` is its sha256."""
        asked = ON_THE_HUB.fullmatch(source)
        if asked is None:
            raise BadRelease(f"{source} is not of the form OWNER/NAME@REVISION.")
        hub, repo, revision = self._open_hub(), checked_repo(asked["repo"]), asked["revision"]
        commit, _ = self._resolved(hub, repo=repo, revision=revision, known=None)
        _refuse_moved(source, commit=commit, known=(wanted.commit,))
        there = hub.files(repo, sha=commit).get(path)
        if there is None:
            raise HubMissing(f"{source} has no file {path!r}.")
        content = hub.read(repo, sha=commit, path=path)
        sha256 = hashlib.sha256(content).hexdigest()
        if not LocalFile(path, content).is_at(there) or wanted.digest not in (None, sha256, f"sha256:{sha256}"):
            raise BadRelease(f"{path} of {source} has the sha256 {sha256}, which is not that of the file asked for.")
        target = self._home(repo, commit) / FILES / path
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}-{os.getpid()}")
        draft.write_bytes(content)
        return ReadFile(draft.replace(target), commit, sha256)

    def _on_the_hub(self, repo: str, *, revision: str, wanted: Wanted) -> ReadRelease:
        hub = self._open_hub()
        known = self._records.find(hub.endpoint, repo=repo, tag=revision)
        commit, is_tag = self._resolved(hub, repo=repo, revision=revision, known=known)
        _refuse_moved(f"{repo}@{revision}", commit=commit, known=(known.commit if known else None, wanted.commit))
        variant = self._variant(hub, place=f"{repo}@{revision}", commit=commit, asked=wanted.variant)
        folder = self._fetched(hub, repo=repo, commit=commit, variant=variant)
        release = ReadRelease(folder, read_manifest(folder), repo, revision, commit)
        if variant == variant_of_tag(revision) and Summary.model_validate(release.manifest.model_dump()).tag != revision:
            raise BadRelease(
                f"{repo}@{revision} holds version {release.manifest.version} of {variant}; ask its owner which is meant."
            )
        _as_wanted(_as_wanted(release, digest=wanted.digest), digest=known.digest if known else None)
        if is_tag and known is None:
            facts = {"endpoint": hub.endpoint, "repo": repo, "tag": revision, "commit": commit, "digest": release.digest}
            self._records.keep(ReleaseRecord.model_validate(facts))
        return release

    def _resolved(self, hub: Hub, *, repo: str, revision: str, known: ReleaseRecord | None) -> tuple[str, bool]:
        """The commit, asked for once, and whether the revision is a tag. A tag that is known can do without the Hub."""
        if COMMIT.fullmatch(revision):
            return revision, False
        try:
            refs, state = hub.refs(repo), hub.look(repo, revision=revision)
        except HubUnreachable as error:
            if known is None or not self._home(repo, known.commit).is_dir():
                raise
            self._notice(f"{error} Reading what was fetched before.")
            return known.commit, True
        if state is None:
            raise HubMissing(missing_tag(repo, tag=revision, known=known))
        if revision in refs.tags & refs.branches:
            raise BadRelease(f"{repo} has a branch and a tag named {revision}; ask for the commit instead.")
        return state.sha, revision in refs.tags

    def _variant(self, hub: Hub, *, place: str, commit: str, asked: str | None) -> str:
        repo, _, revision = place.partition("@")
        named = asked or variant_of_tag(revision)
        if named and VARIANT.fullmatch(named) and (self._home(repo, commit) / named).is_dir():
            return named
        there = [name for name in variants_in(hub.files(repo, sha=commit)) if VARIANT.fullmatch(name)]
        if named in there:
            return named
        if len(there) == 1 and asked is None:
            return there[0]
        held = f"it holds {', '.join(there)}" if there else "it holds no release"
        raise BadRelease(f"{place} does not say which variant to read, and {held}; name the variant, or its tag.")

    def _fetched(self, hub: Hub, *, repo: str, commit: str, variant: str) -> Path:
        """The release as a folder of its own. What arrives damaged is downloaded once more."""
        target = self._home(repo, commit) / variant
        if target.is_dir():
            if not verify_release(target):
                return target
            shutil.rmtree(target)
        problems = fetch_release(hub, Place(repo, commit, variant), target=target)
        if problems:
            raise BadRelease(f"{variant} of {repo} at commit {commit[:12]} is not whole: {problems[0]}")
        return target

    def _home(self, repo: str, commit: str) -> Path:
        return self._cache / repo / commit


def _refuse_moved(place: str, *, commit: str, known: Sequence[str | None]) -> None:
    for before in known:
        if before is not None and before != commit:
            raise MovedTag(moved_tag(place, commit=commit, before=before))


def _as_wanted(release: ReadRelease, *, digest: str | None) -> ReadRelease:
    if digest is not None and digest.removeprefix("sha256:") != release.digest:
        raise BadRelease(
            f"The release in {release.folder} has the digest {release.digest[:16]}, not {digest.removeprefix('sha256:')[:16]}; "
            f"it is another one than expected."
        )
    return release
