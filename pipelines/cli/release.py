"""`amemgym release`, `verify`, `diff`, `publish`, `fetch` and `twin`: work with releases, local ones and on the Hub."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import ENOSPC
from functools import partial
from itertools import chain
from pathlib import Path
from secrets import randbits
from tempfile import gettempdir
from typing import Annotated, Optional, get_args

import typer

from assets.engine.ports import UnreadableValue
from assets.llm.async_calls import run_to_end
from assets.recipe.loading import build_recipe
from assets.records.estimate import percents
from assets.reporting.plurals import counted
from dataset_card.card.header import split_card
from dataset_card.diff.compare import compare_releases, read_compared
from dataset_card.diff.errata_files import ErrataError
from dataset_card.diff.page import diff_page
from dataset_card.diff.records import DiffError
from dataset_card.diff.render import changes_section
from dataset_card.diff.terminal import print_diff
from dataset_card.errors import HubError, HubUnreachable
from dataset_card.hub.layout import BaselineScore, ReleaseSummary, checked_repo
from dataset_card.hub.plan import Planner, PublishPlan, PublishRequest, publishable
from dataset_card.hub.port import Visibility
from dataset_card.hub.publish import Deprecation, Published, Publisher, deprecate_version
from dataset_card.hub.read import Expected, published_scores, repository_problems
from dataset_card.release.derived import examine_contents
from dataset_card.release.manifest import CARD, MANIFEST, RECIPE, ManifestError, ReleaseError, read_manifest, read_recipe_fields
from dataset_card.release.versions import VARIANT, is_version
from pipelines.benchmarks import BENCHMARKS, benchmark_of, format_of
from pipelines.cli.options import QuietOption, json_option, option, options_of
from pipelines.cli.recipe import recipe_in_file, write_recipe
from pipelines.cli.terminal import print_json, stdout_console
from pipelines.errors import Problem, StoreError
from pipelines.evaluation.folder import read_run, run_folder_of, runs_folder
from pipelines.evaluation.report.formatting import TAKEN_AS_TOLD
from pipelines.evaluation.sources import open_tasks
from pipelines.evaluation.verifying.again import NOT_ASKED, ask_again
from pipelines.evaluation.verifying.verdict import verify_run
from pipelines.experiments.scoring.leaderboard import board_news, board_problems, runs_by_dataset, runs_of_board
from pipelines.experiments.scoring.published import not_here, publishable_scores, published_problems
from pipelines.experiments.scoring.twins import TWIN
from pipelines.home import home
from pipelines.opening.hub import open_hub, release_reader, tag_registry
from pipelines.opening.releases import stored_release, whole_release
from pipelines.redaction import public_address
from pipelines.resources.hub.settings import HubSettings
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.resources.storage.open_stores import open_release_store

NOT_CHECKED = "What no row holds, such as the replies themselves, is not checked: the run's page lists it as not verified."
EXAMPLES = 100  # rows of each table: all of a small change, but the page still opens fast
NO_REPO = "No repository is named (--repo OWNER/NAME), so its content and the right to add this release were not checked."
WHERE = "A folder, URL, VARIANT, VARIANT@VERSION, or OWNER/NAME@TAG."
EndpointOption = Annotated[
    str, typer.Option(metavar="URL", help="Address of another Hub, instead of HF_ENDPOINT or huggingface.co.")
]


def release(
    variant: Annotated[str, typer.Argument(help="demo, base, extra, or a variant of your own that is finished.")],
    version: Annotated[
        str, typer.Option(help="Three numbers such as 1.2.0, or auto: the smallest version that the changes allow.")
    ] = "auto",
) -> None:
    """Freeze a variant's current users into an immutable release folder. No user is made again.

    Removed rows, and changes to anything that is read or scored, need a new major version. New rows need a new minor version,
    and a changed card or changed notes a new patch version. The same content keeps its version.
    """
    # Imported late: it loads all Dagster definitions, which no other command here needs.
    from pipelines.cli.generate import freeze_variant

    if open_asset_values(home()).find(benchmark_of(recipe_in_file(variant)).key("recipe"), variant) is None:
        raise Problem(f"Nothing of {variant!r} is made yet; make it with: amemgym generate {variant}")
    print(freeze_variant(variant, version=version))


def verify(
    source: Annotated[
        str, typer.Argument(metavar="FOLDER|VARIANT|URL|OWNER/NAME|RUN|BOARD.html", help="A release, repository, run or board.")
    ],
    tag: Annotated[str, typer.Option(help="Tag or commit of the repository, as in demo-v0.1.0.")] = "",
    variant: Annotated[str, typer.Option(help="Which one, where a commit holds several.")] = "",
    version: Annotated[str, typer.Option(help="Version of the variant's release; the newest if not given.")] = "",
    data: Annotated[str, typer.Option(help="Data set of the run, if it is not a release on this machine.")] = "",
    again: Annotated[
        float,
        typer.Option(metavar="PERCENT", help="Evaluate so many of the run's users or tasks anew, and compare.", min=0, max=100),
    ] = 0.0,
    endpoint: EndpointOption = "",
    as_json: Annotated[bool, json_option("source", "problems")] = False,
) -> None:
    """Check a release (digests, tables, configurations), a run (its replies graded again), a board, or published scores.

    Every number is recomputed from rows. Those that cannot be are named. Each problem is one sentence, with exit status 1.
    """
    run = run_folder_of(source, home=home())
    if run is not None:
        _verify_run(run, data=data, again=again, as_json=as_json)
        return
    if again:
        raise Problem(f"--again asks the models of a run again; {public_address(source)} is no run.")
    if source.endswith(".html") and Path(source).is_file():
        _verify_board(Path(source), as_json=as_json)
        return
    is_address = "://" in source
    shown = public_address(source) if is_address else source
    repo, at, revision = source.partition("@")
    with release_errors():
        if tag or (at and "/" in repo and not is_address and not Path(source).exists()):
            problems = _repository_problems(repo, tag=tag or revision, variant=variant, endpoint=endpoint)
        else:
            problems = _folder_problems(source, version=version)
    if as_json:
        print_json({"source": shown, "problems": problems})
    else:
        print(*problems, sep="\n", end="\n" if problems else "")
    if problems:
        raise Problem(f"{shown} is not as it was released: {counted(len(problems), 'problem')}.")


def _verify_run(path: Path, *, data: str, again: float, as_json: bool) -> None:
    """Verify a run with the data set that it names, and ask so many percent of its items `again`.

    Raises Problem if the run is not finished, or was changed after it was made.
    """
    run = read_run(str(path), runs=path.parent)
    manifest = run.manifest
    # A release is named by its variant and version; a run of somebody else may name anything.
    is_release = VARIANT.fullmatch(manifest.variant) is not None and is_version(manifest.version)
    if not data and (not is_release or manifest.benchmark not in BENCHMARKS):
        raise Problem(f"{manifest.run_id} was evaluated on {manifest.dataset}; give the same data set with --data.")
    source = data or f"{manifest.variant}@{manifest.version}"
    tasks = open_tasks(source, release_store=open_release_store(home())).first(len(manifest.users))
    asked = NOT_ASKED
    if again:
        # A sample that nobody can foresee.
        seed = randbits(32)
        asked = run_to_end(ask_again(run, path, tasks, percent=again, seed=seed, home=home()))
    verdict = verify_run(run, path, tasks, again=asked)
    unfinished = run.unfinished and f"{manifest.run_id} is not finished: {run.unfinished.rstrip('.')}."
    if as_json:
        told = verdict.model_dump(include={"unverified", "asked_again", "taken_as_told", "repeatable"})
        print_json({"source": manifest.run_id, "unfinished": unfinished, "problems": verdict.problems, **told})
    else:
        print(end=unfinished and f"{unfinished}\n")
        graded = f"{counted(verdict.graded, 'answer')} graded again, and the results recomputed."
        print(*(verdict.problems or (graded,)), sep="\n")
        if verdict.asked_again:
            print_notice(verdict.asked_again)
        for sentence in verdict.unverified:
            print_notice(f"Left open: {sentence.rstrip('.')}.")
        print_notice(NOT_CHECKED)
        print_notice(f"A repetition {verdict.repeatable}.")
    if verdict.problems:
        raise Problem(f"{manifest.run_id} was changed after it was made, so no board shows it: see above.")
    if unfinished:
        raise Problem("What there is of the run is as it was made. Give the same evaluate command again to finish it.")


def _verify_board(page: Path, *, as_json: bool) -> None:
    """Verify a board's page with the runs that it compares. Raises Problem if a number differs from its run."""
    shown, runs = runs_of_board(page, runs=runs_folder(home()))
    problems = list(board_problems(shown, runs))
    if as_json:
        print_json({"source": str(page), "problems": problems, "news": [*board_news(shown)], "taken_as_told": TAKEN_AS_TOLD})
    else:
        same = f"Every number follows from the rows of {counted(len(runs), 'run')}; amemgym verify RUN grades their replies."
        print(*(problems or (same,)), sep="\n")
        for sentence in board_news(shown):
            print_notice(sentence)
        print_notice(NOT_CHECKED)
    if problems:
        raise Problem(f"{page} differs from its runs: see above.")


