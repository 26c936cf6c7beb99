"""`amemgym quality`: the latest quality report of a variant, in short and as a page."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from assets.amemgym.records.report import QualityReport


def quality(
    variant: Annotated[str, typer.Argument(help="Which variant.")] = "demo",
    browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Say how good a variant is and write the page of its quality report. Exit status 1: it may not be released."""
    from pipelines.home import home
    from validation.report.page import problems, write_page

    report = latest_report(variant)
    page = write_page(report, home().reports / f"{variant}.html")
    print_summary(report)
    print(f"Page: {page}")
    if browser:
        typer.launch(page.as_uri())
    if problems(report):
        raise typer.Exit(1)


def latest_report(variant: str) -> "QualityReport":
    """The report of the last run. Raises Problem where there is none."""
    from assets.amemgym.records.report import QualityReport
    from pipelines.cli.problems import Problem
    from pipelines.home import home
    from pipelines.resources.storage.io_manager import RecordIOManager
    from pipelines.resources.storage.open_stores import value_files

    found = RecordIOManager(value_files(home())).find("quality_report", variant)
    if not isinstance(found, QualityReport):
        raise Problem(f"There is no quality report of {variant!r} yet; make one with: amemgym generate {variant}")
    return found


def print_summary(report: "QualityReport") -> None:
    """The verdict, then what is reached without memory and with perfect memory."""
    from rich.console import Console
    from rich.table import Table

    from assets.records.estimate import percent, percents
    from validation.report.page import problems

    console = Console()
    table = Table("without memory", "right", "guess", "limit", "")
    for line in report.wall:
        limit = percent(line.limit) if line.verdict != "told" else ""
        table.add_row(line.cue, percents(line.accuracy), percent(line.random), limit, line.verdict)
    console.print(table)
    console.print(
        f"Perfect memory scores {percents(report.ceiling)}; {percent(report.golden_changes)} of the right options change."
    )
    for problem in problems(report):
        console.print(f"- {problem}", markup=False)
    console.print("It may not be released." if problems(report) else "Nothing stands against a release.")
