"""Reading a release from the Hub or from a folder, and verifying a repository: nothing passes that is not as released."""

import hashlib
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from assets.records.paths import PathRefused, path_inside
from assets.whole_files import whole_file
from dataset_card.card.header import CardError
from dataset_card.errors import HubError, HubMissing, HubUnreachable
from dataset_card.hub.layout import (
    VERSIONS,
    BaselineScore,
    ReleaseSummary,
    checked_repo,
    folders,
    read_versions,
    release_paths,
    variant_of_tag,
    variants_in,
)
from dataset_card.hub.port import Hub, LocalFile
from dataset_card.hub.tag_registry import TagEntry, TagRegistry, missing_tag, moved_tag
from dataset_card.release.loadable import read_configurations, unmatched_configurations
from dataset_card.release.manifest import CARD, MANIFEST, Manifest, ManifestError, read_manifest
from dataset_card.release.verify import remedy, verify_release
from dataset_card.release.versions import ON_THE_HUB, VARIANT

# Beside the variants; no variant begins with a dot.
FILES = ".files"
COMMIT = re.compile(r"[0-9a-f]{40}")


class BadRelease(HubError):
    """The release that was read is not the one that was asked for, or not whole."""


class MovedTag(BadRelease):
    """The tag names another commit than it did."""