def _folder_problems(source: str, *, version: str) -> list[str]:
    # A folder whose manifest is lost is reported as a problem, not as a wrong argument.
    folder = Path(source)
    if not folder.is_dir():
        folder = stored_release(source, release_store=open_release_store(home()), version=version, fresh=True)
    if not ((folder / MANIFEST).exists() or (folder / RECIPE).exists() or (folder / CARD).exists()):
        raise Problem(f"{source} is a folder, but no release: it has neither {MANIFEST} nor {RECIPE}. Name a release's folder.")
    problems = examine_contents(folder, format_of=format_of)
    if not problems:
        manifest = read_manifest(folder)
        looked_at = f"{counted(len(manifest.files), 'file')}, their rows, and how they load"
        print_notice(f"{manifest.variant} {manifest.version}, digest {manifest.digest}: every file is as released.")
        print_notice(f"Looked at: {looked_at}; the tables follow from the items. Labels: amemgym quality checks them.")
    return problems


def _repository_problems(repo: str, *, tag: str, variant: str, endpoint: str) -> list[str]:
    hub = open_hub(HubSettings(endpoint=endpoint or None, notice=print_notice))
    known = tag_registry().find(hub.endpoint, repo=checked_repo(repo), tag=tag)
    examine = partial(examine_contents, format_of=format_of)
    problems = repository_problems(hub, repo, tag=tag, examine=examine, variant=variant, registered=known)
    # Of a damaged release there is nothing to compare with.
    scores, digest = ((), "") if problems else published_scores(hub, repo, tag=tag)
    if scores:
        groups, _ = runs_by_dataset(runs_folder(home()))
        runs = list(chain.from_iterable(groups))
        problems += published_problems(scores, digest=digest, runs=runs)
        unknown = not_here(scores, digest=digest, runs=runs)
        if unknown:
            print_notice(f"Published scores that cannot be recomputed, because their runs are not here: {'; '.join(unknown)}.")
    if not problems:
        print_notice(f"{repo}@{tag}: every file is as released{' and where it was' if known else ''}.")
    return problems


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    """Further forms of the difference, beside the tables on the terminal."""

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
    """Print the changes from one release to another: users, questions, answers, keys, words, figures, settings."""
    with release_errors():
        earlier = read_compared(source_folder(before, endpoint=endpoint))
        later = read_compared(source_folder(after, endpoint=endpoint))
        try:
            difference = compare_releases(earlier, later, form=format_of(later.folder), examples=options.examples)
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
        print_diff(difference, stdout_console())


