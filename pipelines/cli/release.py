"""`amemgym release`, `verify`, `diff`, `fetch` and `twin`: work with releases, local ones and those of the Hub."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import ENOSPC
from functools import partial
from itertools import chain
from pathlib import Path
from secrets import randbits
from tempfile import gettempdir
from typing import Annotated, Optional

import typer

from assets.engine.ports import UnreadableValue
from assets.llm.async_calls import run_to_end
from assets.recipe.loading import build_recipe
from assets.reporting.plurals import counted
from dataset_card.diff.compare import compare_releases, read_compared
from dataset_card.diff.errata_files import ErrataError
from dataset_card.diff.page import diff_page
from dataset_card.diff.records import DiffError
from dataset_card.diff.render import changes_section
from dataset_card.diff.terminal import print_diff
from dataset_card.errors import HubError
from dataset_card.hub.layout import checked_repo
from dataset_card.hub.read import Expected, published_scores, repository_problems
from dataset_card.release.derived import examine_contents
from dataset_card.release.manifest import CARD, MANIFEST, RECIPE, ManifestError, ReleaseError, read_manifest, read_recipe_fields
from dataset_card.release.verify import remedy
from dataset_card.release.versions import VARIANT, is_version
from pipelines.benchmarks import BENCHMARKS, benchmark_of, format_of
from pipelines.cli.options import json_option, option, options_of
from pipelines.cli.recipe import recipe_in_file, write_recipe
from pipelines.cli.terminal import print_json, stdout_console
from pipelines.errors import Problem, StoreError
from pipelines.evaluation.folder import read_run, run_folder_of, runs_folder, runs_there
from pipelines.evaluation.sources import open_tasks
from pipelines.evaluation.verifying.again import NOT_ASKED, ask_again
from pipelines.evaluation.verifying.verdict import verify_run
from pipelines.experiments.scoring.leaderboard import runs_by_dataset
from pipelines.experiments.scoring.published import not_here, published_problems
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
    from pipelines.cli.dagster_runs import freeze_variant

    if open_asset_values(home()).find(benchmark_of(recipe_in_file(variant)).key("recipe"), variant) is None:
        raise Problem(f"Nothing of {variant!r} is made yet; make it with: amemgym generate {variant}")
    print(freeze_variant(variant, version=version))


def verify(
    source: Annotated[str, typer.Argument(metavar="FOLDER|VARIANT|URL|OWNER/NAME|RUN", help="A release, repository or run.")],
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
    """Check a release (digests, tables, configurations), a run (its replies graded again), or published scores.

    Every number is recomputed from rows. Those that cannot be are named. Each problem is one sentence, with exit status 1.
    """
    run = run_folder_of(source, home=home())
    if run is not None:
        _verify_run(run, data=data, again=again, as_json=as_json)
        return
    if again:
        raise Problem(f"--again asks the models of a run again; {public_address(source)} is no run.")
    is_address = "://" in source
    shown = public_address(source) if is_address else source
    repo, at, revision = source.partition("@")
    cure = ""
    with release_errors():
        if tag or (at and "/" in repo and not is_address and not Path(source).exists()):
            problems = _repository_problems(repo, tag=tag or revision, variant=variant, endpoint=endpoint)
        else:
            folder = _release_named(source, version=version)
            problems = _folder_problems(folder)
            cure = f" {remedy(folder)}"
    if as_json:
        print_json({"source": shown, "problems": problems})
    else:
        print(*problems, sep="\n", end="\n" if problems else "")
    if problems:
        raise Problem(f"{shown} is not as it was released: {counted(len(problems), 'problem')}.{cure}")


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


def _release_named(source: str, *, version: str) -> Path:
    # A folder whose manifest is lost is reported as a problem, not as a wrong argument.
    folder = Path(source)
    if not folder.is_dir():
        try:
            folder = stored_release(source, release_store=open_release_store(home()), version=version, fresh=True)
        except ReleaseError as error:
            if "/" in source or (home().releases / source.partition("@")[0]).is_dir():
                raise
            raise ReleaseError(f"{runs_there(source, runs_folder(home()))} {error}") from error
    if not ((folder / MANIFEST).exists() or (folder / RECIPE).exists() or (folder / CARD).exists()):
        raise Problem(f"{source} is a folder, but no release: it has neither {MANIFEST} nor {RECIPE}. Name a release's folder.")
    return folder


def _folder_problems(folder: Path) -> list[str]:
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
        difference = compare_releases(earlier, later, form=format_of(later.folder), examples=options.examples)
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
