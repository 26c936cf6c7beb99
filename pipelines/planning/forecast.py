"""The forecast: calls, tokens, money and time of each stage, each with an interval that covers nine cases in ten."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assets.amemgym.recipe import AMemGymRecipe
from assets.llm.ports import BATCH_SHARE
from assets.llm.usage import Usage
from pipelines.planning.defaults import CallTime, ErrorMargin
from pipelines.planning.prompt_calls import PROMPT_CALLS, STAGES, PromptUsage, UserUsage, stage_of
from pipelines.resources.ledger.prices import Prices
from prompts.catalogue import load_prompt

Figures = NDArray[np.float64]
FIGURES = ("calls", "input_tokens", "output_tokens", "cost_usd", "work", "chain")
DRAWS = 2000
LOW, HIGH = 0.05, 0.95
NO_MARGIN = ErrorMargin(low=1.0, high=1.0)


@dataclass(frozen=True)
class Range:
    """A figure: what is expected, and an interval around it."""

    low: float
    mid: float
    high: float


@dataclass(frozen=True)
class StageForecast:
    """One stage, or the whole. Cost in US dollars, None where a price is unknown; seconds of wall time."""

    name: str
    calls: Range
    input_tokens: Range
    output_tokens: Range
    cost_usd: Range | None
    seconds: Range


@dataclass(frozen=True)
class Basis:
    """What a forecast rests on: users of earlier runs, or one average user, and how far that may be from the truth.

    `tried` users are worked on per user wanted; `seconds` are measured times of a call by prompt.
    """

    source: str
    users: Sequence[UserUsage]
    tried: float
    margin: ErrorMargin
    call_time: CallTime
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class Terms:
    """On what terms the calls are made: prices, and how many calls and users at once."""

    prices: Prices
    calls_at_once: int
    users_at_once: int


def forecast(recipe: AMemGymRecipe, basis: Basis, *, terms: Terms) -> list[StageForecast]:
    """One forecast per stage, then the whole under the name of the variant.

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
        """All calls at the limit of calls in flight, or the users' chains of calls, whatever takes longer."""
        return np.maximum(figures[..., 4] / terms.calls_at_once, figures[..., 5] * waves)

    def total(name: str, pick: Callable[[Figures], Figures]) -> StageForecast:
        ranges = [
            _range(pick(totals[..., index]), mid=float(pick(mean[..., index])), margin=basis.margin) for index in range(4)
        ]
        seconds = _range(pick(time(totals)), mid=float(pick(time(mean))), margin=basis.margin)
        cost = None if math.isnan(ranges[3].mid) else ranges[3]
        return StageForecast(name, ranges[0], ranges[1], ranges[2], cost, seconds)

    stages = [total(name, lambda figures, index=index: figures[..., index]) for index, name in enumerate(STAGES)]
    return [*stages, total(recipe.variant, lambda figures: figures.sum(axis=-1))]


def _figures(user: UserUsage, *, recipe: AMemGymRecipe, basis: Basis, terms: Terms) -> Figures:
    """Stages by figures, for one user. An unknown cost is nan, and so is every sum with it."""
    figures = np.zeros((len(STAGES), len(FIGURES)))
    for prompt, use in user.items():
        seconds = basis.seconds.get(prompt) or basis.call_time.seconds(use)
        spec = recipe.models.for_role(load_prompt(prompt).role)
        depth = use.calls if PROMPT_CALLS[prompt].in_sequence else min(1.0, use.calls)
        share = BATCH_SHARE if spec.transport == "batch" else 1.0
        models = recipe.models.judge.panel if spec is recipe.models.judge else (spec.model,)
        if recipe.audit.model and stage_of(prompt) == "audits":
            models = (recipe.audit.model,)
        # Judges take turns, so that each has its share of the calls.
        cost = share * sum(cost_of(use, prices=terms.prices, model=model) for model in models) / len(models)
        own = (use.calls, use.input_tokens, use.output_tokens, cost, use.calls * seconds, depth * seconds)
        figures[STAGES.index(stage_of(prompt))] += own
    return figures


def cost_of(use: PromptUsage, *, prices: Prices, model: str) -> float:
    """The cost of all calls, priced as so many average ones; prefix caching, which makes them cheaper, is not counted."""
    if not use.calls:
        return 0.0
    average = Usage(
        calls=1, input_tokens=round(use.input_tokens / use.calls), output_tokens=round(use.output_tokens / use.calls)
    )
    price = prices.of(model, average).usd
    return math.nan if price is None else price * use.calls


def _range(draws: Figures, *, mid: float, margin: ErrorMargin) -> Range:
    low, high = np.quantile(draws, (LOW, HIGH))
    return Range(float(low) * margin.low, mid, float(high) * margin.high)
