"""`amemgym show` and `quality`: one user's story, and the quality of a set of users."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pkgutil import resolve_name
from typing import Annotated

import typer

from assets.engine.provenance import ReportValue, ResolvedRecipe, difference
from assets.llm.ports import BudgetReached
from assets.recipe.loading import load_recipe, variants
from assets.recipe.recipe import Recipe
from assets.recipe.registry import DEFAULT_BENCHMARK
from assets.records.report import BenchmarkReport
from assets.reporting.verdict import Verdict, verdict_on
from pipelines.benchmarks import BENCHMARKS, BenchmarkEntry, QualityRequest, entry_of
from pipelines.cli.options import SetOption, VariantOption, json_option, option, options_of, parse_overrides
from pipelines.cli.stories import choose_item, expect_no_release, finished_items, print_item
from pipelines.cli.terminal import TextConsole, print_json, print_plain, stdout_console
from pipelines.errors import Problem
from pipelines.home import home
from pipelines.resources.storage.io_manager import open_asset_values
from validation.expectations.project import SuiteError
from validation.report.page import write_page

SOURCE = "A variant that was made here, any data.json, a release's folder, or OWNER/NAME@TAG."


def show(
    item: Annotated[str, typer.Argument(help="Number (1, 2, ...), name or id of a user, or of a task.")] = "1",
    variant: VariantOption = "demo",
    as_json: Annotated[bool, json_option("the item as its release has it")] = False,
) -> None:
    """Print one user's story: profile, state, events, sessions, questions and answers; or a task's facts and documents."""
    if item in variants():
        raise Problem(f"{item!r} is a variant; name one of its users or tasks: amemgym show 1 --variant {item}")
    if as_json:
        print_json(choose_item(item, finished_items(variant), noun=entry_of(load_recipe(variant)).benchmark.noun))
        return
    print_item(item, variant=variant)


@dataclass(frozen=True, kw_only=True)
class QualityOptions:
    """Options for a data set that was not made here. Only the gates and the audit ask a model."""

    gates: bool = option("Let judges read every query and answer, as the gates do.", False)
    audit: bool = option("Let judges measure the ceiling, guesses and leaks.", False)
    model: str = option("Model of the judges.")
    users: int | None = option("Number of users; by default all.", None, least=1)
    offline: bool = option("Ask no model; use recorded replies only.", False)

    @property
    def is_given(self) -> bool:
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
    """Measure the quality of a variant, or of any data, and write its quality report's page. Exit status 1: it has faults."""
    overrides = parse_overrides(set_ or ())
    if source in variants():
        if overrides or options.is_given:
            raise Problem(
                f"Options are for a data.json or a release: the report of the variant {source!r} was written when it was made. "
                "Give the folder of its release for a new report."
            )
        entry = entry_of(load_recipe(source))
        made = _last_report(entry, source)
        report = made.report
        page = write_page(entry.validation.report.render(report), home().reports / f"{source}.html")
        verdict = verdict_on(report, stale=_stale_because(made.provenance.recipe, entry))
    else:
        # A data.json does not name its benchmark; it has the shape of the default benchmark.
        entry = BENCHMARKS[DEFAULT_BENCHMARK]
        request = QualityRequest(source=source, overrides=overrides, **asdict(options))
        report_on_source = resolve_name(entry.report_on_source)
        with _quality_errors():
            report, page = report_on_source(request, home=home(), notice=partial(print_plain, TextConsole(stderr=True)))
        verdict = verdict_on(report)
    if as_json:
        print_json({"page": str(page), "problems": verdict.problems, "report": report})
    else:
        print_summary(report, verdict, entry=entry)
        print(f"Page: {page}")
    if browser:
        typer.launch(page.as_uri())
    if verdict.problems:
        raise typer.Exit(1)


def _last_report(entry: BenchmarkEntry, variant: str) -> ReportValue:
    """Return the report of the last run. Raises Problem if there is none."""
    value = open_asset_values(home()).find(entry.benchmark.key("quality_report"), variant)
    if not isinstance(value, ReportValue) or not isinstance(value.report, entry.benchmark.report_record):
        expect_no_release(f"The rows and the quality report of {variant!r}", variant)
        raise Problem(f"There is no quality report of {variant!r} yet; make one with: amemgym generate {variant}")
    return value


def _stale_because(under: Recipe, entry: BenchmarkEntry) -> str:
    """Return a sentence if the recipe of a report is no longer its variant's recipe, else ""."""
    variant = under.variant
    recipe = open_asset_values(home()).find(entry.benchmark.key("recipe"), variant)
    if not isinstance(recipe, ResolvedRecipe) or under.fingerprint == recipe.recipe.fingerprint:
        return ""
    return (
        f"This report is of {variant!r} with {difference(under, recipe.recipe)}, as the last run's recipe says, so it may not "
        f"be released. Make {variant} again with: amemgym generate {variant}, or with --reset as {variant}.yaml says."
    )


@contextmanager
def _quality_errors() -> Generator[None, None, None]:
    """Turn errors of the budget and of a rule suite into a Problem."""
    try:
        yield
    except BudgetReached as error:
        raise Problem(f"{error} Raise it by --set budget.max_cost_usd=... or --set budget.max_tokens=...") from error
    except SuiteError as error:
        raise Problem(str(error)) from error


def print_summary(report: BenchmarkReport, verdict: Verdict, *, entry: BenchmarkEntry) -> None:
    """Print the benchmark's figures, and the verdict below its reasons."""
    console = stdout_console()
    if entry.print_figures:
        resolve_name(entry.print_figures)(console, report)
    for reason in verdict.reasons:
        console.print(f"- {reason}", markup=False)
    console.print(f"{verdict.words}.", style="green" if verdict.kind == "release" else "")
