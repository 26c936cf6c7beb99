"""Reading a release from the Hub or from a folder: the same checks, and nothing taken that does not pass them."""

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dataset_card.hub.layout import VERSIONS, ReleaseSummary, checked_repo, folders, release_paths, variant_of_tag, variants_in
from dataset_card.hub.port import Hub, HubError, HubMissing, HubUnreachable, LocalFile
from dataset_card.hub.tag_registry import TagEntry, TagRegistry, missing_tag, moved_tag
from dataset_card.hub.versions_file import read_versions
from dataset_card.release.manifest import MANIFEST, Manifest, ManifestError, read_manifest
from dataset_card.release.verify import verify_release
from dataset_card.release.versions import VARIANT

# Beside the variants; no variant begins with a dot.
FILES = ".files"
COMMIT = re.compile(r"[0-9a-f]{40}")
ON_THE_HUB = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)@(?P<revision>[^@\s]+)")


class BadRelease(HubError):
    """What was read is not the release that was asked for, or not whole."""


class MovedTag(BadRelease):
    """The tag names another commit than it did."""


@dataclass(frozen=True)
class Expected:
    """What is known beforehand: the commit of a tag, the manifest's digest, which variant if a commit holds several."""

    commit: str | None = None
    digest: str | None = None
    variant: str | None = None


ANY_RELEASE = Expected()


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
        return self.manifest.digest


@dataclass(frozen=True)
class ReadFile:
    """One file of a commit, for datasets that have no manifest."""

    path: Path
    commit: str
    sha256: str


class ReleaseReader:
    """Reads releases. `open_hub` is called only for those on the Hub.

    What is fetched stays below `cache`, by commit, and serves without the network; `registry` has the commits of
    tags from when they were published or first read here, and a tag that names another commit later is refused.
    """

    def __init__(
        self, open_hub: Callable[[], Hub], *, cache: Path, registry: TagRegistry, notice: Callable[[str], None] = print
    ) -> None:
        self._open_hub, self._cache, self._registry, self._notice = open_hub, cache, registry, notice

    def read(self, source: str | Path, *, expected: Expected = ANY_RELEASE) -> ReadRelease:
        """The release at `OWNER/NAME@TAG`, `OWNER/NAME@COMMIT` or in a folder. Raises HubError with one sentence."""
        name = ON_THE_HUB.fullmatch(str(source))
        if name is not None and not Path(source).exists():
            return self._on_the_hub(checked_repo(name["repo"]), revision=name["revision"], expected=expected)
        folder = Path(source)
        if not (folder / MANIFEST).is_file():
            raise BadRelease(f"{source} is no release: give a folder with a {MANIFEST}, or OWNER/NAME@TAG.")
        problems = verify_release(folder)
        if problems:
            raise BadRelease(f"The release in {folder} is not whole: {problems[0]}")
        return _with_digest(ReadRelease(folder, read_manifest(folder)), digest=expected.digest)

    def status_of(self, release: ReadRelease) -> str:
        """Why a version on the Hub should not be used any more, as a part of a sentence; nothing where the Hub says nothing.

        What was fetched before can be read without the Hub; then a notice says that this could not be looked up.
        """
        if release.repo is None or release.revision is None:
            return ""
        hub = self._open_hub()
        try:
            state = hub.repo_state(release.repo)
            if state is None or VERSIONS not in hub.files(release.repo, sha=state.sha):
                return ""
            listed = read_versions(hub.read(release.repo, sha=state.sha, path=VERSIONS), source=release.repo)
        except HubError as error:
            self._notice(f"Whether {release.repo}@{release.revision} should still be used could not be looked up. {error}")
            return ""
        return next((one.status for one in listed if one.tag == release.revision), "")

    def read_file(self, source: str, *, path: str, expected: Expected = ANY_RELEASE) -> ReadFile:
        """One file of `OWNER/NAME@REVISION`, checked against the commit's tree. `expected.digest` is its sha256."""
        name = ON_THE_HUB.fullmatch(source)
        if name is None:
            raise BadRelease(f"{source} is not of the form OWNER/NAME@REVISION.")
        hub, repo, revision = self._open_hub(), checked_repo(name["repo"]), name["revision"]
        commit, _ = self._resolved(hub, repo=repo, revision=revision, registered=None)
        _refuse_moved(source, commit=commit, before=(expected.commit,))
        remote = hub.files(repo, sha=commit).get(path)
        if remote is None:
            raise HubMissing(f"{source} has no file {path!r}.")
        content = hub.read(repo, sha=commit, path=path)
        sha256 = hashlib.sha256(content).hexdigest()
        if not LocalFile(path, content).is_at(remote) or expected.digest not in (None, sha256, f"sha256:{sha256}"):
            raise BadRelease(f"{path} of {source} has the sha256 {sha256}, which is not that of the file asked for.")
        target = self._home(repo, commit) / FILES / path
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}-{os.getpid()}")
        draft.write_bytes(content)
        return ReadFile(draft.replace(target), commit, sha256)

    def _on_the_hub(self, repo: str, *, revision: str, expected: Expected) -> ReadRelease:
        hub = self._open_hub()
        registered = self._registry.find(hub.endpoint, repo=repo, tag=revision)
        commit, is_tag = self._resolved(hub, repo=repo, revision=revision, registered=registered)
        _refuse_moved(f"{repo}@{revision}", commit=commit, before=(registered.commit if registered else None, expected.commit))
        variant = self._variant(hub, address=f"{repo}@{revision}", commit=commit, asked=expected.variant)
        folder = self._fetched(hub, repo=repo, commit=commit, variant=variant)
        release = ReadRelease(folder, read_manifest(folder), repo, revision, commit)
        if variant == variant_of_tag(revision) and ReleaseSummary.model_validate(release.manifest.model_dump()).tag != revision:
            raise BadRelease(
                f"{repo}@{revision} holds version {release.manifest.version} of {variant}; ask its owner which is meant."
            )
        _with_digest(_with_digest(release, digest=expected.digest), digest=registered.digest if registered else None)
        if is_tag and registered is None:
            facts = {"endpoint": hub.endpoint, "repo": repo, "tag": revision, "commit": commit, "digest": release.digest}
            self._registry.add(TagEntry.model_validate(facts))
        return release

    def _resolved(self, hub: Hub, *, repo: str, revision: str, registered: TagEntry | None) -> tuple[str, bool]:
        """The commit, asked for once, and whether the revision is a tag. A registered tag can do without the Hub."""
        if COMMIT.fullmatch(revision):
            return revision, False
        try:
            refs, state = hub.refs(repo), hub.repo_state(repo, revision=revision)
        except HubUnreachable as error:
            if registered is None or not self._home(repo, registered.commit).is_dir():
                raise
            self._notice(f"{error} Reading what was fetched before.")
            return registered.commit, True
        if state is None:
            raise HubMissing(missing_tag(repo, tag=revision, registered=registered))
        if revision in refs.tags & refs.branches:
            raise BadRelease(f"{repo} has a branch and a tag named {revision}; ask for the commit instead.")
        return state.sha, revision in refs.tags

    def _variant(self, hub: Hub, *, address: str, commit: str, asked: str | None) -> str:
        repo, _, revision = address.partition("@")
        named = asked or variant_of_tag(revision)
        if named and VARIANT.fullmatch(named) and (self._home(repo, commit) / named).is_dir():
            return named
        held = [name for name in variants_in(hub.files(repo, sha=commit)) if VARIANT.fullmatch(name)]
        if named in held:
            return named
        if len(held) == 1 and asked is None:
            return held[0]
        content = f"it holds {', '.join(held)}" if held else "it holds no release"
        raise BadRelease(f"{address} does not say which variant to read, and {content}; name the variant, or its tag.")

    def _fetched(self, hub: Hub, *, repo: str, commit: str, variant: str) -> Path:
        """The release as a folder of its own. What arrives damaged is downloaded once more."""
        target = self._home(repo, commit) / variant
        if target.is_dir():
            if not verify_release(target):
                return target
            shutil.rmtree(target)
        problems = fetch_release(hub, ReleaseLocation(repo, commit, variant), target=target)
        if problems:
            raise BadRelease(f"{variant} of {repo} at commit {commit[:12]} is not whole: {problems[0]}")
        return target

    def _home(self, repo: str, commit: str) -> Path:
        return self._cache / repo / commit


