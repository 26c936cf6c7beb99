"""`amemgym prompts`: try a prompt on finished users, measure a judge, and count the replies to a run's prompts."""

from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console
from rich.markup import escape

from assets.engine.provenance import ResolvedRecipe
from assets.llm.async_calls import run_to_end
from assets.llm.usage import Usage
from assets.recipe.amemgym import AMemGymRecipe
from assets.reporting.plurals import counted
from pipelines.benchmarks import benchmark_of
from pipelines.cli.options import RecipeArgument, command_group, json_option
from pipelines.cli.recipe import checked_recipe, recipe_to_follow
from pipelines.cli.terminal import print_json, print_plain, print_table, stdout_console
from pipelines.errors import Problem
from pipelines.experiments.prompt_trials.judging import Verdict, calibration, judge_cases, load_cases, wilson_interval
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
from pipelines.experiments.prompt_trials.yields import Yields, variant_sources, yields_of
from pipelines.home import home
from pipelines.opening.models import open_run_context
from pipelines.resources.ledger.prices import Prices, read_prices
from pipelines.resources.ledger.queries import dollars
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.io_manager import open_asset_values
from prompts.catalogue import load_prompt
from prompts.template import Prompt, PromptError, parse_prompt

SHOWN = 600  # characters of a reply or an objection

app = command_group("Prompts: try them before you change them.")


@app.command("try")
def try_prompt(
    name: Annotated[str, typer.Argument(help="Name of a prompt, as in answers/draft.")],
    variant: Annotated[str, typer.Option(help="Variant whose users the prompt is tried on.")] = "demo",
    users: Annotated[int, typer.Option(min=1, help="Number of users to try the prompt on.")] = 2,
    model: Annotated[Optional[list[str]], typer.Option(help="Model for the prompt's role; give it twice to compare.")] = None,
    against: Annotated[Optional[Path], typer.Option(help="File with another version of the prompt.")] = None,
    samples: Annotated[int, typer.Option(min=0, help="Number of replies to show, and of objections.")] = 2,
    as_json: Annotated[bool, json_option("by model and version, the figures of the table")] = False,
) -> None:
    """Run the prompt's stage again for finished users. Print how many replies pass, what they cost, and why others fail.

    The variant is not changed. The replies are kept in the reply cache, so running it again is free.
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
    console = stdout_console()
    print_trials(console, name, trials, prices=prices)
    for trial in trials:
        show_samples(console, trial, count=samples)


@app.command("judge")
def judge(
    model: Annotated[str, typer.Option(help="The model that judges; the embedded one if no endpoint is configured.")] = "",
    variant: Annotated[str, typer.Option(help="Variant whose recipe sets the gates.")] = "base",
    misses: Annotated[int, typer.Option(min=0, help="Wrong readings shown.")] = 10,
    as_json: Annotated[bool, json_option("gate", "wanted", "read", "settled", "text")] = False,
) -> None:
    """Let a model judge sixty hand-labelled cases with the gates' own prompts, and print how often it is right.

    Its rate of wrong acceptances is a value for a recipe with calibrated gates.
    """

    async def all_cases() -> tuple[str, list[Verdict]]:
        with open_run_context(home()) as run_context:
            asked = model or run_context.embedded_model or checked_recipe(variant).models.judge.model
            recipe = with_model(checked_recipe(variant), "judge", asked).model_copy(update={"variant": "trial"})
            judged = await judge_cases(load_cases(), recipe=recipe, model=run_context.for_unit("trial", recipe=recipe).model)
            return asked, judged

    asked, verdicts = run_to_end(all_cases())
    if as_json:
        print_json(verdicts)
        return
    console = stdout_console()
    print_accuracy(console, verdicts, model=asked)
    for line in calibration(verdicts):
        print_plain(console, line)
    show_misses(console, verdicts, count=misses)


@app.command("yield")
def show_yield(
    variant: RecipeArgument,
    as_json: Annotated[bool, json_option("prompts", "gates", "begun", "finished", "given_up")] = False,
) -> None:
    """Print for each prompt of a run how many replies passed or were sent back, and why; and for each gate, its tries.

    The figures are computed in memory from the reply cache: no model is asked, and nothing is stored.
    """
    yields = yields_of_run(variant)
    if as_json:
        print_json(yields)
        return
    print_yields(stdout_console(), yields, variant=variant)


def yields_of_run(variant: str) -> Yields:
    """Return the yields of the variant's last run. Raises Problem if no persona has been drawn yet."""
    recipe = recipe_to_follow(variant)
    benchmark = benchmark_of(recipe)
    resolved = open_asset_values(home()).find(benchmark.key("recipe"), variant)
    sources = variant_sources(home(), benchmark, variant)
    if not isinstance(resolved, ResolvedRecipe) or not sources:
        raise Problem(f"Nothing of {variant!r} is made yet; make it with: amemgym generate {variant}")

    async def replay() -> Yields:
        with open_run_context(home(), mode="replay") as run_context:
            return await yields_of(benchmark, resolved.recipe, sources, model=run_context.model)

    return run_to_end(replay())


