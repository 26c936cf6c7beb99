"""`amemgym prompts`: try a prompt on finished users, two versions or two models side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from pipelines.cli.problems import Problem

if TYPE_CHECKING:
    from assets.recipe.recipe import Recipe
    from pipelines.experiments.prompt_trials.judging import Verdict
    from pipelines.experiments.prompt_trials.trial import Side, Trial
    from prompts.template import Prompt

app = typer.Typer(no_args_is_help=True, help="Prompts: try them before you change them.")


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

    from pipelines.cli.trial_tables import show_samples, trial_table
    from pipelines.experiments.prompt_trials.inputs import resolved_recipe
    from pipelines.home import home
    from pipelines.resources.ledger.prices import Prices, read_prices
    from pipelines.resources.llm.settings import EndpointSettings

    recipe = resolved_recipe(home(), variant)
    if recipe is None:
        raise Problem(f"Nothing of {variant!r} is finished yet; make it with: amemgym generate {variant}")
    trials = _run(name, _sides(name, recipe, models=model or [], against=against), variant=variant, users=users)
    settings = EndpointSettings.from_environment()
    prices = Prices(read_prices(), base_url=settings.address if settings else None)
    console = Console(highlight=False)
    console.print(trial_table(name, trials, prices=prices))
    for trial in trials:
        show_samples(console, trial, count=samples)


@app.command("judge")
def judge(
    model: Annotated[str, typer.Option(help="The model that judges; the embedded one where no endpoint is configured.")] = "",
    variant: Annotated[str, typer.Option(help="Whose recipe sets the gates.")] = "base",
    misses: Annotated[int, typer.Option(min=0, help="Wrong readings shown.")] = 10,
) -> None:
    """Let a model judge sixty hand-labelled cases with the gates' own prompts, and say how often it is right."""
    import asyncio

    from rich.console import Console

    from pipelines.cli.recipe import checked_recipe
    from pipelines.cli.trial_tables import accuracy_table, show_misses
    from pipelines.experiments.prompt_trials.inputs import with_model
    from pipelines.experiments.prompt_trials.judging import judge_cases, load_cases
    from pipelines.home import home
    from pipelines.resources.open import open_run_context

    async def all_cases() -> list["Verdict"]:
        with open_run_context(home()) as run_context:
            asked = model or run_context.embedded_model or checked_recipe(variant, []).models.judge.model
            recipe = with_model(checked_recipe(variant, []), "judge", asked).model_copy(update={"variant": "trial"})
            return await judge_cases(load_cases(), recipe=recipe, model=run_context.at("trial", recipe=recipe).model)

    verdicts = asyncio.run(all_cases())
    console = Console(highlight=False)
    console.print(accuracy_table(verdicts))
    show_misses(console, verdicts, count=misses)


def _sides(name: str, recipe: "Recipe", *, models: Sequence[str], against: Path | None) -> list["Side"]:
    from pipelines.experiments.prompt_trials.inputs import with_model
    from pipelines.experiments.prompt_trials.trial import Side
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

    from pipelines.experiments.prompt_trials.inputs import finished_inputs, stage_of_prompt
    from pipelines.experiments.prompt_trials.trial import run_trial
    from pipelines.home import home
    from pipelines.resources.open import open_run_context

    stage = stage_of_prompt(name)
    if stage is None:
        raise Problem(f"The prompt {name!r} belongs to no stage of the generation; try one of a stage, as in answers/draft.")
    inputs = finished_inputs(home(), variant, stage=stage, users=users)
    if not inputs:
        raise Problem(f"No user of {variant!r} has come as far as {stage.name}; make it with: amemgym generate {variant}")

    async def all_sides() -> list["Trial"]:
        with open_run_context(home()) as run_context:
            shops = [run_context.at("trial", recipe=side.recipe) for side in sides]
            return [
                await run_trial(side, stage, inputs, prompt=name, model=shop.model)
                for side, shop in zip(sides, shops, strict=True)
            ]

    return asyncio.run(all_sides())
