"""`amemgym plan` and `amemgym ledger`: what calls will cost, before the first paid one, and what they have cost."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console

from assets.amemgym.recipe import AMemGymRecipe
from assets.deep_research.recipe import DeepResearchRecipe
from assets.recipe.recipe import Recipe
from assets.reporting.plurals import counted
from pipelines.benchmarks import benchmark_of
from pipelines.cli.errors import Problem
from pipelines.cli.groups import command_group
from pipelines.cli.options import ModelOption, RecipeArgument, SetOption, json_option
from pipelines.cli.recipe import recipe_to_follow
from pipelines.cli.terminal import print_json, print_plain, print_table
from pipelines.home import home
from pipelines.planning.defaults import ErrorMargin, load_defaults
from pipelines.planning.document_tasks import WIDENED, forecast_tasks
from pipelines.planning.forecast import Range, StageForecast, Terms, forecast
from pipelines.planning.observed import basis_for
from pipelines.planning.prompt_calls import RecipeSize
from pipelines.resources.ledger.ledger import Ledger, ledger_file
from pipelines.resources.ledger.prices import Prices, read_prices
from pipelines.resources.ledger.queries import LedgerSums, dollars, summary
from pipelines.resources.ledger.queries import export as write_parquet
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.open_database import open_database

# What the paper says of one user of base with gpt-4.1 (App. C.2).
PAPER = "140 K input and 15.2 K output tokens, $0.40 with gpt-4.1 (App. C.2)"
USERS_AT_ONCE = 32
FREE = dollars(0)
# A column of the ledger with nothing else is left out.
NEVER = {"errors": "0", "cached": "0", "cost": FREE}


def plan(
    variant: RecipeArgument,
    overrides: SetOption = None,
    model: ModelOption = "",
    as_json: Annotated[bool, json_option("variant", "from", "stages", "all")] = False,
) -> None:
    """Say calls, tokens, money and time per stage, with intervals, before the first paid call."""
    recipe = recipe_to_follow(variant, overrides, model=model)
    settings = EndpointSettings.from_environment()
    prices = Prices(read_prices(), base_url=settings.address if settings else None)
    terms = Terms(prices, (settings or EndpointSettings()).max_in_flight, USERS_AT_ONCE)
    path, spent = ledger_file(home()), list[LedgerSums]()
    ledger = Ledger(path, reading=True) if open_database(path).exists else None
    try:
        forecasts, source = _forecast(recipe, ledger, terms=terms)
        if ledger is not None:
            spent = asyncio.run(summary(ledger, by="variant", variant=recipe.variant))
    finally:
        if ledger is not None:
            ledger.close()
    if as_json:
        print_json({"variant": recipe.variant, "from": source, "stages": forecasts[:-1], "all": forecasts[-1]})
        return
    console = Console(highlight=False)
    _print_plan(console, recipe, forecasts)
    console.print(f"From {source}. Prefix caching is not counted.")
    if isinstance(recipe, AMemGymRecipe) and recipe.audit.enabled:
        console.print(
            "A line counts the prompts of its own stage. Audits ask the gates' prompts too; those calls count with the gates."
        )
    for line in (*_sentences(recipe, forecasts[-1]), *_spent(spent)):
        console.print(line)
    if settings is None:
        console.print("No model endpoint is configured: a run now would use the embedded model, which is free.")


def _forecast(recipe: Recipe, ledger: Ledger | None, *, terms: Terms) -> tuple[list[StageForecast], str]:
    """The forecast, and what it rests on. Raises Problem for a benchmark of whose calls nothing is known."""
    if isinstance(recipe, AMemGymRecipe):
        basis = asyncio.run(basis_for(recipe, ledger))
        return forecast(recipe, basis, terms=terms), f"{basis.source}; intervals of 90 %{_widened(basis.margin)}"
    if isinstance(recipe, DeepResearchRecipe) and recipe.told_from == "world":
        forecasts = forecast_tasks(recipe, call_time=load_defaults().call_time, terms=terms)
        margin = f"{WIDENED.low:g} to {WIDENED.high:g} times that"
        return forecasts, f"the recipe's hops, lengths and votes, if all goes well at once; intervals are {margin}"
    raise Problem(
        f"How many calls {recipe.variant!r} takes is not known before it is made: it is of {recipe.benchmark!r}, or not told "
        "from an invented world. Make a few items first, and see what they took with: amemgym ledger"
    )


def _print_plan(console: Console, recipe: Recipe, forecasts: Sequence[StageForecast]) -> None:
    auditor = [recipe.audit.model] if isinstance(recipe, AMemGymRecipe) and recipe.audit.model else []
    models = " and ".join(dict.fromkeys((recipe.models.writer.model, *recipe.models.judge.panel, *auditor)))
    title = f"{recipe.variant}: {counted(recipe.num_items, benchmark_of(recipe).noun)}, {models}"
    rows = list[list[str]]()
    for each in forecasts:
        cells = [_spread(spread, write) for spread, write in _figures(each)]
        rows.append(["all" if each is forecasts[-1] else each.name, *(mid for mid, _ in cells)])
        rows.append(["", *(interval for _, interval in cells)])
    print_table(console, ("stage", "calls", "K input", "K output", "US$", "seconds"), rows, title=title)


def _figures(each: StageForecast) -> list[tuple[Range | None, Callable[[float], str]]]:
    return [
        (each.calls, lambda number: f"{number:,.0f}"),
        (each.input_tokens, _thousands),
        (each.output_tokens, _thousands),
        (each.cost_usd, lambda usd: f"{usd:,.2f}" if usd >= 1 else f"{usd:.2g}"),
        (each.seconds, lambda seconds: f"{seconds:,.0f}"),
    ]


def _spread(spread: Range | None, write: Callable[[float], str]) -> tuple[str, str]:
    if spread is None:
        return "unknown", ""
    return write(spread.mid), f"{write(spread.low)}-{write(spread.high)}"


def _thousands(tokens: float) -> str:
    if tokens < 100:
        return f"{tokens / 1000:.2g}"
    return f"{tokens / 1000:,.0f}" if tokens >= 100_000 else f"{tokens / 1000:.1f}"


def _sentences(recipe: Recipe, whole: StageForecast) -> Iterator[str]:
    items, noun = recipe.num_items, benchmark_of(recipe).noun
    cost = "an unknown price" if whole.cost_usd is None else dollars(whole.cost_usd.mid / items)
    sent, received = (_thousands(spread.mid / items) for spread in (whole.input_tokens, whole.output_tokens))
    yield f"One {noun}: {sent} K input and {received} K output tokens, {cost}."
    if recipe.models.batched:
        yield "Calls in batch jobs are counted at half price; a job may take up to a day, the seconds are those of live calls."
    if isinstance(recipe, AMemGymRecipe) and RecipeSize.of(recipe) == RecipeSize.of(AMemGymRecipe(variant="base")):
        yield f"The paper's: {PAPER}."
    if whole.cost_usd is None:
        yield "Give the model's price in pipelines/resources/ledger/prices.yaml, or in the file that AMEMGYM_PRICES names."
    budget, high = recipe.budget, whole.input_tokens.high + whole.output_tokens.high
    dear = budget.max_cost_usd is not None and whole.cost_usd is not None and whole.cost_usd.high > budget.max_cost_usd
    if dear or (budget.max_tokens is not None and high > budget.max_tokens):
        yield "The upper end lies above the recipe's budget: the run may pause before it is finished."


def _widened(margin: ErrorMargin) -> str:
    if margin.high == 1:
        return ""
    return (
        f" whose lower end is times {margin.low:g} and whose upper times {margin.high:g}, as other models may need less or more"
    )


def _spent(lines: Sequence[LedgerSums]) -> list[str]:
    return [
        f"So far {dollars(line.cost_usd, unpriced=line.unpriced)} were spent on {line.name}, "
        f"in {counted(line.calls - line.hits, 'call')} that a model answered; "
        "the reply cache has the replies, and who asks the same of the same model pays nothing."
        for line in lines
    ]


ledger_app = command_group("Every call that was made: calls, tokens, cost and hit rate.", needs_command=False)


@ledger_app.callback(invoke_without_command=True)
def summarise(
    context: typer.Context,
    variant: Annotated[Optional[str], typer.Option(help="Only this variant.")] = None,
    as_json: Annotated[bool, json_option("stage", "model", "prompt")] = False,
) -> None:
    """Print the ledger's sums by stage, model and prompt."""
    if context.invoked_subcommand is None:
        _print_summary(variant, as_json=as_json)


