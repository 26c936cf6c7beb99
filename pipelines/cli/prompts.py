"""`amemgym prompts`: try a prompt on finished users, two versions or two models side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from pipelines.cli.problems import Problem

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from assets.records.recipe import Recipe
    from pipelines.resources.prices import Prices
    from pipelines.trials.trial import Exchange, Side, Trial
    from prompts.template import Prompt

app = typer.Typer(no_args_is_help=True, help="Prompts: try them before you change them.")
SHOWN = 600  # characters of a reply or an objection


@app.callback()
def about() -> None:
    """Prompts: try them before you change them."""


@app.command("try")
def try_prompt(
    name: Annotated[str, typer.Argument(help="Name of a prompt, as in answers/draft.")],
    variant: Annotated[str, typer.Option(help="On whose users.")] = "demo",
    users: Annotated[int, typer.Option(min=1, help="On how many of them.")] = 2,
    model: Annotated[Optional[list[str]], typer.Option(help="Model in the prompt's role; give it twice to compare.")] = None,
    against: Annotated[Optional[Path], typer.Option(help="File with another version of the prompt.")] = None,
    samples: Annotated[int, typer.Option(min=0, help="Replies shown, and as many objections.")] = 2,
) -> None:
    """Make the prompt's stage anew for finished users and say how many replies pass, what they cost, and why some do not.

    Nothing of the variant is changed; the replies are kept in the call cache, so that a second look is free.
    """
    from rich.console import Console

    from pipelines.home import home
    from pipelines.resources.endpoint_settings import EndpointSettings
    from pipelines.resources.prices import Prices, read_prices
    from pipelines.trials.inputs import resolved_recipe

    recipe = resolved_recipe(home(), variant)
    if recipe is None:
        raise Problem(f"Nothing of {variant!r} is finished yet; make it with: amemgym generate {variant}")
    trials = _run(name, _sides(name, recipe, models=model or [], against=against), variant=variant, users=users)
    settings = EndpointSettings.from_environment()
    prices = Prices(read_prices(), base_url=settings.place if settings else None)
    console = Console(highlight=False)
    console.print(_table(name, trials, prices=prices))
    for trial in trials:
        _show_samples(console, trial, count=samples)


def _sides(name: str, recipe: "Recipe", *, models: Sequence[str], against: Path | None) -> list["Side"]:
    from pipelines.trials.inputs import with_model
    from pipelines.trials.trial import Side
    from prompts.catalogue import load_prompt
    from prompts.template import PromptError

    try:
        shipped, other = load_prompt(name), _version(name, against)
    except PromptError as error:
        raise Problem(str(error)) from error
    # Booked under a name of its own: it is none of the variant's cost.
    own = recipe.model_copy(update={"variant": f"trial-{recipe.variant}"})
    found: list[Side] = []
    for model in models or [recipe.models.for_role(shipped.role).model]:
        asked = with_model(own, shipped.role, model)
        found.append(Side(f"{model}, shipped", asked))
        if other is not None:
            found.append(Side(f"{model}, {against}", asked, other))
    return found


def _version(name: str, path: Path | None) -> "Prompt | None":
    from prompts.template import parse_prompt

    if path is None:
        return None
    try:
        return parse_prompt(name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"The prompt {path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def _run(name: str, sides: Sequence["Side"], *, variant: str, users: int) -> list["Trial"]:
    import asyncio

    from pipelines.home import home
    from pipelines.resources.workshop import open_workshop
    from pipelines.trials.inputs import finished_inputs, stage_of_prompt
    from pipelines.trials.trial import run_trial

    stage = stage_of_prompt(name)
    if stage is None:
        raise Problem(f"The prompt {name!r} belongs to no stage of the generation; try one of a stage, as in answers/draft.")
    inputs = finished_inputs(home(), variant, stage=stage, users=users)
    if not inputs:
        raise Problem(f"No user of {variant!r} has come as far as {stage.name}; make it with: amemgym generate {variant}")

    async def all_sides() -> list["Trial"]:
        with open_workshop(home()) as workshop:
            shops = [workshop.at("trial", recipe=side.recipe) for side in sides]
            return [
                await run_trial(side, stage, inputs, prompt=name, model=shop.model)
                for side, shop in zip(sides, shops, strict=True)
            ]

    return asyncio.run(all_sides())


def _table(name: str, trials: Sequence["Trial"], *, prices: "Prices") -> "Table":
    from rich import box
    from rich.table import Table

    whose = "1 user" if trials[0].users == 1 else f"{trials[0].users} users"
    table = Table("", title=f"{name} on {whose}", title_justify="left", box=box.SIMPLE_HEAD)
    columns = [_figures(trial, prices=prices) for trial in trials]
    for trial in trials:
        table.add_column(trial.side.name, justify="right")
    for row in columns[0]:
        table.add_row(row, *(figures[row] for figures in columns))
    return table


def _figures(trial: "Trial", *, prices: "Prices") -> dict[str, str]:
    from pipelines.resources.ledger_reports import dollars

    calls = [exchange for tries in trial.tries for exchange in tries]
    asked, accepted = len(trial.tries), trial.at_once() + trial.after_reasking()
    costs = [_cost(exchange, prices) for exchange in calls]
    known = [cost for cost in costs if cost is not None]
    total = sum(known) if len(known) == len(costs) else None
    items = {(record.gate, record.item_id) for record in trial.gate_records}
    plain = {(r.gate, r.item_id) for r in trial.gate_records if not (r.accepted and r.draft == r.refinement == 0)}
    return {
        "questions asked": str(asked),
        "accepted at once": _share(trial.at_once(), asked),
        "accepted after an objection": _share(trial.after_reasking(), asked),
        "never accepted": _share(trial.never(), asked),
        "calls per accepted reply": f"{len(calls) / accepted:.2f}" if accepted else "none was accepted",
        "input tokens per call": _mean([exchange.reply.input_tokens for exchange in calls]),
        "output tokens per call": _mean([exchange.reply.output_tokens for exchange in calls]),
        "cost at list price": dollars(total),
        "cost per accepted reply": dollars(total / accepted) if total is not None and accepted else "unknown",
        "users who passed the stage": _share(trial.users - len(trial.failures), trial.users),
        "items that passed their gate at once": _share(len(items - plain), len(items)),
    }


def _cost(exchange: "Exchange", prices: "Prices") -> float | None:
    from pipelines.resources.prices import Tokens

    return prices.of(exchange.request.model, Tokens(exchange.reply.input_tokens, exchange.reply.output_tokens)).usd


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({part / whole:.0%})" if whole else "")


def _mean(numbers: Sequence[int]) -> str:
    return f"{sum(numbers) / len(numbers):,.0f}" if numbers else "-"


def _show_samples(console: "Console", trial: "Trial", *, count: int) -> None:
    from rich.markup import escape

    replies = [("reply", tries[0].reply.text) for tries in trial.tries[:count]]
    objections = [
        (f"objection to: {again.request.messages[-2].content[:SHOWN]}", again.objection or "")
        for tries in trial.tries
        for again in tries[1:]
    ]
    failures = [("user given up", failed.message) for failed in trial.failures]
    for title, text in [*replies, *objections[:count], *failures[:count]]:
        console.print(f"\n[bold]{escape(trial.side.name)}, {escape(title)}[/bold]\n{escape(text[:SHOWN])}")
