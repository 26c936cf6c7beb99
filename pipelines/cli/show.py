"""Tell what was made: one user as a story, all snapshots as SQL."""

from collections.abc import Iterable

from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from assets.amemgym.episodes import EPISODES
from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.llm.ports import SnapshotRef
from assets.recipe.loading import variants
from pipelines.cli.problems import Problem
from pipelines.home import home
from pipelines.resources.storage.io_manager import RecordIOManager
from pipelines.resources.storage.open_stores import snapshot_files, value_files
from pipelines.resources.storage.snapshots import ParquetSnapshots


def finished_episodes(variant: str) -> list[Episode]:
    """The episodes of a variant's latest snapshots, in order. Raises Problem when there are none."""
    from assets.recipe.partitions import UNITS

    if variant not in UNITS:
        raise Problem(f"There is no variant {variant!r}; there are {', '.join(variants())}.")
    values, snapshots = RecordIOManager(value_files(home())), ParquetSnapshots(snapshot_files(home()))
    found: list[Episode] = []
    for unit in UNITS[variant]:
        ref = values.find("episodes", unit)
        if isinstance(ref, SnapshotRef):
            found.extend(snapshots.read(ref, "episodes", record=EPISODES.record).values())
    if not found:
        raise Problem(f"Nothing of {variant!r} is finished yet; make it with: amemgym generate {variant}")
    return found


def show_user(user: str, *, variant: str, brief: bool = False) -> None:
    """Print one user's story; `brief` leaves out all but the beginning."""
    episodes = finished_episodes(variant)
    episode = choose(user, episodes)
    console = Console(width=min(Console().width, 120))
    _tell_person(console, episode)
    for index, period in enumerate(episode.periods[: 2 if brief else None]):
        _tell_period(console, period, index=index, brief=brief)
    for question in episode.questions[: 1 if brief else None]:
        _tell_question(console, question)


def choose(user: str, episodes: list[Episode]) -> Episode:
    """The user by number, name or id. Raises Problem listing the users."""
    for number, episode in enumerate(episodes, start=1):
        if user in (str(number), episode.user_id) or user.casefold() == episode.user_profile.name.casefold():
            return episode
    names = ", ".join(f"{number} {episode.user_profile.name}" for number, episode in enumerate(episodes, start=1))
    raise Problem(f"There is no user {user!r}; there are {names}.")


def write_explorer_file() -> None:
    """Write the DuckDB file and say how to open it."""
    from pipelines.resources.storage.explorer import write_explorer

    place = home()
    if not write_explorer(snapshot_files(place), place.explorer):
        raise Problem(f"There are no snapshots in {snapshot_files(place).address} yet; make some with: amemgym generate demo")
    print(f"Wrote {place.explorer}; open it with: duckdb {place.explorer}")


def _tell_person(console: Console, episode: Episode) -> None:
    profile = episode.user_profile
    facts = ", ".join(part for part in (f"{profile.age}", profile.gender, profile.occupation, profile.marital_status) if part)
    console.print(Panel(f"{facts}\n\n{profile.complementary_info}", title=f"[bold]{profile.name}[/bold]", title_align="left"))


def _tell_period(console: Console, period: EpisodePeriod, *, index: int, brief: bool) -> None:
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


def _tell_question(console: Console, question: EpisodeQuestion) -> None:
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
