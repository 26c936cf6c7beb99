"""`amemgym plan`: what a variant will cost, said before the first paid call."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Optional

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from assets.recipe.recipe import Recipe
    from pipelines.planning.defaults import Margin
    from pipelines.planning.forecast import Forecast, Range
    from pipelines.resources.ledger.queries import LedgerSums

# What the paper says of one user of base with gpt-4.1 (App. C.2).
PAPER = "140 K input and 15.2 K output tokens, $0.40 with gpt-4.1 (App. C.2)"
USERS_AT_ONCE = 32


def plan(
    variant: Annotated[str, typer.Argument(help="demo, base, extra, or the name of a recipe file of your own, without .yaml.")],
    overrides: Annotated[
        Optional[list[str]],
        typer.Option("--set", metavar="FIELD=VALUE", help="Override a field of the recipe, as in --set num_users=3."),
    ] = None,
    model: Annotated[str, typer.Option(help="One model for every role, in place of the recipe's.")] = "",
) -> None:
    """Say calls, tokens, money and time per stage, with intervals, before the first paid call."""
    from pipelines.cli.recipe import checked_recipe

    roles = [f"models.{role}.model={model}" for role in ("writer", "judge", "user_simulator") if model]
    print_plan(checked_recipe(variant, [*(overrides or []), *roles]))


def print_plan(recipe: "Recipe") -> None:
    """The forecast and what it rests on. Raises EndpointError where the price file or the endpoint's settings are wrong."""
    import asyncio

    from rich.console import Console

    from pipelines.home import home
    from pipelines.planning.basis import basis_for
    from pipelines.planning.forecast import Terms, forecast
    from pipelines.resources.ledger.ledger import Ledger, ledger_file
    from pipelines.resources.ledger.prices import Prices, read_prices
    from pipelines.resources.ledger.queries import summary
    from pipelines.resources.llm.settings import EndpointSettings
    from pipelines.resources.storage.database import database_of

    settings = EndpointSettings.from_environment()
    prices = Prices(read_prices(), base_url=settings.address if settings else None)
    path, spent = ledger_file(home()), list["LedgerSums"]()
    ledger = Ledger(path) if database_of(path).exists else None
    try:
        basis = asyncio.run(basis_for(recipe, ledger))
        if ledger is not None:
            spent = asyncio.run(summary(ledger, by="variant", variant=recipe.variant))
    finally:
        if ledger is not None:
            ledger.close()
    at_once = (settings or EndpointSettings()).max_in_flight
    told = forecast(recipe, basis, terms=Terms(prices, at_once, USERS_AT_ONCE))
    console = Console(highlight=False)
    console.print(_table(recipe, told))
    console.print(f"From {basis.source}; intervals of 90 %{_widened(basis.margin)}. Prefix caching is not counted.")
    for line in (*_sentences(recipe, told[-1]), *_spent(spent)):
        console.print(line)
    if settings is None:
        console.print("No model endpoint is configured: a run now would use the embedded model, which is free.")


def _table(recipe: "Recipe", told: "Sequence[Forecast]") -> "Table":
    from rich import box
    from rich.table import Table

    models = " and ".join(dict.fromkeys((recipe.models.writer.model, recipe.models.judge.model)))
    title = f"{recipe.variant}: {recipe.num_users} users, {models}"
    table = Table("", title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in ("calls", "K input", "K output", "US$", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in told:
        if each is told[-1]:
            table.add_section()
        cells = [_spread(spread, write) for spread, write in _figures(each)]
        table.add_row("all" if each is told[-1] else each.name, *(mid for mid, _ in cells))
        table.add_row("", *(interval for _, interval in cells), style="dim")
    return table


def _figures(each: "Forecast") -> "list[tuple[Range | None, Callable[[float], str]]]":
    return [
        (each.calls, lambda number: f"{number:,.0f}"),
        (each.input_tokens, _thousands),
        (each.output_tokens, _thousands),
        (each.cost_usd, lambda usd: f"{usd:,.2f}" if usd >= 1 else f"{usd:.2g}"),
        (each.seconds, lambda seconds: f"{seconds:,.0f}"),
    ]


def _spread(spread: "Range | None", write: Callable[[float], str]) -> tuple[str, str]:
    if spread is None:
        return "unknown", ""
    return write(spread.mid), f"{write(spread.low)}-{write(spread.high)}"


def _thousands(tokens: float) -> str:
    return f"{tokens / 1000:,.0f}" if tokens >= 100_000 else f"{tokens / 1000:.1f}"


def _sentences(recipe: "Recipe", whole: "Forecast") -> Iterator[str]:
    from assets.recipe.loading import load_recipe
    from pipelines.planning.shape import Shape
    from pipelines.resources.ledger.queries import dollars

    users = recipe.num_users
    cost = "an unknown price" if whole.cost_usd is None else dollars(whole.cost_usd.mid / users)
    sent, received = (_thousands(spread.mid / users) for spread in (whole.input_tokens, whole.output_tokens))
    yield f"One user: {sent} K input and {received} K output tokens, {cost}."
    if recipe.models.batched:
        yield "Calls in batch jobs are counted at half price; a job may take up to a day, the seconds are those of live calls."
    if Shape.of(recipe) == Shape.of(load_recipe("base")):
        yield f"The paper's: {PAPER}."
    if whole.cost_usd is None:
        yield "Give the model's price in pipelines/resources/ledger/prices.yaml, or in the file that AMEMGYM_PRICES names."
    budget, high = recipe.budget, whole.input_tokens.high + whole.output_tokens.high
    dear = budget.max_cost_usd is not None and whole.cost_usd is not None and whole.cost_usd.high > budget.max_cost_usd
    if dear or (budget.max_tokens is not None and high > budget.max_tokens):
        yield "The upper end lies above the recipe's budget: the run may pause before it is finished."


def _widened(margin: "Margin") -> str:
    return "" if margin.high == 1 else f", widened to {margin.low:g} and {margin.high:g} times their ends"


def _spent(lines: "Sequence[LedgerSums]") -> list[str]:
    from pipelines.resources.ledger.queries import dollars

    return [
        f"So far {dollars(line.cost_usd, unpriced=line.unpriced)} were spent on {line.name}, in {line.calls - line.hits:,} "
        "paid calls; what they brought is in the call cache and is not paid for again."
        for line in lines
    ]
