"""`amemgym plan` and `amemgym ledger`: what calls will cost, and what they have cost."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from pkgutil import resolve_name
from typing import Annotated, Optional

import typer
from rich.console import Console

from assets.recipe.recipe import Recipe
from assets.reporting.plurals import counted
from assets.reporting.text_table import print_table
from pipelines.benchmarks import benchmark_of, entry_of
from pipelines.cli.options import ModelOption, RecipeArgument, SetOption, json_option
from pipelines.cli.recipe import recipe_to_follow
from pipelines.cli.terminal import print_json, stdout_console
from pipelines.errors import Problem
from pipelines.home import home
from pipelines.planning.forecast import Forecast, StageForecast, Terms, forecast_variant
from pipelines.resources.ledger.budget import warn_of_small_budget
from pipelines.resources.ledger.ledger import Ledger, ledger_file
from pipelines.resources.ledger.prices import Prices, read_prices
from pipelines.resources.ledger.queries import LedgerSums, dollars, sum_calls
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.open_database import open_database

ITEMS_AT_ONCE = 32  # the default of `amemgym generate`
FREE = dollars(0)
# A column of the ledger with only these values is left out.
NEVER = {"errors": "0", "cached": "0", "cost": FREE}


def plan(
    variant: RecipeArgument,
    overrides: SetOption = None,
    model: ModelOption = "",
    as_json: Annotated[bool, json_option("variant", "from", "stages", "all")] = False,
) -> None:
    """Print the expected calls, tokens, cost and time of each stage, with intervals. It makes no paid call."""
    recipe = recipe_to_follow(variant, overrides, model=model)
    entry = entry_of(recipe)
    settings = EndpointSettings.from_environment()
    prices = Prices(read_prices(), base_url=settings.address if settings else None)
    terms = Terms(prices, (settings or EndpointSettings()).max_in_flight, ITEMS_AT_ONCE)
    spent: list[LedgerSums] = []
    if open_database(ledger_file(home())).exists:
        with closing(_open_ledger()) as ledger:
            forecast = forecast_variant(entry.benchmark, recipe, ledger, terms)
            spent = asyncio.run(sum_calls(ledger, by="variant", variant=recipe.variant))
    else:
        forecast = forecast_variant(entry.benchmark, recipe, None, terms)
    if as_json:
        stages = forecast.stages[:-1]
        print_json({"variant": recipe.variant, "from": forecast.source, "stages": stages, "all": forecast.whole})
        return
    console = stdout_console()
    _print_plan(console, recipe, forecast.stages)
    console.print(f"From {forecast.source}. {_caching(forecast.whole)}")
    notes = resolve_name(entry.forecast_notes)(recipe) if entry.forecast_notes else ()
    for line in (*_sentences(recipe, forecast), *notes, *_spending_lines(spent)):
        console.print(line)
    if settings is None:
        console.print("No model endpoint is configured: a run now would use the embedded model, which is free.")


def _print_plan(console: Console, recipe: Recipe, forecasts: Sequence[StageForecast]) -> None:
    title = f"{recipe.variant}: {counted(recipe.num_items, benchmark_of(recipe).noun)}, {' and '.join(recipe.asked_models)}"
    rows = list[list[str]]()
    for each in forecasts:
        middles = ["all" if each is forecasts[-1] else each.name]
        intervals = [""]
        for spread, write in (
            (each.calls, _whole),
            (each.input_tokens, _thousands),
            (each.output_tokens, _thousands),
            (each.cost_usd, _money),
            (each.seconds, _whole),
        ):
            middles.append("unknown" if spread is None else write(spread.mid))
            intervals.append("" if spread is None else f"{write(spread.low)}-{write(spread.high)}")
        rows += [middles, intervals]
    print_table(console, ("stage", "calls", "K input", "K output", "US$", "seconds"), rows, title=title)


def _whole(number: float) -> str:
    return f"{number:,.0f}"


def _money(usd: float) -> str:
    return f"{usd:,.2f}" if usd >= 1 else f"{usd:.2g}"


def _thousands(tokens: float) -> str:
    if tokens < 100:
        return f"{tokens / 1000:.2g}"
    return f"{tokens / 1000:,.0f}" if tokens >= 100_000 else f"{tokens / 1000:.1f}"


def _sentences(recipe: Recipe, forecast: Forecast) -> Iterator[str]:
    whole = forecast.whole
    items = recipe.num_items
    cost = "an unknown price" if whole.cost_usd is None else dollars(whole.cost_usd.mid / items)
    sent = _thousands(whole.input_tokens.mid / items)
    received = _thousands(whole.output_tokens.mid / items)
    noun = benchmark_of(recipe).noun
    yield "Items do not wait for each other between stages, so all of it may take less time than the stages one by one."
    yield f"One {noun}: {sent} K input and {received} K output tokens, {cost}."
    again = _whole(forecast.chain_seconds)
    yield f"Each {noun} that is lost costs up to as much again for another, and up to {again} s where it is lost late."
    if not forecast.timed:
        yield "The seconds are a guess: no run with these models was timed. They are those of a large hosted model."
    if recipe.batched:
        yield "Calls in batch jobs are counted at half price. A job may take up to a day; the seconds are those of live calls."
    if whole.cost_usd is None:
        yield "Give the model's price in pipelines/resources/ledger/prices.yaml, or in the file that AMEMGYM_PRICES names."
    high = whole.input_tokens.high + whole.output_tokens.high
    warning = warn_of_small_budget(recipe.budget, tokens=high, usd=whole.cost_usd.high if whole.cost_usd else None)
    if warning:
        yield f"At the upper end: {warning}"


def _caching(whole: StageForecast) -> str:
    cached = whole.cached_tokens.mid
    if not cached:
        return "Prefix caching is not counted."
    share = cached / whole.input_tokens.mid
    return (
        f"Of the input, {_thousands(cached)} K tokens ({share:.1%}) repeat the beginning of an earlier call, by 1,024 tokens "
        "or more: providers cache these, at the price of cached input."
    )


def _spending_lines(lines: Sequence[LedgerSums]) -> Iterator[str]:
    for line in lines:
        yield (
            f"So far {dollars(line.cost_usd, unpriced=line.unpriced)} were spent on {line.name}, "
            f"in {counted(line.calls - line.hits, 'call')} that a model answered; "
            "their replies are in the reply cache, so that the same calls to the same model cost nothing."
        )


def ledger(
    variant: Annotated[Optional[str], typer.Option(help="Only this variant.")] = None,
    as_json: Annotated[bool, json_option("stage", "model", "prompt")] = False,
) -> None:
    """Print the ledger of all calls: counts, tokens, cost and hit rate, by stage, model and prompt."""
    groups: dict[str, list[LedgerSums]] = {}
    with closing(_open_ledger()) as opened:
        for by in ("stage", "model", "prompt"):
            groups[by] = asyncio.run(sum_calls(opened, by=by, variant=variant))
    if not groups["stage"]:
        raise Problem(f"The ledger has no calls of {variant!r}." if variant else "The ledger has no calls yet.")
    if as_json:
        print_json(groups)
        return
    console = stdout_console()
    model, *others = groups["model"]
    free = all(line.cost == FREE for line in groups["model"])
    for by, lines in groups.items():
        # If the only model is free, one sentence says it instead of a table.
        if others or by != "model" or not free:
            _print_sums(console, by, lines)
    if free:
        told = "Nothing was paid." if others else f"Nothing was paid: all calls are of {model.name}."
        console.print(told, markup=False)
    console.print("Tokens and cost are of calls that a model answered; replies from the cache cost nothing.", style="dim")


def _open_ledger() -> Ledger:
    path = ledger_file(home())
    if not open_database(path).exists:
        raise Problem(f"There is no ledger in {path.parent} yet; the first run creates it, as in: amemgym generate demo")
    return Ledger(path, reading=True)


def _print_sums(console: Console, by: str, lines: list[LedgerSums]) -> None:
    columns: dict[str, list[str]] = {}
    for line in lines:
        cells = {
            by: line.name,
            "calls": f"{line.calls:,}",
            "hits": f"{line.hit_rate:.0%}",
            "errors": f"{line.errors:,}",
            "input": f"{line.input_tokens:,}",
            "cached": f"{line.cached_input_tokens:,}",
            "output": f"{line.output_tokens:,}",
            "s/call": f"{line.seconds_per_call:.2f}",
            "cost": line.cost,
        }
        for name, cell in cells.items():
            columns.setdefault(name, []).append(cell)
    for name, nothing in NEVER.items():
        if set(columns[name]) == {nothing}:
            del columns[name]
    print_table(console, list(columns), list(zip(*columns.values(), strict=True)), title=f"by {by}")
    console.print()