@ledger_app.command("export")
def export(path: Annotated[Path, typer.Argument(help="The Parquet file to write.")] = Path("ledger.parquet")) -> None:
    """Write every row of the ledger to a Parquet file."""
    ledger = _open_ledger()
    try:
        count = asyncio.run(write_parquet(ledger, path))
    except OSError as error:
        raise Problem(f"{path} cannot be written: {error.strerror}." if error.strerror else str(error)) from error
    finally:
        ledger.close()
    print(f"Wrote {counted(count, 'call')} to {path}.")


def _print_summary(variant: str | None, *, as_json: bool) -> None:
    ledger, console = _open_ledger(), Console()
    try:
        groups = {by: asyncio.run(summary(ledger, by=by, variant=variant)) for by in ("stage", "model", "prompt")}
    finally:
        ledger.close()
    if not groups["stage"]:
        raise Problem(f"The ledger has no calls of {variant!r}." if variant else "The ledger has no calls yet.")
    if as_json:
        print_json(groups)
        return
    free, (model, *others) = all(line.cost == FREE for line in groups["model"]), groups["model"]
    for by, lines in groups.items():
        # One model that cost nothing takes a sentence in place of a table.
        if others or by != "model" or not free:
            _print_sums(console, by, lines)
    if free:
        print_plain(console, "Nothing was paid." if others else f"Nothing was paid: all calls are of {model.name}.")
    console.print(
        "Tokens and cost are of calls that a model answered; what the reply cache answers costs nothing.", style="dim"
    )


def _open_ledger() -> Ledger:
    path = ledger_file(home())
    if not open_database(path).exists:
        raise Problem(f"There is no ledger in {path.parent} yet; it begins with the first run, as in: amemgym generate demo")
    return Ledger(path, reading=True)


def _print_sums(console: Console, by: str, lines: list[LedgerSums]) -> None:
    rows = [dict(_cells(line)) for line in lines]
    names = [name for name in rows[0] if any(row[name] != NEVER.get(name) for row in rows)]
    cells = [[line.name, *(row[name] for name in names)] for line, row in zip(lines, rows, strict=True)]
    print_table(console, (by, *names), cells, title=f"by {by}")
    console.print()


def _cells(line: LedgerSums) -> list[tuple[str, str]]:
    return [
        ("calls", f"{line.calls:,}"),
        ("hits", f"{line.hit_rate:.0%}"),
        ("errors", f"{line.errors:,}"),
        ("input", f"{line.input_tokens:,}"),
        ("cached", f"{line.cached_input_tokens:,}"),
        ("output", f"{line.output_tokens:,}"),
        ("s/call", f"{line.seconds_per_call:.2f}"),
        ("cost", line.cost),
    ]
