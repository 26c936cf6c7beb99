"""`amemgym show`, `explore` and `quality`: one user as a story, all snapshots as SQL, the quality report as a page."""

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from assets.amemgym.episodes import EPISODES
from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.amemgym.records.report import QualityReport
from assets.engine.ports import SnapshotRef
from assets.recipe.loading import variants
from assets.recipe.partitions import UNITS
from assets.records.estimate import percent, percents
from pipelines.cli.errors import Problem
from pipelines.home import home
from pipelines.resources.storage.explorer import write_explorer
from pipelines.resources.storage.io_manager import RecordIOManager
from pipelines.resources.storage.open_stores import snapshot_files, value_files
from pipelines.resources.storage.snapshots import ParquetSnapshots
from validation.amemgym.report.page import render_page
from validation.report.page import problems, write_page


def show(
    user: Annotated[str, typer.Argument(help="Number (1, 2, ...), name or id of a user.")] = "1",
    variant: Annotated[str, typer.Option(help="Which variant.")] = "demo",
) -> None:
    """Tell one user's story: profile, state, events, sessions, questions and answers."""
    print_user(user, variant=variant)


def explore() -> None:
    """Write a DuckDB file with views over all snapshots, for exploring by SQL."""
    data = home()
    if not write_explorer(snapshot_files(data), data.explorer):
        raise Problem(f"There are no snapshots in {snapshot_files(data).address} yet; make some with: amemgym generate demo")
    print(f"Wrote {data.explorer}; open it with: duckdb {data.explorer}")


def quality(
    variant: Annotated[str, typer.Argument(help="Which variant.")] = "demo",
    browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Say how good a variant is and write the page of its quality report. Exit status 1: it may not be released."""
    report = latest_report(variant)
    page = write_page(render_page(report), home().reports / f"{variant}.html")
    print_summary(report)
    print(f"Page: {page}")
    if browser:
        typer.launch(page.as_uri())
    if problems(report):
        raise typer.Exit(1)


def finished_episodes(variant: str) -> list[Episode]:
    """The episodes of a variant's latest snapshots, in order. Raises Problem when there are none."""
    if variant not in UNITS:
        raise Problem(f"There is no variant {variant!r}; there are {', '.join(variants())}.")
    values, snapshots = RecordIOManager(value_files(home())), ParquetSnapshots(snapshot_files(home()))
    episodes: list[Episode] = []
    for unit in UNITS[variant]:
        ref = values.find("episodes", unit)
        if isinstance(ref, SnapshotRef):
            episodes.extend(snapshots.read(ref, "episodes", record=EPISODES.record).values())
    if not episodes:
        raise Problem(f"Nothing of {variant!r} is finished yet; make it with: amemgym generate {variant}")
    return episodes


def print_user(user: str, *, variant: str, brief: bool = False) -> None:
    """Print one user's story; `brief` leaves out all but the beginning."""
    episodes = finished_episodes(variant)
    episode = choose_user(user, episodes)
    console = Console(width=min(Console().width, 120))
    _print_profile(console, episode)
    for index, period in enumerate(episode.periods[: 2 if brief else None]):
        _print_period(console, period, index=index, brief=brief)
    for question in episode.questions[: 1 if brief else None]:
        _print_question(console, question)


def choose_user(user: str, episodes: list[Episode]) -> Episode:
    """The user by number, name or id. Raises Problem listing the users."""
    for number, episode in enumerate(episodes, start=1):
        if user in (str(number), episode.user_id) or user.casefold() == episode.user_profile.name.casefold():
            return episode
    names = ", ".join(f"{number} {episode.user_profile.name}" for number, episode in enumerate(episodes, start=1))
    raise Problem(f"There is no user {user!r}; there are {names}.")


def _print_profile(console: Console, episode: Episode) -> None:
    profile = episode.user_profile
    facts = ", ".join(part for part in (f"{profile.age}", profile.gender, profile.occupation, profile.marital_status) if part)
    console.print(Panel(f"{facts}\n\n{profile.complementary_info}", title=f"[bold]{profile.name}[/bold]", title_align="left"))


def _print_period(console: Console, period: EpisodePeriod, *, index: int, brief: bool) -> None:
    if index == 0:
        console.print(f"\n[bold]Up to {period.period_end}[/bold]: the user lets the assistant know how things stand.")
    else:
        console.print(f"\n[bold]{period.period_start} to {period.period_end}[/bold]: {period.period_summary}")
    sessions = period.sessions[:3] if brief else period.sessions
    for session in sessions:
        if session.event:
            console.print(f"  [dim]{session.event}[/dim]")
        console.print(f'  {session.session_time:%b %d, %H:%M}  "{session.query}"', highlight=False)
        console.print(f"    [cyan]{_pairs(session.exposed_states.items())}[/cyan]", highlight=False)
    if len(sessions) < len(period.sessions):
        console.print(f"  ... and {len(period.sessions) - len(sessions)} more sessions")


def _print_question(console: Console, question: EpisodeQuestion) -> None:
    table = Table(title=question.query, title_justify="left", show_lines=True)
    table.add_column("state")
    table.add_column("answer")
    table.add_column("right at the end of period")
    for choice in question.answer_choices:
        right = [str(index) for index, golden in enumerate(question.golden) if golden == choice.choice_id]
        table.add_row("\n".join(choice.state), choice.answer, ", ".join(right) or "never")
    console.print()
    console.print(table)


def _pairs(items: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in items)


def latest_report(variant: str) -> QualityReport:
    """The report of the last run. Raises Problem where there is none."""
    report = RecordIOManager(value_files(home())).find("quality_report", variant)
    if not isinstance(report, QualityReport):
        raise Problem(f"There is no quality report of {variant!r} yet; make one with: amemgym generate {variant}")
    return report


def print_summary(report: QualityReport) -> None:
    """The verdict, then what is reached without memory and with perfect memory."""
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