@dataclass(frozen=True)
class Expected:
    """The facts known beforehand: the commit of a tag, the manifest's digest, which variant if a commit holds several."""

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
        self._open_hub = open_hub
        self._cache = cache
        self._registry = registry
        self._notice = notice

    def read(self, source: str | Path, *, expected: Expected = ANY_RELEASE) -> ReadRelease:
        """Return the release at `OWNER/NAME@TAG`, `OWNER/NAME@COMMIT` or in a folder. Raises HubError with one sentence."""
        name = ON_THE_HUB.fullmatch(str(source))
        # A folder may be called like a tag on the Hub; a folder that is here comes first.
        if name is not None and not Path(source).exists():
            return self._on_the_hub(checked_repo(name["repo"]), revision=name["revision"], expected=expected)
        folder = Path(source)
        if not (folder / MANIFEST).is_file():
            raise BadRelease(f"{source} is no release: give a folder with a {MANIFEST}, or OWNER/NAME@TAG.")
        problems = verify_release(folder)
        if problems:
            raise BadRelease(f"The release in {folder} is not whole: {problems[0]} {remedy(folder)}")
        release = ReadRelease(folder, read_manifest(folder))
        _check_digest(release, expected.digest)
        return release

    def status_of(self, release: ReadRelease) -> str:
        """Return why a version on the Hub should not be used any more, as a part of a sentence; empty where it may be used.

        A release that was fetched before can be read without the Hub; then a notice says that this could not be looked up.
        """
        if release.repo is None or release.revision is None:
            return ""
        hub = self._open_hub()
        try:
            state = hub.repo_state(release.repo)
            if state is None or VERSIONS not in hub.files(release.repo, sha=state.sha):
                return ""
            listed = read_versions(hub.read(release.repo, sha=state.sha, path=VERSIONS), source=release.repo)
        # A release that is here can be read without the Hub, and a notice tells what was not looked up.
        except HubError as error:
            self._notice(f"Whether {release.repo}@{release.revision} should still be used could not be looked up. {error}")
            return ""
        for version in listed:
            if version.tag == release.revision:
                return version.status
        return ""

    def read_file(self, source: str, *, path: str, expected: Expected = ANY_RELEASE) -> ReadFile:
        """Fetch one file of `OWNER/NAME@REVISION`, checked against the commit's tree. `expected.digest` is its sha256."""
        name = ON_THE_HUB.fullmatch(source)
        if name is None:
            raise BadRelease(f"{source} is not of the form OWNER/NAME@REVISION.")
        hub = self._open_hub()
        repo = checked_repo(name["repo"])
        commit, _ = self._resolve_revision(hub, repo=repo, revision=name["revision"], registered=None)
        _refuse_moved(source, commit=commit, before=expected.commit)
        remote = hub.files(repo, sha=commit).get(path)
        if remote is None:
            raise HubMissing(f"{source} has no file {path!r}.")
        content = hub.read(repo, sha=commit, path=path)
        sha256 = hashlib.sha256(content).hexdigest()
        if not LocalFile(path, content).is_at(remote) or expected.digest not in (None, sha256, f"sha256:{sha256}"):
            raise BadRelease(f"{path} of {source} has the sha256 {sha256}, which is not that of the file asked for.")
        try:
            target = path_inside(self._home(repo, commit) / FILES, path)
        except PathRefused as problem:
            raise BadRelease(f"The file of {source} cannot be kept here: {problem}.") from problem
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(target) as draft:
            draft.write_bytes(content)
        return ReadFile(target, commit, sha256)

    def _on_the_hub(self, repo: str, *, revision: str, expected: Expected) -> ReadRelease:
        hub = self._open_hub()
        registered = self._registry.find(hub.endpoint, repo=repo, tag=revision)
        commit, is_tag = self._resolve_revision(hub, repo=repo, revision=revision, registered=registered)
        address = f"{repo}@{revision}"
        if registered is not None:
            _refuse_moved(address, commit=commit, before=registered.commit)
        _refuse_moved(address, commit=commit, before=expected.commit)
        variant = self._variant(hub, address=address, commit=commit, asked=expected.variant)
        folder = self._fetch_folder(hub, repo=repo, commit=commit, variant=variant)
        release = ReadRelease(folder, read_manifest(folder), repo, revision, commit)
        if variant == variant_of_tag(revision) and _summary(release.manifest).tag != revision:
            raise BadRelease(f"{address} holds version {release.manifest.version} of {variant}; ask its owner which is meant.")
        _check_digest(release, expected.digest)
        if registered is not None:
            _check_digest(release, registered.digest)
        elif is_tag:
            entry = TagEntry(endpoint=hub.endpoint, repo=repo, tag=revision, commit=commit, digest=release.digest)
            self._registry.add(entry)
        return release

    def _resolve_revision(self, hub: Hub, *, repo: str, revision: str, registered: TagEntry | None) -> tuple[str, bool]:
        """Return the commit, asked for once, and True where the revision is a tag. A registered tag can do without the Hub."""
        # A commit never changes, so that nothing has to be asked.
        if COMMIT.fullmatch(revision):
            return revision, False
        try:
            refs = hub.refs(repo)
            state = hub.repo_state(repo, revision=revision)
        except HubUnreachable as error:
            if registered is None or not self._home(repo, registered.commit).is_dir():
                raise
            self._notice(f"{error} Reading what was fetched before.")
            return registered.commit, True
        if state is None:
            raise HubMissing(missing_tag(repo, tag=revision, tags=refs.tags, registered=registered))
        if revision in refs.tags & refs.branches:
            raise BadRelease(f"{repo} has a branch and a tag named {revision}; ask for the commit instead.")
        return state.sha, revision in refs.tags

    def _variant(self, hub: Hub, *, address: str, commit: str, asked: str | None) -> str:
        repo, _, revision = address.partition("@")
        named = asked or variant_of_tag(revision)
        if named and VARIANT.fullmatch(named) and (self._home(repo, commit) / named).is_dir():
            return named
        held = variants_in(hub.files(repo, sha=commit))
        if named in held:
            return named
        if len(held) == 1 and asked is None:
            return held[0]
        content = f"it holds {', '.join(held)}" if held else "it holds no release"
        raise BadRelease(f"{address} does not say which variant to read, and {content}; name the variant, or its tag.")

    def _fetch_folder(self, hub: Hub, *, repo: str, commit: str, variant: str) -> Path:
        """Return the release as a folder of its own."""
        target = self._home(repo, commit) / variant
        if target.is_dir():
            # The cache is a folder that anybody may have changed.
            if not verify_release(target):
                return target
            shutil.rmtree(target)
        problems = fetch_release(hub, repo, commit=commit, variant=variant, target=target)
        if problems:
            raise BadRelease(f"{variant} of {repo} at commit {commit[:12]} is not whole: {problems[0]}")
        return target

    def _home(self, repo: str, commit: str) -> Path:
        return self._cache / repo / commit


def fetch_release(hub: Hub, repo: str, *, commit: str, variant: str, target: Path, force: bool = False) -> list[str]:
    """Bring the release to `target`; return problems as `verify_release` does, none when done.

    Files that arrive damaged are downloaded once more. `force`: the first try does not trust the client's cache either.
    """
    patterns = [f"{folder}*" for folder in folders(variant)]
    problems: list[str] = []
    for forced in (force, True):
        snapshot = hub.download(repo, sha=commit, patterns=patterns, force=forced)
        problems = _assemble(snapshot, variant=variant, target=target)
        if not problems:
            break
    return problems


def _assemble(snapshot: Path, *, variant: str, target: Path) -> list[str]:
    """Copy the files to their paths in a release folder, which shows under its name only when it is whole."""
    # Beside its destination, so that the last step is a move within one file system.
    draft = target.with_name(f".writing-{secrets.token_hex(8)}")
    try:
        manifest = read_manifest(snapshot / variant)
        if manifest.variant != variant:
            return [f"its manifest is that of {manifest.variant!r}."]
        for path, remote in release_paths(_summary(manifest)).items():
            if (snapshot / remote).is_file():
                (draft / path).parent.mkdir(parents=True, exist_ok=True)
                # Copied, because the client may clear its cache at any time.
                shutil.copyfile(snapshot / remote, draft / path)
        problems = verify_release(draft)
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


