"""`amemgym annotate`: have people check a release's items by hand."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Optional, get_args

import typer

from assets.recipe.loading import nearest_first
from assets.records.annotation import StudyKind
from assets.reporting.plurals import counted
from dataset_card.diff.errata_files import ERRATA
from dataset_card.release.writers import write_durably
from dataset_card.release_store.store import FolderReleaseStore
from pipelines.cli.options import command_group, file_errors, json_option, option, options_of
from pipelines.cli.release import release_errors, source_folder
from pipelines.cli.terminal import print_json, print_markdown
from pipelines.errors import Problem
from pipelines.evaluation.folder import FinishedRun, read_run, runs_folder
from pipelines.experiments.annotation.folder import StudyFolder, import_answers
from pipelines.experiments.annotation.records import AnnotationError
from pipelines.experiments.annotation.results import (
    StudyAnswers,
    collect_answers,
    progress,
    report,
    result_of,
    write_outcome,
)
from pipelines.experiments.annotation.spreadsheet import instructions, to_csv
from pipelines.experiments.annotation.study import StudyRequest, Target, make_study, paper_target
from pipelines.experiments.annotation.units import load_source
from pipelines.home import home
from pipelines.resources.storage.open_stores import open_release_store

KINDS: tuple[StudyKind, ...] = get_args(StudyKind)
StudyName = Annotated[str, typer.Argument(help="Name of the study, or its folder.")]

PANEL = "Share, and have people check"
app = command_group("Annotation: have people check items by hand, and measure how far they agree.")


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """Options that decide a study's sample: its source, its number of items, and the share of control items."""

    name: str = option("Name of the study; by default its kind and a number.")
    run: str = option("The evaluation run whose dialogues are judged (integrity only).", metavar="RUN")
    half_width: float = option("Half-width that the score's 95 % interval should have.", 0.03, most=0.5)
    expected: float = option("Expected score, from which the sample size is computed.", 0.95, most=1.0)
    controls: float = option("Share of items shown with a value known to be wrong.", 0.1, most=0.5)
    size: Optional[int] = option("Number of items, sessions or questions, instead of the computed sample size.", None, least=1)
    paper: bool = option("The paper's sample: 200 values, 40 sessions or 100 questions, without controls.", False)
    seed: int = option("Seed of the sample and of the orders in which items are shown.", 42)


@app.command()
@options_of(SampleOptions, keyword="options")
def sample(
    kind: Annotated[
        str, typer.Argument(help="exposure: values that openings tell; integrity: dialogues; truth: which options are right.")
    ],
    release: Annotated[str, typer.Argument(help="A release folder, VARIANT, VARIANT@VERSION, or OWNER/NAME@TAG.")],
    annotator: Annotated[list[str], typer.Option(help="A name for each annotator (a pseudonym will do); two or more.")],
    *,
    options: SampleOptions,
) -> None:
    """Draw a study: blinded items and, in a separate file, their key. Print how the sample size was computed."""
    study_kind = _kind(kind)
    target = _target(study_kind, options)
    with release_errors():
        release_folder = source_folder(release, endpoint="")
    source = load_source(release_folder)
    name = options.name or f"{study_kind}-{source.digest[:6]}"
    request = StudyRequest(name=name, kind=study_kind, annotators=tuple(annotator), target=target, seed=options.seed)
    study, keys = make_study(request, source, run=_run(study_kind, options.run))
    folder = StudyFolder(home().studies / name)
    folder.begin(study, keys)
    for sentence in study.sizing:
        print(sentence)
    items = counted(len(study.tasks), "item")
    print(f"{name}: {items} for {', '.join(annotator)} in {folder.path}. Next: amemgym annotate export {name}")


