"""Commands about releases on the Hub: bring one there, read one from there."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.field_options import about, options_of
from pipelines.cli.problems import Problem

if TYPE_CHECKING:
    from dataset_card.hub.plan import Planner, PublishPlan, PublishRequest
    from dataset_card.hub.port import Visibility
    from dataset_card.hub.publish import Published
    from dataset_card.hub.read import ReadFile

EndpointOption = Annotated[str, typer.Option(metavar="URL", help="Another Hub than HF_ENDPOINT's or huggingface.co.")]


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a release is published."""

    private: bool = about("Only for those who may see it (a new one is private).", False)
    public: bool = about("Open to everybody, once it is complete.", False)
    gated: bool = about("Open to everybody who tells a name.", False)
    pull_request: bool = about("Propose it, and leave main and tags alone.", False)
    dry_run: bool = about("Tell what would change, and change nothing.", False)


@options_of(Manner, keyword="manner")
def publish(
    source: Annotated[str, typer.Argument(metavar="FOLDER|VARIANT", help="A release's folder, or a variant with a release.")],
    repo: Annotated[str, typer.Option(metavar="OWNER/NAME", help="The dataset repository; made if it is not there.")],
    version: Annotated[str, typer.Option(help="Version of the variant's release; the newest if not given.")] = "",
    endpoint: EndpointOption = "",
    *,
    manner: Manner,
) -> None:
    """Publish a release on the Hub: one commit, then its tag. Run it again to go on where it stopped.

    The token is HF_TOKEN's, or that of `hf auth login`.
    """
    from dataset_card.hub.plan import PublishRequest
    from dataset_card.hub.publish import Publisher
    from pipelines.resources.hub.open_hub import open_hub, tag_registry
    from pipelines.resources.hub.settings import HubSettings

    visibility = _visibility(manner)
    with hub_problems():
        request = PublishRequest(release_folder(source, version=version), repo, visibility, manner.pull_request)
        _warn_of_embedded(request)
        hub = open_hub(HubSettings(endpoint=endpoint or None, notice=tell))
        publisher = Publisher(hub, registry=tag_registry(), notice=tell)
        if manner.dry_run:
            _print_plan(*publisher.preview(request), request)
        else:
            _print_published(publisher.publish(request), hub.endpoint)


def fetch(
    source: Annotated[str, typer.Argument(metavar="OWNER/NAME@TAG", help="Or @COMMIT, or a release's folder.")],
    variant: Annotated[str, typer.Option(help="Which one, where a commit holds several.")] = "",
    file: Annotated[str, typer.Option(metavar="PATH", help="One file instead, as the data.json of another's dataset.")] = "",
    commit: Annotated[str, typer.Option(help="The commit that the tag has to be at.")] = "",
    digest: Annotated[str, typer.Option(help="The digest that the release has to have.")] = "",
    endpoint: EndpointOption = "",
) -> None:
    """Fetch a release from the Hub, check every file, and print its folder. Later it is there without the network."""
    from dataset_card.hub.read import Expected
    from pipelines.resources.hub.open_hub import release_reader

    with hub_problems():
        expected = Expected(commit or None, digest or None, variant or None)
        reader = release_reader(endpoint=endpoint or None, notice=tell)
        if file:
            return _print_file(reader.read_file(source, path=file, expected=expected))
        release = reader.read(source, expected=expected)
    where = f" at commit {release.commit}" if release.commit else ""
    tell(f"{release.manifest.variant} {release.manifest.version}{where}, digest {release.digest}: every file is as released.")
    return print(release.folder)


@contextmanager
def hub_problems() -> Generator[None, None, None]:
    """What the Hub, a release or the disk does wrong, as a Problem."""
    from dataset_card.hub.port import HubError
    from dataset_card.release.errors import ReleaseError
    from dataset_card.release.manifest import ManifestError
    from pipelines.resources.storage.errors import StoreError

    try:
        yield
    except (HubError, ManifestError, ReleaseError, StoreError) as error:
        raise Problem(str(error)) from error
    except OSError as error:
        raise Problem(f"{error.filename or 'The disk'} cannot be used: {error.strerror or error}.") from error


