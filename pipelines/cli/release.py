"""`amemgym release`, `verify`, `diff`, `publish` and `fetch`: what is done with releases, here and on the Hub."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import ENOSPC
from pathlib import Path
from tempfile import gettempdir
from typing import Annotated

import typer
from rich.console import Console

from assets.engine.ports import UnreadableValue
from assets.reporting.plurals import counted
from dataset_card.card.header import split_card
from dataset_card.diff.compare import DiffError, compare, read_release
from dataset_card.diff.page import diff_page
from dataset_card.diff.render import changes_section
from dataset_card.diff.terminal import print_diff
from dataset_card.errata.files import ErrataError
from dataset_card.hub.deprecate import Deprecation
from dataset_card.hub.deprecate import deprecate as deprecate_version
from dataset_card.hub.layout import checked_repo
from dataset_card.hub.plan import Planner, PublishPlan, PublishRequest, publishable
from dataset_card.hub.port import HubError, HubUnreachable, Visibility
from dataset_card.hub.publish import Published, Publisher
from dataset_card.hub.read import Expected
from dataset_card.hub.verify import ExpectedTag, repository_problems
from dataset_card.release.manifest import CARD, MANIFEST, RECIPE, ManifestError, ReleaseError, read_manifest
from dataset_card.release.verify import examine_release
from pipelines.benchmarks import benchmark_of, format_of
from pipelines.cli.errors import Problem
from pipelines.cli.options import QuietOption, json_option, option, options_of
from pipelines.cli.recipe import recipe_in_file
from pipelines.cli.terminal import print_json
from pipelines.home import home
from pipelines.releases import stored_release, whole_release
from pipelines.resources.hub.open_hub import open_hub, release_reader, scores_made_here, tag_registry
from pipelines.resources.hub.settings import HubSettings
from pipelines.resources.storage.errors import StoreError
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.resources.storage.open_stores import open_release_store

EXAMPLES = 100
NO_REPO = "No repository is named (--repo OWNER/NAME), so what one has of it, and whether this may be added, was not checked."
WHERE = "A folder, URL, VARIANT, VARIANT@VERSION, or OWNER/NAME@TAG."
EndpointOption = Annotated[str, typer.Option(metavar="URL", help="Another Hub than HF_ENDPOINT's or huggingface.co.")]


def release(
    variant: Annotated[str, typer.Argument(help="demo, base, extra, or a variant of your own that is finished.")],
    version: Annotated[
        str, typer.Option(help="Three numbers such as 1.2.0, or auto: the smallest that the rule allows.")
    ] = "auto",
) -> None:
    """Freeze a variant's current users into an immutable release folder, without making any of them again.

    The version's rule: whatever an assistant reads or is scored on asks for a new major number when it changed or is gone, new
    rows for a minor one, card and notes for a patch; the same content keeps its version.
    """
    # Loads all Dagster definitions, which no other command of this module needs.
    from pipelines.cli.generate import freeze_variant

    if open_asset_values(home()).find(benchmark_of(recipe_in_file(variant)).key("recipe"), variant) is None:
        raise Problem(f"Nothing of {variant!r} is made yet; make it with: amemgym generate {variant}")
    print(freeze_variant(variant, version=version))


def verify(
    source: Annotated[str, typer.Argument(metavar="FOLDER|VARIANT|URL|OWNER/NAME", help="A release, or a repository.")],
    tag: Annotated[str, typer.Option(help="Tag or commit of the repository, as in demo-v0.1.0.")] = "",
    variant: Annotated[str, typer.Option(help="Which one, where a commit holds several.")] = "",
    version: Annotated[str, typer.Option(help="Version of the variant's release; the newest if not given.")] = "",
    endpoint: EndpointOption = "",
    as_json: Annotated[bool, json_option("source", "problems")] = False,
) -> None:
    """Check every digest, every table, every configuration; one sentence for each problem, and exit status 1."""
    repo, at, revision = source.partition("@")
    with release_errors():
        if tag or (at and "/" in repo and not Path(source).exists()):
            problems = _repository_problems(repo, tag=tag or revision, variant=variant, endpoint=endpoint)
        else:
            problems = _folder_problems(source, version=version)
    if as_json:
        print_json({"source": source, "problems": problems})
    else:
        print(*problems, sep="\n", end="\n" if problems else "")
    if problems:
        raise Problem(f"{source} is not as it was released: {counted(len(problems), 'problem')}.")


def _folder_problems(source: str, *, version: str) -> list[str]:
    # A folder whose manifest is lost is reported as a problem, not as a wrong argument.
    folder = Path(source)
    if not folder.is_dir():
        folder = stored_release(source, release_store=open_release_store(home()), version=version, fresh=True)
    if not any((folder / name).exists() for name in (MANIFEST, RECIPE, CARD)):
        raise Problem(f"{source} is a folder, but no release: it has neither {MANIFEST} nor {RECIPE}. Name a release's folder.")
    problems = examine_release(folder)
    if not problems:
        manifest = read_manifest(folder)
        print_notice(f"{manifest.variant} {manifest.version}, digest {manifest.digest}: every file is as released.")
    return problems


def _repository_problems(repo: str, *, tag: str, variant: str, endpoint: str) -> list[str]:
    hub = open_hub(HubSettings(endpoint=endpoint or None, notice=print_notice))
    known = tag_registry().find(hub.endpoint, repo=checked_repo(repo), tag=tag)
    problems = repository_problems(hub, ExpectedTag(repo, tag, known, variant or None))
    if not problems:
        print_notice(f"{repo}@{tag}: every file is as released{' and where it was' if known else ''}.")
    return problems


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    """In what form the difference is shown, beside the terminal's tables."""

    page: str = option("Write a web page with the changed rows.", metavar="FILE")
    markdown: bool = option("Print the card's section.", False)
    examples: int = option("Changed rows to show of each table.", EXAMPLES)