@app.command("export")
def export_study(
    study: StudyName, to: Annotated[Path, typer.Option(help="Folder for the files; by default the study's own.")] = Path()
) -> None:
    """Write a spreadsheet for each annotator."""
    folder = _find_study(study)
    items = folder.study()
    target = folder.path / "export" if to == Path() else to
    files = {"README.txt": instructions(items)}
    for sheet in folder.sheets():
        files[f"{sheet.annotator}.csv"] = to_csv(items, sheet)
    for file, content in files.items():
        write_durably(target / file, content.encode())
        print(f"wrote {target / file}")


@app.command("import")
def import_files(
    study: StudyName,
    files: Annotated[list[Path], typer.Argument(help="NAME.csv of each annotator.")],
) -> None:
    """Read answers from spreadsheets that annotators filled in."""
    folder = _find_study(study)
    for path in files:
        try:
            with file_errors(f"{path} cannot be read"):
                content = path.read_bytes()
            sheet = import_answers(folder, path, content)
        except AnnotationError as error:
            raise Problem(f"{path}: {error}") from error
        print(f"{path}: {sheet.annotator} has {counted(len(sheet.answers), 'answer')} now.")


@app.command("agree")
def report_agreement(study: StudyName, as_json: Annotated[bool, json_option("the study's result.json")] = False) -> None:
    """Print agreement and score with their intervals, and write them to the study's folder."""
    folder = _find_study(study)
    all_answers = _collect_answers(folder)
    result = result_of(all_answers)
    text = report(result)
    write_durably(folder.path / "result.json", (result.model_dump_json(indent=2) + "\n").encode())
    write_durably(folder.path / "result.md", text.encode())
    if as_json:
        print_json(result)
    else:
        print_markdown(text)
        print(progress(all_answers))


@app.command("settle")
def settle_study(study: StudyName) -> None:
    """Store the result, and errata for the errors found, in the folder from which the variant's next release lists them."""
    folder = _find_study(study)
    all_answers = _collect_answers(folder)
    notes = _errata_folder() / all_answers.study.variant
    settled = write_outcome(all_answers, folder=notes)
    if settled.waiting:
        print(f"Without a majority, and so without an erratum: {settled.waiting}. An odd number of annotators has one.")
    for erratum in settled.errata:
        print(f"- {erratum.place} of {erratum.user_id}: {erratum.action}. {erratum.reason}")
    count = len(settled.errata)
    new = f"New errata in {notes / ERRATA}: {count}; look them over" if count else "There are no new errata"
    print(f"{new}. The next release lists them with the result: amemgym release {all_answers.study.variant}")


def _kind(asked: str) -> StudyKind:
    for kind in KINDS:
        if asked == kind:
            return kind
    raise Problem(f"There is no study {asked!r}; there are {nearest_first(asked, KINDS)}.")


def _target(kind: StudyKind, options: SampleOptions) -> Target:
    if options.paper:
        return paper_target(kind)
    if not 0 < options.expected < 1 or not options.half_width:
        raise Problem("--expected must be above 0 and below 1, and --half-width above 0.")
    if options.size == 0:
        raise Problem("A study of 0 items has nothing to annotate; leave --size out, or raise it.")
    return Target(expected=options.expected, half_width=options.half_width, size=options.size, controls=options.controls)


def _run(kind: StudyKind, name: str) -> FinishedRun | None:
    if kind != "integrity" and name:
        raise AnnotationError(f"A study of {kind} reads only the release; leave --run out.")
    return read_run(name, runs=runs_folder(home())) if name else None


def _find_study(name: str) -> StudyFolder:
    """Return the folder of an existing study. Raises Problem if there is none."""
    return StudyFolder.of(name, studies=home().studies)


def _collect_answers(folder: StudyFolder) -> StudyAnswers:
    return collect_answers(folder.study(), folder.keys(), folder.sheets())


def _errata_folder() -> Path:
    """Return the folder where the next release looks for errata: beside the versions, or a local one with an object store."""
    release_store = open_release_store(home())
    return release_store.root if isinstance(release_store, FolderReleaseStore) else home().releases
