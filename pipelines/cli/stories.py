"""One item as a story: a user of AMemGym with periods and questions, or a task with its facts and documents."""

from collections.abc import Iterable

from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.memory_items.final_ablation import stated
from assets.memory_items.tasks import MemoryTask
from assets.records.base import ItemRecord


def print_episode(console: Console, episode: Episode, *, brief: bool = False) -> None:
    """A user's profile, periods and questions; `brief` leaves out all but the beginning."""
    _print_profile(console, episode)
    for index, period in enumerate(episode.periods[: 2 if brief else None]):
        _print_period(console, period, index=index, brief=brief)
    for question in episode.questions[: 1 if brief else None]:
        _print_question(console, question)


def print_task(console: Console, task: MemoryTask) -> None:
    """A task's question and answer, the facts that it takes and where they stand, and the turns of its shortest length."""
    kind, misses = task.answer.kind, ", ".join(task.answer.near_misses) or "none"
    console.print(Panel(f"{task.question}\n\n{task.answer.value} ({kind}; near misses: {misses})", title=task.task_id))
    shortest, *_ = task.lengths
    documents = list(shortest.documents)
    for number, fact in enumerate(task.hops, start=1):
        told = stated(fact, documents)
        console.print(f"[bold]Fact {number}[/bold]: {fact.phrase.format(x=fact.subject)}: {fact.value}", highlight=False)
        console.print(f"  {told.title}: {told.text}", highlight=False, markup=False)
    lengths = ", ".join(f"{sized.tokens:,} of {sized.target_tokens:,}" for sized in task.lengths)
    console.print(f"Lengths in tokens, as received and as wanted: {lengths}. At the shortest:", highlight=False)
    for number, turn in enumerate(shortest.turns):
        table = Table(title=f"turn {number}", title_justify="left")
        for name in ("document", "there as", "tokens"):
            table.add_column(name)
        for document in turn.documents:
            table.add_row(document.title, document.role.replace("_", " "), f"{document.tokens:,}")
        console.print(table)


def item_name(item: ItemRecord) -> str:
    """What a reader calls the item."""
    return item.user_profile.name if isinstance(item, Episode) else item.item_id


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