def _print_file(found: "ReadFile") -> None:
    tell(f"commit {found.commit}, sha256 {found.sha256}")
    print(found.path)


def release_folder(source: str, *, version: str, fresh: bool = False) -> Path:
    """The folder that is meant, on this machine; `fresh`: as every byte is now where the release stands.

    Raises Problem when there is none, ReleaseError for a missing version, StoreError.
    """
    from dataset_card.release.manifest import MANIFEST
    from dataset_card.release.store import find_release
    from pipelines.home import home
    from pipelines.resources.storage.open_stores import open_release_store, release_at

    if "://" in source:
        return release_at(source, home=home(), fresh=fresh)
    if (Path(source) / MANIFEST).is_file():
        if version:
            raise Problem(f"{source} is a release already; give --version with a variant's name only.")
        return Path(source)
    release_store = open_release_store(home())
    found = find_release(release_store, source, version=version, fresh=fresh)
    if found is None:
        raise Problem(f"{source!r} is neither a release folder nor a variant with a release in {release_store.address}.")
    return found


def _visibility(manner: Manner) -> "Visibility | None":
    asked: list[Visibility] = [name for name in ("private", "public", "gated") if getattr(manner, name)]
    if len(asked) > 1:
        raise Problem("Of --private, --public and --gated, give one.")
    if manner.pull_request and asked:
        raise Problem("A pull request changes no settings; leave out --private, --public and --gated.")
    return asked[0] if asked else None


def _warn_of_embedded(request: "PublishRequest") -> None:
    from dataset_card.card.recipe import EMBEDDED_FAMILY
    from dataset_card.release.manifest import ManifestError, read_manifest

    try:
        names = read_manifest(request.folder).models.values()
    except ManifestError:
        return  # told by the publisher
    if request.visibility in ("public", "gated") and any(name.startswith(EMBEDDED_FAMILY) for name in names):
        tell("no language model wrote this release, and it will be open to others; its card says so too.")


def _print_plan(planner: "Planner", plan: "PublishPlan", request: "PublishRequest") -> None:
    tag, repo = planner.release.tag, planner.repo
    if plan.tagged:
        print(f"{repo} already has {tag} with this content, at commit {plan.tagged}.")
    else:
        for file in plan.change.adds:
            print(f"{'add' if file.path in plan.change.new else 'change'}  {file.path}  ({file.size:,} bytes)")
        for path in plan.change.deletes:
            print(f"delete  {path}")
        commit = "a pull request" if request.pull_request else f"one commit and the tag {tag}"
        print(f"{repo} would get {commit if plan.change or request.pull_request else f'the tag {tag}'}.")
    if plan.state is None:
        print(f"{repo} would be made, {request.visibility or 'private'} in the end.")
    elif request.visibility and request.visibility != plan.state.visibility:
        print(f"{repo} would no longer be {plan.state.visibility}, but {request.visibility}.")
    print("Nothing was changed.")


def _print_published(done: "Published", endpoint: str) -> None:
    page = f"{endpoint}/datasets/{done.repo}"
    if done.tag:
        print(f"{'Published' if done.created else 'Already published:'} {done.repo}@{done.tag}, commit {done.commit}")
        print(f"digest {done.digest}\n{page}/tree/{done.tag}")
    elif done.pull_request:
        print(f"{'Proposed' if done.created else 'Already proposed'}: {page}/discussions/{done.pull_request}")
        print("Once it is merged, run the command without --pull-request: it adds the tag.")
    else:
        print(f"{done.repo} already holds this release on main; run the command without --pull-request to add the tag.")


def tell(words: str) -> None:
    """A line for the user that is no part of the result."""
    typer.echo(f"amemgym: {words}", err=True)