def _write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        # Python names no file where the disk fills up while it writes.
        raise OSError(error.errno, error.strerror, str(path)) from error


def source_folder(source: str, *, endpoint: str) -> Path:
    """Return the folder of a local or downloaded release after checking every file. Raises the errors of `whole_release`."""
    return whole_release(source, release_store=open_release_store(home()), endpoint=endpoint or None, notice=print_notice)


@dataclass(frozen=True, kw_only=True)
class PublishOptions:
    """Options of publishing: who may read the release, which scores it shows, and whether it is only proposed."""

    private: bool = option("Open only to members of the repository; the default for a new one.", False)
    public: bool = option("Open to everybody, once it is complete.", False)
    gated: bool = option("Open to everybody who logs in and shares contact data with the owner.", False)
    embedded: bool = option("Allow others to read rows that no language model wrote.", False)
    pull_request: bool = option("Propose it as a pull request, and leave main and tags alone.", False)
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
        request = PublishRequest(
            folder, repo, visibility, options.pull_request, options.embedded, _named_scores(options.scores, release=folder)
        )
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


def fetch(
    source: Annotated[
        str,
        typer.Argument(metavar="OWNER/NAME@TAG", help="A release on the Hub, by its tag or @COMMIT, or a release's folder."),
    ],
    variant: Annotated[str, typer.Option(help="Which one, where a commit holds several.")] = "",
    file: Annotated[
        str,
        typer.Option(metavar="PATH", help="One file instead of a release, such as the data.json of somebody else's dataset."),
    ] = "",
    commit: Annotated[str, typer.Option(help="Commit that the tag must be at.")] = "",
    digest: Annotated[str, typer.Option(help="Digest that the release must have.")] = "",
    endpoint: EndpointOption = "",
) -> None:
    """Download a release from the Hub, check every file, and print its folder. Later calls need no network."""
    with release_errors():
        expected = Expected(commit or None, digest or None, variant or None)
        reader = release_reader(endpoint=endpoint or None, notice=print_notice)
        if file:
            downloaded = reader.read_file(source, path=file, expected=expected)
            print_notice(f"commit {downloaded.commit}, sha256 {downloaded.sha256}")
            return print(downloaded.path)
        release = reader.read(source, expected=expected)
        status = reader.status_of(release)
        if status:
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
    asked: list[Visibility] = [name for name in get_args(Visibility) if getattr(options, name)]
    if len(asked) > 1:
        raise Problem("Of --private, --public and --gated, give only one.")
    if options.pull_request and asked:
        raise Problem("A pull request changes no settings; leave out --private, --public and --gated.")
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
        if request.pull_request:
            print(f"{repo} would get a pull request.")
        elif plan.change:
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
    if done.tag:
        print(f"{'Published' if done.created else 'Already published:'} {done.repo}@{done.tag}, commit {done.commit}")
        print(f"digest {done.digest}\n{page}/tree/{done.tag}")
    elif done.pull_request:
        print(f"{'Proposed' if done.created else 'Already proposed'}: {page}/discussions/{done.pull_request}")
        print("Once it is merged, run the command without --pull-request: it adds the tag.")
    else:
        print(f"{done.repo} already holds this release on main; run the command without --pull-request to add the tag.")


