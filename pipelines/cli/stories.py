"""Prints a variant's finished items: a user's or a task's story, and a report's main figures."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pkgutil import resolve_name

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.amemgym.records.report import QualityReport
from assets.engine.provenance import Provenance
from assets.memory_items.final_ablation import stated
from assets.memory_items.tasks import MemoryTask
from assets.recipe.loading import RecipeError, load_recipe, nearest_first
from assets.records.base import ItemRecord
from assets.records.estimate import percent, percents, rough_note
from assets.reporting.plurals import counted
from assets.tool_dialogue.records import ToolTask
from assets.user_facts.records import FactUser
from pipelines.benchmarks import BenchmarkEntry, entry_of
from pipelines.cli.terminal import TextConsole, print_table, stdout_console
from pipelines.errors import Problem
from pipelines.home import home
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.resources.storage.open_stores import snapshot_files
from pipelines.resources.storage.snapshots import ParquetSnapshots

BRIEF_SESSIONS = 3  # sessions shown of each period in a brief story


def variant_entry(variant: str) -> BenchmarkEntry:
    """Return the entry of the benchmark that the variant's recipe names. Raises Problem if the recipe cannot be read."""
    try:
        return entry_of(load_recipe(variant))
    except RecipeError as error:
        raise Problem(str(error)) from error


def finished_items(variant: str) -> list[ItemRecord]:
    """Return the finished items of a variant's latest snapshots, in order. Raises Problem if there are none."""
    benchmark = variant_entry(variant).benchmark
    final = benchmark.final
    values = open_asset_values(home())
    snapshots = ParquetSnapshots(snapshot_files(home()))
    items: list[ItemRecord] = []
    for unit in benchmark.partitions.units[variant]:
        value = values.find(final.name, unit)
        if isinstance(value, Provenance):
            items.extend(snapshots.read(value.snapshots[unit][final.name], final.name, record=final.record).values())
    if not items:
        raise Problem(f"Nothing of {variant!r} is finished yet; make it with: amemgym generate {variant}")
    return items


def print_item(item: str, *, variant: str, brief: bool = False) -> None:
    """Print one item's story; `brief` prints only the beginning."""
    entry = variant_entry(variant)
    found = choose_item(item, finished_items(variant), noun=entry.benchmark.noun)
    if not entry.print_item:
        raise Problem(f"{variant!r} has no story to print; see its rows with: amemgym explore")
    # Panels fill the width, and longer lines are hard to read.
    resolve_name(entry.print_item)(TextConsole(width=min(stdout_console().width, 120)), found, brief=brief)


def choose_item(wanted: str, items: Sequence[ItemRecord], *, noun: str) -> ItemRecord:
    """Return the item with this number, name or id. Raises Problem, which lists the items, if there is none."""
    names: list[str] = []
    for number, item in enumerate(items, start=1):
        if wanted in (str(number), item.item_id) or wanted.casefold() == item.display_name.casefold():
            return item
        names.append(f"{number} {item.display_name}")
    raise Problem(f"There is no {noun} {wanted!r}; there are {nearest_first(wanted, names)}.")


def print_figures(console: Console, report: QualityReport) -> None:
    """Print the score without memory and with perfect memory, and how many texts spell out a value."""
    if not report.finished:
        console.print(f"No {report.noun} was finished, so there is nothing to measure.")
        return
    rows: list[tuple[str, ...]] = []
    for line in report.shortcuts:
        right = percents(line.accuracy, items=report.finished)
        limit = percent(line.limit) if line.verdict != "unlimited" else ""
        rows.append((line.shortcut, right, percent(line.random), limit, line.verdict_word))
    print_table(console, ("without memory", "right", "guess", "limit", "verdict"), rows)
    for line in report.shortcuts:
        if line.is_allowed:
            console.print(f"{line.shortcut!r} is {line.verdict_words}.", markup=False)
    if "unproven" in [row[-1] for row in rows]:
        console.print("Unproven: below the limit, but there are too few users to be sure.")
    scores = f"scores {percents(report.ceiling, items=report.finished)}" if report.ceiling else "was not measured"
    console.print(f"Perfect memory {scores}; {percent(report.golden_changes)} of the right options change.")
    for line in report.texts:
        if line.check == "no_copied_value" and line.text in ("answer", "query"):
            noun = "answers" if line.text == "answer" else "queries"
            console.print(f"{percent(line.rate)} of {line.texts:,} {noun} spell a value.")
    rough = rough_note(report.finished, report.noun)
    if rough:
        console.print(rough, markup=False)