def print_yields(console: Console, yields: Yields, *, variant: str) -> None:
    """Print the prompts, the objections to their replies, the gates, and how many items were given up at each place."""
    head = ("prompt", "asked", "at once", "after objections", "never")
    rows = [
        (name, str(one.asked), str(one.at_once), str(one.after_objections), str(one.never))
        for name, one in yields.prompts.items()
    ]
    print_table(console, head, rows, title=f"{variant}: {yields.finished} of {yields.begun} started items are finished")
    for name, one in yields.prompts.items():
        for reason, count in one.objections.items():
            print_plain(console, f"{name}, sent back {counted(count, 'time')}: {reason}")
    gates = [
        (name, str(one.texts), str(one.at_once), str(one.after_rewrites), str(one.never)) for name, one in yields.gates.items()
    ]
    print_table(console, ("gate", "texts", "at once", "after rewrites", "never"), gates, title="Gates")
    for where, count in yields.given_up.items():
        print_plain(console, f"given up at {where}: {count}")


def _sides(name: str, recipe: AMemGymRecipe, *, models: Sequence[str], against: Path | None) -> list[Side]:
    try:
        shipped = load_prompt(name)
        other = _version(name, against)
    except PromptError as error:
        raise Problem(str(error)) from error
    # Recorded under its own name, because it is not part of the variant's cost.
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
        raise Problem(f"The prompt {name!r} does not belong to a stage; try one of a stage, such as answers/draft.")
    inputs = finished_inputs(home(), variant, stage=stage, users=users)
    if not inputs:
        raise Problem(f"No user of {variant!r} has reached the stage {stage.name} yet; go on with: amemgym generate {variant}")

    async def all_sides() -> list[Trial]:
        trials: list[Trial] = []
        with open_run_context(home()) as run_context:
            for side in sides:
                model = run_context.for_unit("trial", recipe=side.recipe).model
                trials.append(await run_trial(side, stage, inputs, prompt=name, model=model))
        return trials

    return run_to_end(all_sides())


def print_accuracy(console: Console, verdicts: Sequence[Verdict], *, model: str) -> None:
    """Print each gate's share of right readings with Wilson's interval, also apart for texts that tell the value or not."""
    by_gate: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_gate.setdefault(verdict.gate, []).append(verdict)
    rows: list[tuple[str, ...]] = []
    for gate, own in by_gate.items():
        parts: dict[bool, list[Verdict]] = {True: [], False: []}
        for verdict in own:
            parts[verdict.settled].append(verdict)
        spread = wilson_interval(_count_right(own), len(own), level=0.95)
        interval = f"{spread.low:.0%} to {spread.high:.0%}"
        rows.append((gate, _share_right(own), interval, _share_right(parts[True]), _share_right(parts[False])))
    head = ("gate", "right", "95 % interval", "text tells", "text does not tell")
    print_table(console, head, rows, title=f"Hand-labelled cases, judged by {model}")


