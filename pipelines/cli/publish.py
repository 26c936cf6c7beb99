"""`amemgym publish` and `deprecate`: put releases on the Hub, and say there which of them are no longer to be used."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import typer

from assets.records.estimate import percents
from assets.reporting.plurals import counted
from dataset_card.card.header import split_card
from dataset_card.errors import HubUnreachable
from dataset_card.hub.layout import BaselineScore, ReleaseSummary, checked_repo
from dataset_card.hub.plan import Planner, PublishPlan, PublishRequest, publishable
from dataset_card.hub.port import Visibility
from dataset_card.hub.publish import Deprecation, Published, Publisher, deprecate_version
from dataset_card.release.manifest import CARD
from pipelines.benchmarks import format_of
from pipelines.cli.options import QuietOption, json_option, option, options_of
from pipelines.cli.release import EndpointOption, print_notice, release_errors
from pipelines.cli.terminal import print_json
from pipelines.errors import Problem
from pipelines.evaluation.folder import runs_folder
from pipelines.evaluation.sources import open_tasks
from pipelines.experiments.scoring.published import publishable_scores
from pipelines.home import home
from pipelines.opening.hub import open_hub, tag_registry
from pipelines.opening.releases import stored_release
from pipelines.resources.hub.settings import HubSettings
from pipelines.resources.storage.open_stores import open_release_store

NO_REPO = "No repository is named (--repo OWNER/NAME), so its content and the right to add this release were not checked."


@dataclass(frozen=True, kw_only=True)
class PublishOptions:
    """Options of publishing: who may read the release, which scores it shows, and whether it is only proposed."""

    private: bool = option("Open only to members of the repository; the default for a new one.", False)
    public: bool = option("Open to everybody, once it is complete.", False)
    gated: bool = option("Open to everybody who logs in and shares contact data with the owner.", False)
    embedded: bool = option("Allow others to read rows that no language model wrote.", False)
    scores: str = option("Put the scores of these evaluation runs on the card; none otherwise.", metavar="RUN,...")
    dry_run: bool = option("Print what would change, and change nothing.", False)


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
    """Publish a release on the Hub: one commit, then its tag. Run it again to continue where it stopped.

    The token comes from HF_TOKEN or from `hf auth login`.
    """
    visibility = _visibility(options)
    if not repo and not options.dry_run:
        raise Problem("Name a dataset repository with --repo OWNER/NAME, or in AMEMGYM_HUB_REPO.")
    with release_errors():
        folder = stored_release(source, release_store=open_release_store(home()), version=version)
        request = PublishRequest(folder, repo, visibility, options.embedded, _named_scores(options.scores, release=folder))
        if not repo:
            _preview_here(request, unknown=NO_REPO, as_json=as_json)
            return
        notice: Callable[[str], None] = (lambda _: None) if quiet else print_notice
        hub = open_hub(HubSettings(endpoint=endpoint or None, notice=notice))
        publisher = Publisher(hub, format_of=format_of, registry=tag_registry(), notice=notice)
        if options.dry_run:
            _preview(publisher, request, as_json=as_json)
            return
        done = publisher.publish(request)
    if as_json:
        print_json(done)
    else:
        _print_published(done, hub.endpoint)


def deprecate_release(
    repo: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The dataset repository.")],
    tag: Annotated[
        str, typer.Argument(metavar="TAG", help="Tag of the version that should no longer be used, as in demo-v0.1.0.")
    ],
    superseded_by: Annotated[str, typer.Option(metavar="TAG", help="The version to use instead.")] = "",
    because: Annotated[str, typer.Option(metavar="REASON", help="Reason for the deprecation, in a few words.")] = "",
    restore: Annotated[bool, typer.Option("--restore", help="Withdraw the deprecation.")] = False,
    endpoint: EndpointOption = "",
) -> None:
    """Mark a version on the Hub as no longer to be used, in the card and in the list of versions. Its rows stay."""
    if [bool(superseded_by), bool(because.strip()), restore].count(True) != 1:
        raise Problem("Give one of --superseded-by TAG, --because REASON and --restore.")
    with release_errors():
        hub = open_hub(HubSettings(endpoint=endpoint or None, notice=print_notice))
        done = deprecate_version(hub, Deprecation(checked_repo(repo), tag, superseded_by, because))
    print(f"{repo}@{done.tag} is {done.status or 'in use again'}.")


def _visibility(options: PublishOptions) -> Visibility | None:
    asked: list[Visibility] = [name for name in get_args(Visibility) if getattr(options, name)]
    if len(asked) > 1:
        raise Problem("Of --private, --public and --gated, give only one.")
    return asked[0] if asked else None


def _named_scores(names: str, *, release: Path) -> tuple[BaselineScore, ...]:
    """Return the scores of the runs with these names. Raises Problem for a run on another release."""
    runs = [name.strip() for name in names.split(",") if name.strip()]
    if not runs:
        return ()
    tasks = open_tasks(str(release), release_store=open_release_store(home()))
    return publishable_scores(runs, data=tasks.info, folder=runs_folder(home()))


def _preview(publisher: Publisher, request: PublishRequest, *, as_json: bool) -> None:
    """Print what publishing would do. Without the Hub, print the local part and end with exit status 1."""
    planner = publisher.planner(request)
    try:
        plan = publisher.plan(planner)
    except HubUnreachable as error:
        unknown = f"The present content of {planner.repo} could not be checked: {error}"
        _preview_here(request, unknown=unknown, as_json=as_json)
        # Status 1, so that a script does not take this as a permission to publish.
        raise typer.Exit(1) from error
    release = planner.release
    if not as_json:
        _print_plan(planner, plan, request)
        return
    changes: dict[str, dict[str, object]] = {}
    for file in plan.change.adds:
        changes[file.path] = {"bytes": file.size, "new": file.path in plan.change.new}
    known = {"repo": planner.repo, "tag": release.tag, "digest": release.digest, "scores": request.scores}
    print_json({**known, "commit": plan.tagged, "hub": "reached", "adds": changes, "deletes": plan.change.deletes})


def _preview_here(request: PublishRequest, *, unknown: str, as_json: bool) -> None:
    """Print what would be sent, after all checks that need no Hub. `unknown`: a sentence on what could not be checked."""
    release, files = publishable(request.folder, format_of=format_of)
    sizes = {path: file.size for path, file in sorted(files.items())}
    if as_json:
        known = {"repo": request.repo, "tag": release.tag, "digest": release.digest, "scores": request.scores}
        print_json({**known, "hub": unknown, "files": sizes})
        return
    for path, size in sizes.items():
        print(f"file  {path}  ({counted(size, 'byte')})")
    print(
        f"{release.tag} has {counted(len(sizes), 'file')} of {counted(sum(sizes.values()), 'byte')}, digest {release.digest}."
    )
    print(_card_sentence(request.folder))
    _print_scores(request)
    print(unknown)
    _print_end(release)


def _print_end(release: ReleaseSummary) -> None:
    """Print what a dry run ends with, after a warning of rows that no language model wrote."""
    if release.verdict.embedded:
        print(f"{release.verdict.words}. {release.verdict.embedded}")
    print("Nothing was changed.")


def _card_sentence(folder: Path) -> str:
    """Return the name and the licence in the release's card, and its first paragraph."""
    header, body = split_card((folder / CARD).read_text(encoding="utf-8"), source=CARD)
    about = f"Its card: {header.get('pretty_name', folder.name)}, {header.get('license', 'no licence')}."
    for block in body.split("\n\n"):
        paragraph = " ".join(block.split())
        if paragraph[:1].isalpha():  # neither a heading nor a table
            return f"{about} {paragraph}"
    return f"{about} "