def print_episode(console: Console, episode: Episode, *, brief: bool = False) -> None:
    """Print a user's profile, periods and questions; `brief` prints only the beginning."""
    _print_profile(console, episode)
    for index, period in enumerate(episode.periods[: 2 if brief else None]):
        _print_period(console, period, index=index, brief=brief)
    for question in episode.questions[: 1 if brief else None]:
        _print_question(console, question)


def print_task(console: Console, task: MemoryTask, *, brief: bool = False) -> None:  # brief or not, a task is short
    """Print a task's question and answer, the facts that it needs with their documents, and the turns of its shortest form."""
    misses = ", ".join(task.answer.near_misses) or "none"
    answer = f"{task.answer.value} ({task.answer.kind}; near misses: {misses})"
    console.print(Panel(f"{task.question}\n\n{answer}", title=task.task_id))
    _print_facts_and_turns(console, task)


def print_tool_task(console: Console, task: ToolTask, *, brief: bool = False) -> None:  # brief or not, a task is short
    """Print a task's request and the right calls, the facts that they need with their documents, and its shortest form."""
    calls = "\n".join(call.written for call in task.calls)
    console.print(Panel(Text(f"{task.question}\n\n{calls}\n\nThe customer is told: {task.said}"), title=task.task_id))
    _print_facts_and_turns(console, task)


def print_fact_user(console: Console, user: FactUser, *, brief: bool = False) -> None:
    """Print a user's sessions, and the questions with their right answers; `brief` prints only the beginning."""
    console.print(Panel(counted(len(user.questions), "question"), title=f"[bold]{user.name}[/bold]", title_align="left"))
    for session in user.sessions[: BRIEF_SESSIONS if brief else None]:
        texts = " / ".join(filter(None, (session.message, session.request, session.mail)))
        console.print(f"  {session.at:%b %d, %H:%M}  {texts}", highlight=False, markup=False)
    rows: list[tuple[str, ...]] = []
    for one in user.questions[: BRIEF_SESSIONS if brief else None]:
        rows.append((one.kind.replace("_", " "), one.text, one.right.text))
    print_table(console, ("kind", "question", "right"), rows, title="questions")


def _print_facts_and_turns(console: Console, task: MemoryTask) -> None:
    shortest = task.lengths[0]
    documents = list(shortest.documents)
    for number, fact in enumerate(task.hops, start=1):
        told = stated(fact, documents)
        console.print(f"[bold]Fact {number}[/bold]: {fact.phrase.format(x=fact.subject)}: {fact.value}", highlight=False)
        console.print(f"  {told.title}: {told.text}", highlight=False, markup=False)
    lengths = ", ".join(f"{sized.tokens:,} of {sized.target_tokens:,}" for sized in task.lengths)
    console.print(f"Lengths in tokens, as received and as wanted: {lengths}. At the shortest:", highlight=False)
    for number, turn in enumerate(shortest.turns):
        rows: list[tuple[str, ...]] = []
        for document in turn.documents:
            rows.append((document.title, document.role.replace("_", " "), f"{document.tokens:,}"))
        print_table(console, ("document", "there as", "tokens"), rows, title=f"turn {number}")


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
        console.print(f'  {session.session_time:%b %d, %H:%M}  "{session.query}"', highlight=False)
        console.print(f"    [cyan]{_pairs(session.exposed_states)}[/cyan]", highlight=False)
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


def _pairs(states: Mapping[str, str]) -> str:
    return ", ".join(map(" = ".join, states.items()))