def _count_right(verdicts: Sequence[Verdict]) -> int:
    return sum(verdict.right for verdict in verdicts)


def _share_right(verdicts: Sequence[Verdict]) -> str:
    return _share(_count_right(verdicts), len(verdicts))


def print_trials(console: Console, name: str, trials: Sequence[Trial], *, prices: Prices) -> None:
    """Print one column per trial: replies that passed, tokens, list price, and how many users passed the stage."""
    head = [""]
    rows: dict[str, list[str]] = {}
    for trial in trials:
        head.append(trial.side.name)
        for figure, value in _figures(trial, prices=prices).items():
            rows.setdefault(figure, [figure]).append(value)
    print_table(console, head, list(rows.values()), title=f"{name} on {counted(trials[0].users, 'user')}")


def _figures(trial: Trial, *, prices: Prices) -> dict[str, str]:
    calls = list(chain.from_iterable(trial.tries))
    asked = len(trial.tries)
    accepted = trial.at_once() + trial.after_reasking()
    total: float | None = 0.0
    sent = received = 0
    for exchange in calls:
        sent += exchange.reply.input_tokens
        received += exchange.reply.output_tokens
        cost = _cost(exchange, prices)
        total = None if total is None or cost is None else total + cost
    passed_at_once: dict[tuple[str, str], bool] = {}
    for record in trial.gate_records:
        item = (record.gate, record.item_id)
        at_once = record.accepted and record.draft == record.refinement == 0
        passed_at_once[item] = at_once and passed_at_once.get(item, True)
    return {
        "questions asked": str(asked),
        "accepted at once": _share(trial.at_once(), asked),
        "accepted after an objection": _share(trial.after_reasking(), asked),
        "never accepted": _share(trial.never(), asked),
        "calls per accepted reply": f"{len(calls) / accepted:.2f}" if accepted else "none was accepted",
        "input tokens per call": f"{sent / len(calls):,.0f}" if calls else "-",
        "output tokens per call": f"{received / len(calls):,.0f}" if calls else "-",
        "cost at list price": dollars(total),
        "cost per accepted reply": dollars(total / accepted) if total is not None and accepted else "unknown",
        "users who passed the stage": _share(trial.users - len(trial.failures), trial.users),
        "items that passed their gate at once": _share(sum(passed_at_once.values()), len(passed_at_once)),
    }


def _cost(exchange: Exchange, prices: Prices) -> float | None:
    reply = exchange.reply
    return prices.of(exchange.request.model, Usage(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)).usd


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({part / whole:.0%})" if whole else "")


def show_samples(console: Console, trial: Trial, *, count: int) -> None:
    """Print the first `count` replies, objections, and users who were given up."""
    replies = [("reply", tries[0].reply.text) for tries in trial.tries[:count]]
    objections: list[tuple[str, str]] = []
    for tries in trial.tries:
        for before, again in pairwise(tries):
            objections.append((f"objection to: {before.reply.text[:SHOWN]}", again.objection or ""))
    failures = [("user given up", failed.message) for failed in trial.failures[:count]]
    for title, text in [*replies, *objections[:count], *failures]:
        console.print(f"\n[bold]{escape(trial.side.name)}, {escape(title)}[/bold]\n{escape(text[:SHOWN])}")


def show_misses(console: Console, verdicts: Sequence[Verdict], *, count: int) -> None:
    """Print the first `count` readings that are wrong."""
    wrong = [verdict for verdict in verdicts if not verdict.right]
    for verdict in wrong[:count]:
        text = escape(f"{verdict.text}\n  is {verdict.wanted}; read: {verdict.read}")
        console.print(f"\n[bold]{verdict.gate}[/bold] {text}")
