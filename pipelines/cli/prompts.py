"""`amemgym prompts`: try a prompt on finished users, two versions or two models side by side; measure a judge."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.console import Console
from rich.markup import escape

from assets.amemgym.recipe import AMemGymRecipe
from assets.llm.usage import Usage
from assets.recipe.policies import GatePolicy
from assets.reporting.plurals import counted
from pipelines.cli.errors import Problem
from pipelines.cli.groups import command_group
from pipelines.cli.options import json_option
from pipelines.cli.recipe import checked_recipe
from pipelines.cli.terminal import print_json, print_table
from pipelines.experiments.prompt_trials.judging import CANNOT_TELL, UNUSABLE, Verdict, judge_cases, load_cases
from pipelines.experiments.prompt_trials.trial import (
    Exchange,
    Side,
    Trial,
    finished_inputs,
    resolved_recipe,
    run_trial,
    stage_of_prompt,
    with_model,
)
from pipelines.home import home
from pipelines.resources.ledger.prices import Prices, read_prices
from pipelines.resources.ledger.queries import dollars
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.open import open_run_context
from prompts.catalogue import load_prompt
from prompts.template import Prompt, PromptError, parse_prompt

CALIBRATED_FROM = {"exposure": ("exposure", "leak"), "recovery": ("recovery",), "choice": ("recovery",)}
SHOWN = 600  # characters of a reply or an objection

app = command_group("Prompts: try them before you change them.")


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
    as_json: Annotated[bool, json_option("by model and version, the figures of the table")] = False,
) -> None:
    """Make the prompt's stage anew for finished users and say how many replies pass, what they cost, and why some do not.

    Nothing of the variant is changed; the replies are kept in the reply cache, so that a second look is free.
    """
    recipe = resolved_recipe(home(), variant)
    if recipe is None:
        raise Problem(f"Nothing of {variant!r} is finished yet; make it with: amemgym generate {variant}")
    trials = _run(name, _sides(name, recipe, models=model or [], against=against), variant=variant, users=users)
    settings = EndpointSettings.from_environment()
    prices = Prices(read_prices(), base_url=settings.address if settings else None)
    if as_json:
        print_json({trial.side.name: _figures(trial, prices=prices) for trial in trials})
        return
    console = Console(highlight=False)
    print_trials(console, name, trials, prices=prices)
    for trial in trials:
        show_samples(console, trial, count=samples)


@app.command("judge")
def judge(
    model: Annotated[str, typer.Option(help="The model that judges; the embedded one where no endpoint is configured.")] = "",
    variant: Annotated[str, typer.Option(help="Whose recipe sets the gates.")] = "base",
    misses: Annotated[int, typer.Option(min=0, help="Wrong readings shown.")] = 10,
    as_json: Annotated[bool, json_option("gate", "wanted", "read", "settled", "text")] = False,
) -> None:
    """Let a model judge sixty hand-labelled cases with the gates' own prompts, and say how often it is right.

    What it accepts although it is wrong goes into a recipe of calibrated gates, before anything is made.
    """

    async def all_cases() -> list[Verdict]:
        with open_run_context(home()) as run_context:
            asked = model or run_context.embedded_model or checked_recipe(variant).models.judge.model
            recipe = with_model(checked_recipe(variant), "judge", asked).model_copy(update={"variant": "trial"})
            return await judge_cases(load_cases(), recipe=recipe, model=run_context.for_unit("trial", recipe=recipe).model)

    verdicts = asyncio.run(all_cases())
    if as_json:
        print_json(verdicts)
        return
    console = Console(highlight=False)
    print_accuracy(console, verdicts)
    for line in calibration(verdicts):
        console.print(line, soft_wrap=True)
    show_misses(console, verdicts, count=misses)


def _sides(name: str, recipe: AMemGymRecipe, *, models: Sequence[str], against: Path | None) -> list[Side]:
    try:
        shipped, other = load_prompt(name), _version(name, against)
    except PromptError as error:
        raise Problem(str(error)) from error
    # Recorded under a name of its own: it is no part of the variant's cost.
    own = recipe.model_copy(update={"variant": f"trial-{recipe.variant}"})
    sides: list[Side] = []
    for model in models or [recipe.models.for_role(shipped.role).model]:
        asked = with_model(own, shipped.role, model)
        sides.append(Side(f"{model}, shipped", asked))
        if other is not None:
            sides.append(Side(f"{model}, {against}", asked, other))
    return sides


def _version(name: str, path: Path | None) -> Prompt | None:
    if path is None:
        return None
    try:
        return parse_prompt(name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"The prompt {path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def _run(name: str, sides: Sequence[Side], *, variant: str, users: int) -> list[Trial]:
    stage = stage_of_prompt(name)
    if stage is None:
        raise Problem(f"The prompt {name!r} belongs to no stage of the generation; try one of a stage, as in answers/draft.")
    inputs = finished_inputs(home(), variant, stage=stage, users=users)
    if not inputs:
        raise Problem(f"No user of {variant!r} has come as far as {stage.name}; make it with: amemgym generate {variant}")

    async def all_sides() -> list[Trial]:
        with open_run_context(home()) as run_context:
            contexts = [run_context.for_unit("trial", recipe=side.recipe) for side in sides]
            return [
                await run_trial(side, stage, inputs, prompt=name, model=context.model)
                for side, context in zip(sides, contexts, strict=True)
            ]

    return asyncio.run(all_sides())


def print_accuracy(console: Console, verdicts: Sequence[Verdict]) -> None:
    """Right readings per gate with Wilson's interval, then apart for texts that settle the value and texts that do not."""
    rows = list[tuple[str, ...]]()
    for gate in dict.fromkeys(verdict.gate for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.gate == gate]
        parts = [own, [verdict for verdict in own if verdict.settled], [verdict for verdict in own if not verdict.settled]]
        right = [_share(sum(verdict.right for verdict in part), len(part)) for part in parts]
        spread = _wilson(sum(verdict.right for verdict in own), len(own), level=0.95)
        rows.append((gate, right[0], f"{spread.low:.0%} to {spread.high:.0%}", *right[1:]))
    head = ("gate", "right", "95 % interval", "where the text tells", "where it leaves it open")
    print_table(console, head, rows, title="Hand-labelled cases")