@options_of(DiffOptions, keyword="options")
def diff(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help=f"The earlier release. {WHERE}")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help=f"The later release. {WHERE}")],
    endpoint: EndpointOption = "",
    as_json: Annotated[bool, json_option("level", "before", "after", "reasons", "tables", "settings", "...")] = False,
    *,
    options: DiffOptions,
) -> None:
    """Tell what changed from one release to another: users, questions, answers, keys, words, figures, settings."""
    with release_errors():
        sides = [read_release(source_folder(source, endpoint=endpoint)) for source in (before, after)]
        try:
            difference = compare(sides[0], sides[1], form=format_of(sides[1].folder), examples=options.examples)
        except DiffError as error:
            raise Problem(str(error)) from error
        if options.page:
            _write_page(Path(options.page), diff_page(difference))
            print_notice(f"wrote {options.page}")
    if as_json:
        print_json({"level": difference.level, **dict(difference)})
    elif options.markdown:
        print(changes_section(difference), end="")
    else:
        print_diff(difference, Console())


def _write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        # Python names no file where the disk fills up while it writes.
        raise OSError(error.errno, error.strerror, str(path)) from error


def source_folder(source: str, *, endpoint: str) -> Path:
    """The folder of a release that is here, or that is fetched; every file is checked. Raises as `whole_release`."""
    return whole_release(source, release_store=open_release_store(home()), endpoint=endpoint or None, notice=print_notice)


@dataclass(frozen=True, kw_only=True)
class PublishOptions:
    """Who may read a release on the Hub, and whether it is proposed or published."""

    private: bool = option("Only for those who may see it (a new one is private).", False)
    public: bool = option("Open to everybody, once it is complete.", False)
    gated: bool = option("Open to everybody who tells a name.", False)
    embedded: bool = option("Rows that no language model wrote may be open to others.", False)
    pull_request: bool = option("Propose it, and leave main and tags alone.", False)
    dry_run: bool = option("Tell what would change, and change nothing.", False)