def _print_scores(request: PublishRequest) -> None:
    """Print a line for each score that the card would show."""
    for score in request.scores:
        print(f"score  {score.assistant} with {score.model}: {percents(score.accuracy)} of {counted(score.users, 'user')}")


def _print_plan(planner: Planner, plan: PublishPlan, request: PublishRequest) -> None:
    tag = planner.release.tag
    repo = planner.repo
    if plan.tagged:
        print(f"{repo} already has {tag} with this content, at commit {plan.tagged}.")
    else:
        for file in plan.change.adds:
            verb = "add" if file.path in plan.change.new else "change"
            print(f"{verb}  {file.path}  ({counted(file.size, 'byte')})")
        for path in plan.change.deletes:
            print(f"delete  {path}")
        for kept in plan.by_hand:
            print(f"note  {kept}.")
        _print_scores(request)
        if plan.change:
            print(f"{repo} would get one commit and the tag {tag}.")
        else:
            print(f"{repo} would get the tag {tag}.")
    if plan.state is None:
        print(f"{repo} would be created, and be {request.visibility or 'private'} at the end.")
    elif request.visibility and request.visibility != plan.state.visibility:
        print(f"{repo} would no longer be {plan.state.visibility}, but {request.visibility}.")
    _print_end(planner.release)


def _print_published(done: Published, endpoint: str) -> None:
    page = f"{endpoint}/datasets/{done.repo}"
    print(f"{'Published' if done.created else 'Already published:'} {done.repo}@{done.tag}, commit {done.commit}")
    print(f"digest {done.digest}\n{page}/tree/{done.tag}")