def calibration(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """What to set for calibrated gates: the upper end of how often a reading takes a text for what it does not tell."""
    errors: dict[str, float] = {}
    for gate, names in CALIBRATED_FROM.items():
        own = [verdict for verdict in verdicts if verdict.gate in names]
        wrong = sum(not verdict.right and verdict.read not in (CANNOT_TELL, UNUSABLE) for verdict in own)
        spread = _wilson(wrong, len(own), level=0.9)
        errors[gate] = round(float(spread.high), 3)
    policy: dict[str, Any] = {"policy": "calibrated", "judge_error": errors}
    yield "For calibrated gates, from these cases (upper end of 90 %; the same for choice as for recovery):"
    try:
        gates = GatePolicy.model_validate(policy)
    except ValueError:
        yield f"  it errs too often: {errors}. Take another judge, or raise gates.max_false_accept."
        return
    yield "  " + " ".join(f"--set gates.judge_error.{gate}={rate:g}" for gate, rate in errors.items())
    votes = {gate: [gates.votes_for(gate, text=text)[1] for text in (0, gates.texts - 1)] for gate in errors}
    told = "; ".join(f"{gate} {first} on a first text, up to {last} on later ones" for gate, (first, last) in votes.items())
    yield f"  Votes: {told}."


def print_trials(console: Console, name: str, trials: Sequence[Trial], *, prices: Prices) -> None:
    """One column per side: replies that passed, tokens, list price, and how many users passed the stage."""
    columns = [_figures(trial, prices=prices) for trial in trials]
    rows = [[row, *(figures[row] for figures in columns)] for row in columns[0]]
    print_table(
        console, ("", *(trial.side.name for trial in trials)), rows, title=f"{name} on {counted(trials[0].users, 'user')}"
    )


def _figures(trial: Trial, *, prices: Prices) -> dict[str, str]:
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


def _cost(exchange: Exchange, prices: Prices) -> float | None:
    reply = exchange.reply
    return prices.of(exchange.request.model, Usage(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)).usd


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({part / whole:.0%})" if whole else "")


def _wilson(part: int, whole: int, *, level: float) -> Any:
    # Takes a second to import, and only those who measure a judge need it.
    from scipy.stats import binomtest  # pyright: ignore[reportUnknownVariableType]

    return binomtest(part, whole).proportion_ci(confidence_level=level, method="wilson")


def _mean(numbers: Sequence[int]) -> str:
    return f"{sum(numbers) / len(numbers):,.0f}" if numbers else "-"


def show_samples(console: Console, trial: Trial, *, count: int) -> None:
    """First replies, objections, and users given up."""
    replies = [("reply", tries[0].reply.text) for tries in trial.tries[:count]]
    objections = [
        (f"objection to: {before.reply.text[:SHOWN]}", again.objection or "")
        for tries in trial.tries
        for before, again in pairwise(tries)
    ]
    failures = [("user given up", failed.message) for failed in trial.failures]
    for title, text in [*replies, *objections[:count], *failures[:count]]:
        console.print(f"\n[bold]{escape(trial.side.name)}, {escape(title)}[/bold]\n{escape(text[:SHOWN])}")


def show_misses(console: Console, verdicts: Sequence[Verdict], *, count: int) -> None:
    """The first readings that are wrong."""
    for verdict in [verdict for verdict in verdicts if not verdict.right][:count]:
        text = escape(f"{verdict.text}\n  is {verdict.wanted}; read: {verdict.read}")
        console.print(f"\n[bold]{verdict.gate}[/bold] {text}")