@options_of(PublishOptions, keyword="options")
def publish(
    source: Annotated[str, typer.Argument(metavar="FOLDER|VARIANT", help="A release's folder, or a variant with a release.")],
    repo: Annotated[
        str,
        typer.Option(
            metavar="OWNER/NAME",
            envvar="AMEMGYM_HUB_REPO",
            help="The dataset repository, made if it is missing; a dry run needs none.",
        ),
    ] = "",
    version: Annotated[str, typer.Option(help="Version of the variant's release; the newest if not given.")] = "",
    endpoint: EndpointOption = "",
    quiet: QuietOption = False,
    as_json: Annotated[bool, json_option("repo", "tag", "digest", "commit", "...")] = False,
    *,
    options: PublishOptions,
) -> None:
    """Publish a release on the Hub: one commit, then its tag. Run it again to go on where it stopped.

    The token is HF_TOKEN's, or that of `hf auth login`.
    """
    visibility = _visibility(options)
    if not repo and not options.dry_run:
        raise Problem("Say where to: name a dataset repository with --repo OWNER/NAME, or in AMEMGYM_HUB_REPO.")
    with release_errors():
        folder = stored_release(source, release_store=open_release_store(home()), version=version)
        if not repo:
            _preview_here(folder, unknown=NO_REPO, as_json=as_json)
            return
        request = PublishRequest(folder, repo, visibility, options.pull_request, options.embedded)
        notice = say_nothing if quiet else print_notice
        hub = open_hub(HubSettings(endpoint=endpoint or None, notice=notice))
        publisher = Publisher(hub, format_of=format_of, registry=tag_registry(), scores_of=scores_made_here, notice=notice)
        if options.dry_run:
            _preview(publisher, request, as_json=as_json)
            return
        done = publisher.publish(request)
    if as_json:
        print_json(done)
    else:
        _print_published(done, hub.endpoint)


def deprecate(
    repo: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The dataset repository.")],
    tag: Annotated[str, typer.Argument(metavar="TAG", help="The version that should not be used any more, as in demo-v0.1.0.")],
    superseded_by: Annotated[str, typer.Option(metavar="TAG", help="The version to use instead.")] = "",
    because: Annotated[str, typer.Option(metavar="REASON", help="Why it is withdrawn, in a few words.")] = "",
    restore: Annotated[bool, typer.Option("--restore", help="Take back what was said of it.")] = False,
    endpoint: EndpointOption = "",
) -> None:
    """Say on the Hub that a version should not be used any more: in the card and in the list of versions. Its rows stay."""
    if [bool(superseded_by), bool(because.strip()), restore].count(True) != 1:
        raise Problem("Give one of --superseded-by TAG, --because REASON and --restore.")
    with release_errors():
        hub = open_hub(HubSettings(endpoint=endpoint or None, notice=print_notice))
        done = deprecate_version(hub, Deprecation(checked_repo(repo), tag, superseded_by, because))
    print(f"{repo}@{done.tag} is {done.status or 'in use again'}.")


def fetch(
    source: Annotated[str, typer.Argument(metavar="OWNER/NAME@TAG", help="Or @COMMIT, or a release's folder.")],
    variant: Annotated[str, typer.Option(help="Which one, where a commit holds several.")] = "",
    file: Annotated[str, typer.Option(metavar="PATH", help="One file instead, as the data.json of another's dataset.")] = "",
    commit: Annotated[str, typer.Option(help="The commit that the tag has to be at.")] = "",
    digest: Annotated[str, typer.Option(help="The digest that the release has to have.")] = "",
    endpoint: EndpointOption = "",
) -> None:
    """Fetch a release from the Hub, check every file, and print its folder. Later it is there without the network."""
    with release_errors():
        expected = Expected(commit or None, digest or None, variant or None)
        reader = release_reader(endpoint=endpoint or None, notice=print_notice)
        if file:
            downloaded = reader.read_file(source, path=file, expected=expected)
            print_notice(f"commit {downloaded.commit}, sha256 {downloaded.sha256}")
            return print(downloaded.path)
        release = reader.read(source, expected=expected)
        if status := reader.status_of(release):
            print_notice(f"{source} should not be used any more: {status}.")
    where = f" at commit {release.commit}" if release.commit else ""
    print_notice(
        f"{release.manifest.variant} {release.manifest.version}{where}, digest {release.digest}: every file is as released."
    )
    return print(release.folder)


@contextmanager
def release_errors() -> Generator[None, None, None]:
    """Raise Problem for errors of the Hub, of a release and of the disk."""
    try:
        yield
    except (DiffError, ErrataError, UnreadableValue, HubError, ManifestError, ReleaseError, StoreError) as error:
        raise Problem(str(error)) from error
    except OSError as error:
        if error.errno == ENOSPC:
            raise Problem(f"The disk of {error.filename or gettempdir()} is full; free some space and try again.") from error
        raise Problem(f"{error.filename or 'The disk'} cannot be used: {error.strerror or error}.") from error