def print_notice(text: str) -> None:
    """Print a line to stderr, because it is not part of the result."""
    typer.echo(f"amemgym: {text}", err=True)


def twin(
    source: Annotated[
        str, typer.Argument(metavar="RELEASE", help="A variant with a release, a release folder, or OWNER/NAME@TAG.")
    ],
    name: Annotated[str, typer.Option(help="Name of the twin; by default that of the release, with -twin.")] = "",
    seed: Annotated[Optional[int], typer.Option(help="Seed of the twin; by default that of the release plus one.")] = None,
) -> None:
    """Write the recipe of a release's twin: equally difficult, with another seed, other names and other values.

    Publish one and keep the other private: `amemgym compare` shows whether a memory is better on the data that is public.
    """
    with release_errors():
        folder = whole_release(source, release_store=open_release_store(home()))
    tasks = open_tasks(source, release_store=open_release_store(home()))
    recipe = build_recipe(read_recipe_fields(folder))
    twin_name = name or f"{recipe.variant}{TWIN}"
    fields = recipe.model_dump(mode="json", exclude={"variant", "salt", "content"}, exclude_defaults=True)
    fields |= {"benchmark": recipe.benchmark, "seed": recipe.seed + 1 if seed is None else seed}
    fields |= recipe.fields_without(tasks.info.users)
    target = write_recipe(twin_name, fields)
    print(f"Wrote {target}. Make it with: amemgym generate {twin_name}")