def _summary(manifest: Manifest) -> ReleaseSummary:
    return ReleaseSummary.model_validate(manifest.model_dump())


def _refuse_moved(address: str, *, commit: str, before: str | None) -> None:
    if before is not None and before != commit:
        raise MovedTag(moved_tag(address, commit=commit, before=before))


def _check_digest(release: ReadRelease, expected: str | None) -> None:
    if expected is not None and expected.removeprefix("sha256:") != release.digest:
        raise BadRelease(
            f"The release in {release.folder} has the digest {release.digest[:16]}, not "
            f"{expected.removeprefix('sha256:')[:16]}; it is another one than expected."
        )


def repository_problems(
    hub: Hub,
    repo: str,
    *,
    tag: str,
    examine: Callable[[Path], list[str]],
    variant: str = "",
    registered: TagEntry | None = None,
) -> list[str]:
    """Return a sentence for each problem with a release at its tag; none when all is well.

    `examine` returns those of its folder. `registered`: the tag as it was when it was published or read here. Everything is
    fetched anew, and no cache is trusted. Raises HubError when the Hub cannot be asked.
    """
    address = f"{repo}@{tag}"
    state = hub.repo_state(repo, revision=tag)
    if state is None:
        tags = hub.refs(repo).tags if hub.repo_state(repo) else ()
        return [missing_tag(repo, tag=tag, tags=tags, registered=registered)]
    problems: list[str] = []
    if registered is not None and registered.commit != state.sha:
        problems.append(moved_tag(address, commit=state.sha, before=registered.commit))
    tree = hub.files(repo, sha=state.sha)
    variant = variant or variant_of_tag(tag)
    if variant not in variants_in(tree):
        held = ", ".join(variants_in(tree)) or "no release"
        return [*problems, f"{address} holds {held}, and not {variant or 'a variant that its name tells'}."]
    with tempfile.TemporaryDirectory(prefix="verifying-") as scratch:
        folder = Path(scratch) / variant
        # A cached file would hide that the Hub lost or changed it.
        damages = fetch_release(hub, repo, commit=state.sha, variant=variant, target=folder, force=True) or examine(folder)
        problems += damages or _name_problems(read_manifest(folder), repo, tag=tag, registered=registered)
    if CARD in tree:
        card = hub.read(repo, sha=state.sha, path=CARD).decode(errors="replace")
        problems += _card_problems(card, repo=repo, variant=variant, tree=tree)
    else:
        problems.append(f"{repo} has no {CARD} at commit {state.sha[:12]}, so nothing of it can be loaded by name.")
    return problems


def _name_problems(manifest: Manifest, repo: str, *, tag: str, registered: TagEntry | None) -> Iterator[str]:
    """Yield a sentence where a whole release is not the one that its tag names, or that the tag was known to have."""
    address = f"{repo}@{tag}"
    if variant_of_tag(tag) and tag != _summary(manifest).tag:
        yield f"{address} holds version {manifest.version} of {manifest.variant}."
    if registered is not None and registered.digest != manifest.digest:
        yield f"{address} had the digest {registered.digest[:16]} and now has {manifest.digest[:16]}."


def published_scores(hub: Hub, repo: str, *, tag: str) -> tuple[tuple[BaselineScore, ...], str]:
    """Return the scores that the repository's list has of the tag, and the digest of its release; "" without one."""
    state = hub.repo_state(repo)
    tagged = hub.repo_state(repo, revision=tag)
    if state is None or tagged is None or VERSIONS not in hub.files(repo, sha=state.sha):
        return (), ""
    path = f"{variant_of_tag(tag)}/{MANIFEST}"
    if path not in hub.files(repo, sha=tagged.sha):
        return (), ""
    digest = ReleaseSummary.model_validate_json(hub.read(repo, sha=tagged.sha, path=path)).digest
    for version in read_versions(hub.read(repo, sha=state.sha, path=VERSIONS), source=repo):
        if version.tag == tag:
            return version.scores, digest
    return (), digest


def _card_problems(card: str, *, repo: str, variant: str, tree: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each configuration at the top that leads nowhere: the Hub and `datasets` know these alone."""
    source = f"{CARD} of {repo}"
    try:
        configurations = read_configurations(card, source=source)
    except CardError as error:
        yield str(error)
        return
    yield from unmatched_configurations(configurations, tree, variant=variant, source=source)