def _visibility(options: PublishOptions) -> Visibility | None:
    asked: list[Visibility] = [name for name in ("private", "public", "gated") if getattr(options, name)]
    if len(asked) > 1:
        raise Problem("Of --private, --public and --gated, give one.")
    if options.pull_request and asked:
        raise Problem("A pull request changes no settings; leave out --private, --public and --gated.")
    return asked[0] if asked else None


def _preview(publisher: Publisher, request: PublishRequest, *, as_json: bool) -> None:
    """Tell what publishing would do; where the Hub cannot be reached, what is known here."""
    planner = publisher.planner(request)
    try:
        plan = publisher.plan(planner)
    except HubUnreachable as error:
        unknown = f"What {planner.repo} has of it could not be checked: {error}"
        _preview_here(request.folder, repo=planner.repo, unknown=unknown, as_json=as_json)
        return
    release = planner.release
    if not as_json:
        _print_plan(planner, plan, request)
        return
    changes = {file.path: {"bytes": file.size, "new": file.path in plan.change.new} for file in plan.change.adds}
    known = {"repo": planner.repo, "tag": release.tag, "digest": release.digest}
    print_json({**known, "commit": plan.tagged, "hub": "reached", "adds": changes, "deletes": plan.change.deletes})


def _preview_here(folder: Path, *, unknown: str, as_json: bool, repo: str = "") -> None:
    """Tell what would be sent, after all checks that need no Hub; `unknown`: what could not be checked."""
    release, files = publishable(folder, format_of=format_of)
    sizes = {path: file.size for path, file in sorted(files.items())}
    if as_json:
        print_json({"repo": repo, "tag": release.tag, "digest": release.digest, "hub": unknown, "files": sizes})
        return
    for path, size in sizes.items():
        print(f"file  {path}  ({counted(size, 'byte')})")
    print(
        f"{release.tag} has {counted(len(sizes), 'file')} of {counted(sum(sizes.values()), 'byte')}, digest {release.digest}."
    )
    print(_card_sentence(folder))
    print(unknown)
    print("Nothing was changed.")


def _card_sentence(folder: Path) -> str:
    """What the release's card says first: its name, its licence, and the paragraph that it begins with."""
    header, body = split_card((folder / CARD).read_text(encoding="utf-8"), source=CARD)
    prose = (" ".join(block.split()) for block in body.split("\n\n"))
    first = next((block for block in prose if block[:1].isalpha()), "")
    return f"Its card: {header.get('pretty_name', folder.name)}, {header.get('license', 'no licence')}. {first}"


def _print_plan(planner: Planner, plan: PublishPlan, request: PublishRequest) -> None:
    tag, repo = planner.release.tag, planner.repo
    if plan.tagged:
        print(f"{repo} already has {tag} with this content, at commit {plan.tagged}.")
    else:
        for file in plan.change.adds:
            print(f"{'add' if file.path in plan.change.new else 'change'}  {file.path}  ({counted(file.size, 'byte')})")
        for path in plan.change.deletes:
            print(f"delete  {path}")
        for kept in plan.by_hand:
            print(f"note  {kept}.")
        commit = "a pull request" if request.pull_request else f"one commit and the tag {tag}"
        print(f"{repo} would get {commit if plan.change or request.pull_request else f'the tag {tag}'}.")
    if plan.state is None:
        print(f"{repo} would be made, {request.visibility or 'private'} in the end.")
    elif request.visibility and request.visibility != plan.state.visibility:
        print(f"{repo} would no longer be {plan.state.visibility}, but {request.visibility}.")
    print("Nothing was changed.")


def _print_published(done: Published, endpoint: str) -> None:
    page = f"{endpoint}/datasets/{done.repo}"
    if done.tag:
        print(f"{'Published' if done.created else 'Already published:'} {done.repo}@{done.tag}, commit {done.commit}")
        print(f"digest {done.digest}\n{page}/tree/{done.tag}")
    elif done.pull_request:
        print(f"{'Proposed' if done.created else 'Already proposed'}: {page}/discussions/{done.pull_request}")
        print("Once it is merged, run the command without --pull-request: it adds the tag.")
    else:
        print(f"{done.repo} already holds this release on main; run the command without --pull-request to add the tag.")


def print_notice(text: str) -> None:
    """Print a line that is no part of the result, on standard error."""
    typer.echo(f"amemgym: {text}", err=True)


def say_nothing(_: str) -> None:
    """In place of `print_notice`."""
