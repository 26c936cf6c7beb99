"""The forecast for AMemGym: users that are like those of earlier runs, with an interval that covers nine cases in ten."""

import asyncio
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assets.amemgym.audits.rates import decoys_sentence
from assets.recipe.amemgym import AMemGymRecipe
from pipelines.planning.defaults import ErrorMargin
from pipelines.planning.forecast import Forecast, Range, StageForecast, Terms, cost_of
from pipelines.planning.observed import Basis, basis_for
from pipelines.planning.prompt_calls import PROMPT_CALLS, STAGE_OF, RecipeSize, UserUsage
from pipelines.resources.ledger.ledger import Ledger

Figures = NDArray[np.float64]
FIGURES = ("calls", "input_tokens", "output_tokens", "cost_usd", "cached_tokens", "work", "chain")
STAGES = tuple(dict.fromkeys(STAGE_OF.values()))
DRAWS = 2000
# Quantiles of the draws: an interval that covers nine cases in ten.
LOW = 0.05
HIGH = 0.95
AUDITS = "A line counts the prompts of its own stage. Audits ask the gates' prompts too; those calls count with the gates."
# What the paper says of one user of base with gpt-4.1 (App. C.2).
PAPER = "The paper's: 140 K input and 15.2 K output tokens, $0.40 with gpt-4.1 (App. C.2)."


def forecast_variant(recipe: AMemGymRecipe, ledger: Ledger | None, terms: Terms) -> Forecast:
    """Return what the recipe's users will take, by the ledger where it knows users like them."""
    basis = asyncio.run(basis_for(recipe, ledger))
    source = f"{basis.source}; intervals of 90 %{_margin_words(basis.margin)}"
    is_base = RecipeSize.of(recipe) == RecipeSize.of(AMemGymRecipe(variant="base", num_users=recipe.num_users))
    return Forecast(
        forecast(recipe, basis, terms=terms),
        source,
        notes=tuple(filter(None, (_measured_words(basis), AUDITS if recipe.audit.enabled else "", decoys_sentence(recipe)))),
        comparison=PAPER if is_base else "",
    )


def _measured_words(basis: Basis) -> str:
    """Say which figures were measured with the models that will be asked."""
    prompts = {prompt for user in basis.users for prompt in user}
    timed = prompts & basis.seconds.keys()
    return (
        f"Measured with these models: calls and tokens of {len(prompts & basis.measured)} of {len(prompts)} prompts, "
        f"seconds of {len(timed)}. Money is by the list of prices."
    )


def _margin_words(margin: ErrorMargin) -> str:
    if margin.high == 1:
        return ""
    return (
        f" whose lower end is times {margin.low:g} and whose upper times {margin.high:g}, as other models may need less or more"
    )


def forecast(recipe: AMemGymRecipe, basis: Basis, *, terms: Terms) -> list[StageForecast]:
    """Return one forecast per stage, then the whole under the name of the variant.

    Users are drawn from those observed with the weights of a Bayesian bootstrap, so that few observed users give a
    wide interval. The draws come from a fixed seed: the same ledger gives the same forecast.
    """
    users = np.stack([_figures(user, recipe=recipe, basis=basis, terms=terms) for user in basis.users])
    wanted = math.ceil(recipe.num_users * basis.tried)
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(len(users)), size=DRAWS)
    drawn = rng.multinomial(wanted, weights).astype(np.float64)
    totals = np.tensordot(drawn, users, axes=1)  # draws x stages x figures
    mean = users.mean(axis=0) * wanted
    waves = math.ceil(wanted / terms.users_at_once) / wanted

    def time(figures: Figures) -> Figures:
        """Return the time of all calls at the limit of calls in flight, or of the users' chains of calls if that is longer."""
        return np.maximum(figures[..., 5] / terms.calls_at_once, figures[..., 6] * waves)

    def total(name: str, pick: Callable[[Figures], Figures]) -> StageForecast:
        ranges = [
            _range(pick(totals[..., index]), mid=float(pick(mean[..., index])), margin=basis.margin) for index in range(5)
        ]
        seconds = _range(pick(time(totals)), mid=float(pick(time(mean))), margin=basis.margin)
        cost = None if math.isnan(ranges[3].mid) else ranges[3]
        return StageForecast(name, ranges[0], ranges[1], ranges[2], cost, seconds, cached_tokens=ranges[4])

    stages = [total(name, lambda figures, index=index: figures[..., index]) for index, name in enumerate(STAGES)]
    return [*stages, total(recipe.variant, lambda figures: figures.sum(axis=-1))]


def _figures(user: UserUsage, *, recipe: AMemGymRecipe, basis: Basis, terms: Terms) -> Figures:
    """Return stages by figures, for one user. An unknown cost is nan, and so is every sum with it."""
    figures = np.zeros((len(STAGES), len(FIGURES)))
    for prompt, use in user.items():
        seconds = basis.seconds.get(prompt) or basis.call_time.seconds(use)
        depth = use.calls if PROMPT_CALLS[prompt].in_sequence else min(1.0, use.calls)
        auditor = recipe.audit.model or None if STAGE_OF[prompt] == "audits" else None
        cost = cost_of(prompt, use, recipe=recipe, prices=terms.prices, model=auditor)
        own = (
            *(use.calls, use.input_tokens, use.output_tokens, cost, use.cached_tokens),
            *(use.calls * seconds, depth * seconds),
        )
        figures[STAGES.index(STAGE_OF[prompt])] += own
    return figures


def _range(draws: Figures, *, mid: float, margin: ErrorMargin) -> Range:
    low, high = np.quantile(draws, (LOW, HIGH))
    return Range(float(low) * margin.low, mid, float(high) * margin.high)