@dataclass(frozen=True)
class ReleaseLocation:
    """A variant at one commit of a repository."""

    repo: str
    commit: str
    variant: str


def fetch_release(hub: Hub, location: ReleaseLocation, *, target: Path, force: bool = False) -> list[str]:
    """Bring the release to `target`; problems as `assemble` returns them.

    What arrives damaged is downloaded once more. `force`: the first try does not trust the client's cache either.
    """
    patterns = [f"{folder}*" for folder in folders(location.variant)]
    problems: list[str] = []
    for forced in (force, True):
        snapshot = hub.download(location.repo, sha=location.commit, patterns=patterns, force=forced)
        problems = assemble(snapshot, variant=location.variant, target=target)
        if not problems:
            break
    return problems


def assemble(snapshot: Path, *, variant: str, target: Path) -> list[str]:
    """Copy the files to their paths in a release folder; problems as verify_release returns them, none when done."""
    draft = target.with_name(f".writing-{secrets.token_hex(8)}")
    try:
        manifest = read_manifest(snapshot / variant)
        for path, remote in release_paths(ReleaseSummary.model_validate(manifest.model_dump())).items():
            if (snapshot / remote).is_file():
                (draft / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(snapshot / remote, draft / path)
        problems = verify_release(draft) if manifest.variant == variant else [f"its manifest is that of {manifest.variant!r}."]
        if not problems:
            draft.rename(target)
    except ManifestError as error:
        return [str(error)]
    except OSError:
        # Another process may have been first.
        if not target.is_dir() or verify_release(target):
            raise
        return []
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return problems


def _refuse_moved(address: str, *, commit: str, before: Sequence[str | None]) -> None:
    for earlier in before:
        if earlier is not None and earlier != commit:
            raise MovedTag(moved_tag(address, commit=commit, before=earlier))


def _with_digest(release: ReadRelease, *, digest: str | None) -> ReadRelease:
    if digest is not None and digest.removeprefix("sha256:") != release.digest:
        raise BadRelease(
            f"The release in {release.folder} has the digest {release.digest[:16]}, not {digest.removeprefix('sha256:')[:16]}; "
            f"it is another one than expected."
        )
    return release
