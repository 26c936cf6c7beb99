"""`amemgym show`, `explore` and `quality`: one user as a story, all snapshots as SQL, how good a set of users is."""

import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.amemgym.records.report import QualityReport
from assets.engine.provenance import Provenance, ReportValue, ResolvedRecipe, difference
from assets.llm.ports import BudgetReached, EndpointError
from assets.memory_items.final_ablation import stated
from assets.memory_items.tasks import MemoryTask
from assets.recipe.loading import RecipeError, load_recipe, nearest_first, variants
from assets.records.base import ItemRecord
from assets.records.estimate import percent, percents, rough_told
from assets.records.report import BenchmarkReport
from assets.reporting.plurals import counted
from pipelines.benchmarks import BENCHMARKS, BenchmarkEntry
from pipelines.cli.errors import Problem
from pipelines.cli.options import SetOption, VariantOption, json_option, option, options_of, parse_overrides
from pipelines.cli.terminal import print_json, print_plain, print_table
from pipelines.evaluation.errors import EvaluationError
from pipelines.given_data import QualityRequest, report_on_source
from pipelines.home import home
from pipelines.resources.storage.explorer import write_explorer
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.resources.storage.open_stores import snapshot_files
from pipelines.resources.storage.snapshots import ParquetSnapshots
from validation.expectations.project import SuiteError
from validation.report.page import problems, write_page

SOURCE = "A variant that was made here, a data.json of anybody, a release's folder, or OWNER/NAME@TAG."


def show(
    item: Annotated[str, typer.Argument(help="Number (1, 2, ...), name or id of a user, or of a task.")] = "1",
    variant: VariantOption = "demo",
    as_json: Annotated[bool, json_option("the item as its release has it")] = False,
) -> None:
    """Tell one user's story: profile, state, events, sessions, questions and answers; or a task's facts and documents."""
    if as_json:
        print_json(choose_item(item, finished_items(variant), noun=_entry(variant).benchmark.noun))
        return
    print_item(item, variant=variant)


def explore() -> None:
    """Write a DuckDB file with views over all snapshots, for exploring by SQL."""
    data = home()
    if not write_explorer(snapshot_files(data), data.explorer):
        raise Problem(f"There are no snapshots in {snapshot_files(data).address} yet; make some with: amemgym generate demo")
    print(f"Wrote {data.explorer}; open it with: duckdb {data.explorer}")


@dataclass(frozen=True, kw_only=True)
class QualityOptions:
    """Options for a data set that was not made here: only gates and audit ask a model."""

    gates: bool = option("Have judges read every query and answer, as at the gates.", False)
    audit: bool = option("Have judges look for the ceiling, guesses and leaks.", False)
    model: str = option("Model of the judges.")
    users: int | None = option("Only the first so many users.", None, least=1)
    offline: bool = option("Ask no model; use recorded replies only.", False)

    @property
    def given(self) -> bool:
        return self != QualityOptions()


@options_of(QualityOptions, keyword="options")
def quality(
    source: Annotated[str, typer.Argument(help=SOURCE)] = "demo",
    set_: SetOption = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    as_json: Annotated[bool, json_option("page", "problems", "report")] = False,
    *,
    options: QualityOptions,
) -> None:
    """Say how good a variant, or anybody's data, is and write the page of its quality report. Exit status 1: it has faults."""
    overrides = parse_overrides(set_ or ())
    if source in variants():
        if overrides or options.given:
            raise Problem(
                f"Options are for a data.json or a release: the report of the variant {source!r} was written when it was made. "
                "Give the folder of its release to have it reported on anew."
            )
        report, page, stale = *_made_here(source), _reported_under_another_recipe(source)
    else:
        asked = QualityRequest(source, overrides, options.users, options.gates, options.audit, options.model, options.offline)
        with _quality_errors():
            report, page = report_on_source(asked, home=home(), notice=partial(print_plain, Console(stderr=True)))
        stale = ""
    if as_json:
        print_json({"page": str(page), "problems": problems(report), "report": report})
    else:
        print_summary(report, stale=stale)
        print(f"Page: {page}")
    if browser:
        typer.launch(page.as_uri())
    if stale:
        print(stale, file=sys.stderr)
    if problems(report) or stale:
        raise typer.Exit(1)


