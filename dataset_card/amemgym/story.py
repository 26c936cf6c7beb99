"""Prints a user's story, and a quality report's main figures."""

from itertools import chain

from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.amemgym.records.report import QualityReport
from assets.records.estimate import interval_note, percent, percents
from assets.reporting.plurals import counted
from assets.reporting.text_table import print_table
from assets.text.calendar_words import MONTHS

BRIEF_SESSIONS = 3  # sessions shown of each period in a brief story


def print_figures(console: Console, report: QualityReport) -> None:
    """Print the score without memory and with perfect memory, and how many texts spell out a value."""
    if not report.finished:
        console.print(f"No {report.noun} was finished, so there is nothing to measure.")
        return
    rows: list[tuple[str, ...]] = []
    for line in report.shortcuts:
        right = percents(line.accuracy)
        limit = percent(line.limit) if line.verdict != "unlimited" else ""
        rows.append((line.shortcut, right, percent(line.random), limit, line.verdict_word))
    print_table(console, ("without memory", "right", "guess", "limit", "verdict"), rows)
    for line in report.shortcuts:
        if line.is_allowed:
            console.print(f"{line.shortcut!r} is {line.verdict_words}.", markup=False)
    if "unproven" in [row[-1] for row in rows]:
        console.print("Unproven: below the limit, but there are too few users to be sure.")
    figures = [(line.figure, percents(line.value), percent(line.limit)) for line in report.difficulty]
    print_table(console, ("difficulty", "value", "limit"), figures)
    scores = f"scores {percents(report.ceiling)}" if report.ceiling else "was not measured"
    console.print(f"Perfect memory {scores}; {percent(report.golden_changes)} of the right options change.")
    for line in report.texts:
        if line.check == "no_copied_value" and line.text in ("answer", "query"):
            noun = "answers" if line.text == "answer" else "queries"
            console.print(f"{percent(line.rate)} of {line.texts:,} {noun} spell a value.")
    console.print(interval_note(report.finished, report.noun), markup=False)


def print_episode(console: Console, episode: Episode, *, brief: bool = False) -> None:
    """Print a user's profile, periods and questions; `brief` prints only the beginning."""
    _print_profile(console, episode)
    for index, period in enumerate(episode.periods[: 2 if brief else None]):
        _print_period(console, period, index=index, brief=brief)
    for question in episode.questions[: 1 if brief else None]:
        _print_question(console, question)


def _print_profile(console: Console, episode: Episode) -> None:
    profile = episode.user_profile
    facts = [str(profile.age), profile.gender, profile.occupation, profile.marital_status]
    known = ", ".join(filter(None, facts))
    console.print(Panel(f"{known}\n\n{profile.complementary_info}", title=f"[bold]{profile.name}[/bold]", title_align="left"))


def _print_period(console: Console, period: EpisodePeriod, *, index: int, brief: bool) -> None:
    if index == 0:
        console.print(f"\n[bold]Period 0, up to {period.period_end}[/bold]: the user lets the assistant know how things stand.")
    else:
        dates = f"{period.period_start} to {period.period_end}"
        console.print(f"\n[bold]Period {index}, {dates}[/bold]: {period.period_summary}")
    sessions = period.sessions[:BRIEF_SESSIONS] if brief else period.sessions
    for session in sessions:
        if session.event:
            console.print(f"  [dim]{session.event}[/dim]")
        at = session.session_time
        console.print(f'  {MONTHS[at.month - 1][:3]} {at:%d, %H:%M}  "{session.query}"', highlight=False)
        exposed = ", ".join(map(" = ".join, session.exposed_states.items()))
        console.print(f"    [cyan]{exposed}[/cyan]", highlight=False)
    if len(sessions) < len(period.sessions):
        console.print(f"  ... and {counted(len(period.sessions) - len(sessions), 'more session')}")


def _print_question(console: Console, question: EpisodeQuestion) -> None:
    table = Table(title=question.query, title_justify="left", show_lines=True)
    longest = max(map(len, chain.from_iterable(choice.state for choice in question.answer_choices)))
    table.add_column("right at end\nof period")
    table.add_column("state", no_wrap=longest <= console.width // 3, overflow="fold")
    table.add_column("answer")
    ends: dict[str, list[int]] = {}
    for period, golden in enumerate(question.golden):
        ends.setdefault(golden, []).append(period)
    never = [len(question.golden)]
    # In the order in which answers become right; those that never do come last.
    for choice in sorted(question.answer_choices, key=lambda choice: ends.get(choice.choice_id, never)):
        periods = ", ".join(map(str, ends.get(choice.choice_id, ())))
        table.add_row(periods or "never", "\n".join(choice.state), choice.answer)
    console.print()
    console.print(table)
