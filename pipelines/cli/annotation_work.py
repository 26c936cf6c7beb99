"""What the commands of `amemgym annotate` do."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from dataset_card.errata.apply import ERRATA
from dataset_card.release.store import FolderReleaseStore
from dataset_card.release.writers import write_durably
from pipelines.cli.problems import Problem
from pipelines.experiments.annotation.dry_run import fill_in
from pipelines.experiments.annotation.errors import AnnotationError
from pipelines.experiments.annotation.folder import PAGES, StudyFolder
from pipelines.experiments.annotation.intake import take_in
from pipelines.experiments.annotation.label_studio import exported
from pipelines.experiments.annotation.page import annotation_page
from pipelines.experiments.annotation.records import AnswerSheet
from pipelines.experiments.annotation.report import progress, report
from pipelines.experiments.annotation.results import Collected, collected, result_of
from pipelines.experiments.annotation.settle import adjudicator_sheet, settle
from pipelines.experiments.annotation.study import NAME
from pipelines.home import home
from pipelines.resources.storage.open_stores import open_release_store


@contextmanager
def in_one_sentence() -> Generator[None, None, None]:
    """Turn what the user can mend into a Problem."""
    from pipelines.evaluation.errors import EvaluationError

    try:
        yield
    except (AnnotationError, EvaluationError, OSError) as error:
        raise Problem(str(error)) from error


def studies() -> Path:
    """Where studies lie."""
    return home().root / "studies"


def found(name: str) -> StudyFolder:
    """The study's folder. Raises Problem."""
    with in_one_sentence():
        return StudyFolder.of(name, studies=studies())


def write_pages(name: str) -> None:
    """A page for each person, to open from the disk."""
    folder = found(name)
    with in_one_sentence():
        study = folder.study()
        for sheet in folder.sheets():
            if sheet.kind == "person":
                path = folder.path / PAGES / f"{sheet.annotator}.html"
                write_durably(path, annotation_page(study, sheet).encode())
                print(f"{sheet.annotator}: {path}")


def export_to(name: str, place: Path) -> None:
    """Label Studio's two files."""
    folder = found(name)
    with in_one_sentence():
        for file, content in exported(folder.study()).items():
            write_durably(place / file, content.encode())
            print(f"wrote {place / file}")


def import_from(name: str, files: Sequence[Path]) -> None:
    """Answers from files, one after another."""
    folder = found(name)
    for path in files:
        try:
            sheets = take_in(folder, path.read_bytes())
        except OSError as error:
            raise Problem(f"{path} cannot be read: {error.strerror}.") from error
        except AnnotationError as error:
            raise Problem(f"{path}: {error}") from error
        for sheet in sheets:
            print(f"{path}: {sheet.annotator} has {len(sheet.answers)} answers now.")


def fill_in_for(name: str, annotators: Sequence[str], *, model: str) -> None:
    """The dry run."""
    from pipelines.cli.recipe import checked_recipe
    from pipelines.experiments.prompt_trials.inputs import with_model
    from pipelines.resources.open import open_run_context

    folder = found(name)
    with in_one_sentence():
        study, sheets = folder.study(), [folder.sheet(annotator) for annotator in annotators]
        for sheet in sheets:
            if sheet.kind == "person" and sheet.answers:
                raise AnnotationError(f"{sheet.annotator!r} has answered already; a model takes the place of nobody who has.")

    async def filled() -> list[AnswerSheet]:
        with open_run_context(home()) as run_context:
            base = checked_recipe("base", [])
            asked = model or run_context.embedded_model or base.models.judge.model
            recipe = with_model(base, "judge", asked).model_copy(update={"variant": "annotation"})
            port = run_context.at("annotation", recipe=recipe).model
            return [await fill_in(study, sheet, recipe=recipe, model=port) for sheet in sheets]

    for sheet in asyncio.run(filled()):
        folder.save(sheet)
        print(
            f"{sheet.annotator}: {len(sheet.answers)} of {len(study.tasks)} items by {sheet.model}, a model in a person's place"
        )


def _collected(folder: StudyFolder) -> Collected:
    return collected(folder.study(), folder.keys(), folder.sheets())


def tell_agreement(name: str) -> None:
    """The result, printed and kept."""
    folder = found(name)
    with in_one_sentence():
        all_answers = _collected(folder)
        result = result_of(all_answers)
        text = report(result)
        write_durably(folder.path / "result.json", (result.model_dump_json(indent=2) + "\n").encode())
        write_durably(folder.path / "result.md", text.encode())
    console = Console()
    if console.is_terminal:
        console.print(Markdown(text))
    else:
        print(text)
    print(progress(all_answers))


def hand_over(name: str, adjudicator: str) -> None:
    """A sheet with the disputed items."""
    folder = found(name)
    if not NAME.fullmatch(adjudicator):
        raise Problem(f"{adjudicator!r} cannot name an adjudicator; use up to 40 letters, digits, - and _.")
    with in_one_sentence():
        sheet = adjudicator_sheet(_collected(folder), adjudicator)
        there = next((one for one in folder.sheets() if one.role == "adjudicator"), sheet)
        if there.annotator != adjudicator:
            raise AnnotationError(f"{there.annotator} adjudicates this study already.")
        # Answers stay, and whoever gave them, a person or a model in a dry run.
        folder.save(there.model_copy(update={"items": sheet.items}))
    print(f"{adjudicator} gets {len(sheet.items or ())} items. Next: amemgym annotate serve {name}")


def notes_folder() -> Path:
    """Where the next release looks for errata and results: beside the versions, or on this machine for an object store."""
    release_store = open_release_store(home())
    return release_store.root if isinstance(release_store, FolderReleaseStore) else home().releases


def settle_study(name: str) -> None:
    """Result and errata beside the variant's versions."""
    folder = found(name)
    with in_one_sentence():
        all_answers = _collected(folder)
        place = notes_folder() / all_answers.study.variant
        settled = settle(all_answers, place=place)
    if settled.waiting:
        print(f"Still disputed, and so without an erratum: {settled.waiting}. Next: amemgym annotate adjudicate {name}")
    for erratum in settled.errata:
        print(f"- {erratum.place} of {erratum.user_id}: {erratum.action}. {erratum.reason}")
    count, variant = len(settled.errata), all_answers.study.variant
    new = f"New errata in {place / ERRATA}: {count}; look them over" if count else "There are no new errata"
    print(f"{new}. The next release lists them with the result: amemgym release {variant}")