def finished_items(variant: str) -> list[ItemRecord]:
    """The finished items of a variant's latest snapshots, in order. Raises Problem when there are none."""
    benchmark = _entry(variant).benchmark
    final = benchmark.final
    values, snapshots = open_asset_values(home()), ParquetSnapshots(snapshot_files(home()))
    items: list[ItemRecord] = []
    for unit in benchmark.partitions.units[variant]:
        value = values.find(final.name, unit)
        if isinstance(value, Provenance):
            items.extend(snapshots.read(value.snapshots[unit][final.name], final.name, record=final.record).values())
    if not items:
        raise Problem(f"Nothing of {variant!r} is finished yet; make it with: amemgym generate {variant}")
    return items


def print_item(item: str, *, variant: str, brief: bool = False) -> None:
    """Print one item's story; `brief` leaves out all but the beginning."""
    found = choose_item(item, finished_items(variant), noun=_entry(variant).benchmark.noun)
    console = Console(width=min(Console().width, 120))
    if isinstance(found, Episode):
        print_episode(console, found, brief=brief)
    elif isinstance(found, MemoryTask):
        print_task(console, found)
    else:
        raise Problem(f"How to tell of {variant!r} is not known; its rows are in: amemgym explore")


def choose_item(wanted: str, items: Sequence[ItemRecord], *, noun: str) -> ItemRecord:
    """The item by number, name or id. Raises Problem listing the items."""
    for number, item in enumerate(items, start=1):
        if wanted in (str(number), item.item_id) or wanted.casefold() == item_name(item).casefold():
            return item
    names = (f"{number} {item_name(item)}" for number, item in enumerate(items, start=1))
    raise Problem(f"There is no {noun} {wanted!r}; there are {nearest_first(wanted, names)}.")


def _made_here(variant: str) -> tuple[BenchmarkReport, Path]:
    """The report of the last run, and its page, written anew. Raises Problem where there is none."""
    entry = _entry(variant)
    value = open_asset_values(home()).find(entry.benchmark.key("quality_report"), variant)
    report: object = value.report if isinstance(value, ReportValue) else None
    if not isinstance(report, entry.benchmark.report):
        raise Problem(f"There is no quality report of {variant!r} yet; make one with: amemgym generate {variant}")
    made: BenchmarkReport = report  # pyright: ignore[reportAssignmentType]
    return made, write_page(entry.validation.report.render(report), home().reports / f"{variant}.html")


def _entry(variant: str) -> BenchmarkEntry:
    try:
        benchmark = load_recipe(variant).benchmark
    except RecipeError as error:
        raise Problem(str(error)) from error
    return next(entry for entry in BENCHMARKS if entry.benchmark.name == benchmark)


def _reported_under_another_recipe(variant: str) -> str:
    """The sentence about a report whose recipe is not the variant's any more; empty where it is."""
    values, benchmark = open_asset_values(home()), _entry(variant).benchmark
    recipe, value = values.find(benchmark.key("recipe"), variant), values.find(benchmark.key("quality_report"), variant)
    if not isinstance(recipe, ResolvedRecipe) or not isinstance(value, ReportValue):
        return ""
    under = value.provenance.recipe
    if under.fingerprint == recipe.recipe.fingerprint:
        return ""
    return (
        f"This report is of {variant!r} with {difference(under, recipe.recipe)}, as the last run's recipe says, so it may not "
        f"be released. Make {variant} again with: amemgym generate {variant}, or with --reset as {variant}.yaml says."
    )


