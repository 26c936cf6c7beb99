"""`amemgym annotate`: have people check a release's items by hand."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Optional

import typer

from pipelines.cli.field_options import about, options_of

app = typer.Typer(no_args_is_help=True, help="Annotation: have people check items by hand, and say how far they agree.")
StudyName = Annotated[str, typer.Argument(help="Name of the study, or its folder.")]


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How a study is drawn."""

    name: str = about("Name of the study, which its page shows to annotators; by default kind and a number.")
    run: str = about("The evaluation run whose dialogues are judged (integrity only).", metavar="RUN")
    half_width: float = about("Half the width that a 95 % interval of the score should have.", 0.03, most=0.5)
    expected: float = about("The score expected, for the arithmetic.", 0.95, most=1.0)
    controls: float = about("Share of items shown with a value known to be wrong.", 0.1, most=0.5)
    size: Optional[int] = about("So many items, sessions or questions, whatever the arithmetic says.", None)
    paper: bool = about("The paper's sample: 200 values, 40 sessions or 100 questions, none planted.", False)
    seed: int = about("Seed of the sample and of every order.", 42)


@app.callback()
def callback() -> None:
    """Annotation: have people check items by hand, and say how far they agree."""


@app.command()
@options_of(Sampling, keyword="sampling")
def sample(
    kind: Annotated[str, typer.Argument(help="exposure: openings tell values; integrity: dialogues; truth: right options.")],
    release: Annotated[str, typer.Argument(help="A release folder, VARIANT, VARIANT@VERSION, or OWNER/NAME@TAG.")],
    annotator: Annotated[list[str], typer.Option(help="A name for each annotator (a pseudonym will do); two or more.")],
    *,
    sampling: Sampling,
) -> None:
    """Draw a study: blinded items, and apart from them the key. Says how the size of the sample came about."""
    from pipelines.cli.annotation_draw import draw

    draw(kind, release, annotators=tuple(annotator), sampling=sampling)


@app.command()
def serve(
    study: StudyName, port: Annotated[int, typer.Option(min=0, help="Port of the page; 0 takes a free one.")] = 8377
) -> None:
    """Serve the study's page on this machine, an address for each annotator; every answer is saved at once."""
    from pipelines.cli.annotation_work import found
    from pipelines.cli.serve_annotation import serve_study

    serve_study(found(study), port=port)


@app.command()
def pages(study: StudyName) -> None:
    """Write a page for each annotator that works from the disk, without any server; its export is taken in with import."""
    from pipelines.cli.annotation_work import write_pages

    write_pages(study)


@app.command("export")
def export_study(
    study: StudyName, to: Annotated[Path, typer.Option(help="Folder for tasks.json and config.xml.")] = Path("label_studio")
) -> None:
    """Write the study in Label Studio's formats."""
    from pipelines.cli.annotation_work import export_to

    export_to(study, to)


@app.command("import")
def import_answers(
    study: StudyName, files: Annotated[list[Path], typer.Argument(help="Exports of pages, or JSON exports of Label Studio.")]
) -> None:
    """Take answers in from files."""
    from pipelines.cli.annotation_work import import_from

    import_from(study, files)


@app.command("dry-run")
def dry_run(
    study: StudyName,
    annotator: Annotated[list[str], typer.Option(help="In whose place; may be repeated.")],
    model: Annotated[str, typer.Option(help="The model; the embedded one where no endpoint is configured.")] = "",
) -> None:
    """Let a model fill in for an annotator, to try the study. Every figure that comes of it is marked as such."""
    from pipelines.cli.annotation_work import fill_in_for

    fill_in_for(study, annotator, model=model)


@app.command()
def agree(study: StudyName) -> None:
    """Tell agreement and score with their intervals, and write them into the study's folder."""
    from pipelines.cli.annotation_work import tell_agreement

    tell_agreement(study)


@app.command()
def adjudicate(
    study: StudyName, adjudicator: Annotated[str, typer.Option(help="Name of somebody who was no annotator.")]
) -> None:
    """Give what annotators disagree on to somebody else, whose labels then decide; serve or pages shows them their page."""
    from pipelines.cli.annotation_work import hand_over

    hand_over(study, adjudicator)


@app.command()
def settle(study: StudyName) -> None:
    """Put the result, and errata for what was found wrong, where the variant's next release reads and lists them."""
    from pipelines.cli.annotation_work import settle_study

    settle_study(study)
