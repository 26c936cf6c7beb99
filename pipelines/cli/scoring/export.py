"""`amemgym export`: write releases and runs in other projects' formats."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from pipelines.cli.terminal import TextConsole, print_plain
from pipelines.evaluation.folder import RunFolder, read_run, run_folder_of
from pipelines.evaluation.sources import open_tasks
from pipelines.export.formats import OF_RELEASES, OF_RUNS, RunExport, release_writer, run_writer
from pipelines.home import home
from pipelines.resources.storage.open_stores import open_release_store

PANEL = "Score memories"
FORMATS = f"Of a release: {', '.join(OF_RELEASES)}. Of a run: {', '.join(OF_RUNS)}. The first by default."


def export(
    source: Annotated[
        str,
        typer.Argument(metavar="RELEASE|RUN", help="A variant with a release, its folder, a data.json, or a run."),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    form: Annotated[Optional[str], typer.Option("--as", metavar="FORMAT", help=FORMATS)] = None,
    repo: Annotated[str, typer.Option(help="For eval-results: OWNER/NAME of the data set, or OWNER/NAME@REVISION.")] = "",
    at: Annotated[str, typer.Option("--source", help="For eval-results: an address where others can read the run.")] = "",
    users: Annotated[
        Optional[int], typer.Option(min=1, help="Number of users, or of tasks, of a release; by default all.")
    ] = None,
) -> None:
    """Write a release or a run in another project's format. pipelines/guide/score/formats.md lists the formats."""
    folder = run_folder_of(source, home=home())
    if folder is None:
        write = release_writer(form)
        sentences = write(open_tasks(source, release_store=open_release_store(home())).first(users), out)
    else:
        write_run = run_writer(form)
        run = read_run(str(folder), runs=folder.parent)
        sentences = write_run(RunExport(run, out, RunFolder(folder).made_at, repo, at))
    console = TextConsole(stderr=True)
    for sentence in sentences:
        print_plain(console, sentence)