@contextmanager
def _quality_errors() -> Generator[None, None, None]:
    """Raise Problem for what the user can correct."""
    try:
        yield
    except BudgetReached as error:
        raise Problem(f"{error} Raise it by --set budget.max_cost_usd=... or --set budget.max_tokens=...") from error
    except (EvaluationError, EndpointError, RecipeError, SuiteError) as error:
        raise Problem(str(error)) from error
    except OSError as error:
        raise Problem(f"{error.filename or 'The disk'} cannot be used: {error.strerror or error}.") from error


def print_summary(report: BenchmarkReport, *, stale: str = "") -> None:
    """What is reached without memory and with perfect memory, texts that spell a value, then the verdict.

    `stale`: why the report does not hold any more, "" where it does.
    """
    console = Console()
    if isinstance(report, QualityReport):
        _print_figures(report, console)
    found = problems(report)
    for problem in found:
        console.print(f"- {problem}", markup=False)
    console.print("It may not be released." if found or stale else "Nothing stands against a release.")
    if report.unread:
        console.print(report.unread, highlight=False)


def _print_figures(report: QualityReport, console: Console) -> None:
    if not report.finished:
        console.print(f"No {report.noun} was finished, so there is nothing to measure.")
        return
    rows = [
        (
            line.cue,
            percents(line.accuracy, items=report.finished),
            percent(line.random),
            percent(line.limit) if line.verdict != "told" else "",
            line.verdict_word,
        )
        for line in report.wall
    ]
    print_table(console, ("without memory", "right", "guess", "limit", "verdict"), rows)
    for line in report.wall:
        if line.is_allowed:
            console.print(f"{line.cue!r} is {line.verdict_words}.", highlight=False, markup=False)
    if any(line.verdict_word == "unproven" for line in report.wall):
        console.print("Unproven: below the limit, but there are too few users to show that it holds.", highlight=False)
    scores = f"scores {percents(report.ceiling, items=report.finished)}" if report.ceiling else "was not measured"
    changes = percent(report.golden_changes)
    console.print(f"Perfect memory {scores}; {changes} of the right options change.", highlight=False)
    for line in report.texts:
        if line.check == "no_copied_value" and line.text in ("answer", "query"):
            noun = {"answer": "answers", "query": "queries"}[line.text]
            console.print(f"{percent(line.rate)} of {line.texts:,} {noun} spell a value.", highlight=False)
    if rough := rough_told(report.finished, report.noun):
        console.print(rough, highlight=False, markup=False)


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
        console.print(f"\n[bold]Period 0, up to {period.period_end}[/bold]: the user lets the assistant know how things stand.")
    else:
        dates = f"{period.period_start} to {period.period_end}"
        console.print(f"\n[bold]Period {index}, {dates}[/bold]: {period.period_summary}")
    sessions = period.sessions[:3] if brief else period.sessions
    for session in sessions:
        if session.event:
            console.print(f"  [dim]{session.event}[/dim]")
        console.print(f'  {session.session_time:%b %d, %H:%M}  "{session.query}"', highlight=False)
        console.print(f"    [cyan]{_pairs(session.exposed_states.items())}[/cyan]", highlight=False)
    if len(sessions) < len(period.sessions):
        console.print(f"  ... and {counted(len(period.sessions) - len(sessions), 'more session')}")


def _print_question(console: Console, question: EpisodeQuestion) -> None:
    table = Table(title=question.query, title_justify="left", show_lines=True)
    longest = max(len(name) for choice in question.answer_choices for name in choice.state)
    table.add_column("right at end\nof period")
    table.add_column("state", no_wrap=longest <= console.width // 3, overflow="fold")
    table.add_column("answer")
    ends = [(_ends(question, choice.choice_id), choice) for choice in question.answer_choices]
    # As they become right; what never is stands last.
    for periods, choice in sorted(ends, key=lambda pair: pair[0] or [len(question.golden)]):
        table.add_row(", ".join(map(str, periods)) or "never", "\n".join(choice.state), choice.answer)
    console.print()
    console.print(table)


def _ends(question: EpisodeQuestion, choice_id: str) -> list[int]:
    """The periods at whose end this choice is right."""
    return [period for period, golden in enumerate(question.golden) if golden == choice_id]


def _pairs(items: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in items)
