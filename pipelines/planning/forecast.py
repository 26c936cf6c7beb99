"""The forecast of making a variant, stage by stage: calls, tokens, money and time, each with an interval."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assets.engine.benchmark import Benchmark
from assets.engine.stage import amount
from assets.llm.ports import BATCH_SHARE
from assets.llm.usage import Usage
from assets.recipe.recipe import Recipe
from pipelines.errors import Problem
from pipelines.planning.defaults import CallTime, ErrorMargin
from pipelines.planning.prompt_calls import NOTHING_USED, PromptUsage
from pipelines.resources.ledger.prices import Prices
from prompts.catalogue import load_prompt

WIDENED = ErrorMargin(low=0.7, high=1.8)


@dataclass(frozen=True)
class Range:
    """A figure: what is expected, and an interval around it."""

    low: float
    mid: float
    high: float


@dataclass(frozen=True)
class StageForecast:
    """One stage, or the whole. Cost in US dollars, None where a price is unknown; seconds of wall time.

    `cached_tokens` are those of the input that stand in providers' prefix caches.
    """

    name: str
    calls: Range
    input_tokens: Range
    output_tokens: Range
    cost_usd: Range | None
    seconds: Range
    cached_tokens: Range


@dataclass(frozen=True)
class Terms:
    """The terms on which calls are made: prices, and how many calls and users at once."""

    prices: Prices
    calls_at_once: int
    users_at_once: int


@dataclass(frozen=True)
class Forecast:
    """The forecast of a variant: its stages, then the whole. `source`: what that rests on.

    `notes` are sentences about how to read it, and `comparison` is one about what somebody else needed, if there is one.
    """

    stages: Sequence[StageForecast]
    source: str
    notes: tuple[str, ...] = ()
    comparison: str = ""

    @property
    def whole(self) -> StageForecast:
        return self.stages[-1]


@dataclass(frozen=True)
class _StageCalls:
    """The usage of one prompt of a stage for the whole variant."""

    stage: str
    prompt: str
    use: PromptUsage


def estimate(benchmark: Benchmark, recipe: Recipe, *, call_time: CallTime, terms: Terms) -> Forecast:
    """Return the forecast by what the stages say of their calls. Raises Problem where one that asks cannot say it."""
    by_stage: dict[str, list[_StageCalls]] = {}
    whole: list[_StageCalls] = []
    for calls in _stage_calls(benchmark, recipe):
        if math.isnan(calls.use.calls):
            raise Problem(
                f"How many calls {recipe.variant!r} takes is not known before it is made: the stage {calls.stage!r} cannot say "
                "how often it asks. Make a few items first, and see what they took with: amemgym ledger"
            )
        if calls.use.calls:
            by_stage.setdefault(calls.stage, []).append(calls)
            whole.append(calls)
    by_stage[recipe.variant] = whole
    stages = [_sum(name, own, recipe, call_time=call_time, terms=terms) for name, own in by_stage.items()]
    margin = f"{WIDENED.low:g} to {WIDENED.high:g} times that"
    return Forecast(stages, f"the recipe's counts, if all goes well at once; intervals are {margin}")


def _stage_calls(benchmark: Benchmark, recipe: Recipe) -> Iterator[_StageCalls]:
    for stage in benchmark.stages:
        for prompt in stage.prompts:
            known = stage.calls.get(prompt)
            if known is None:
                yield _StageCalls(stage.name, prompt, PromptUsage(math.nan, math.nan, math.nan))
                continue
            calls = amount(known.per_item, recipe) * recipe.num_items
            reading = amount(known.reading, recipe)
            writing = amount(known.writing, recipe)
            yield _StageCalls(stage.name, prompt, PromptUsage(calls, calls * reading, calls * writing))


def _sum(name: str, calls: Sequence[_StageCalls], recipe: Recipe, *, call_time: CallTime, terms: Terms) -> StageForecast:
    use = NOTHING_USED
    cost = 0.0
    work = 0.0
    for one in calls:
        use += one.use
        cost += cost_of(one.prompt, one.use, recipe=recipe, prices=terms.prices)
        work += one.use.calls * call_time.seconds(one.use)
    return StageForecast(
        name,
        calls=_widened(use.calls),
        input_tokens=_widened(use.input_tokens),
        output_tokens=_widened(use.output_tokens),
        cost_usd=None if math.isnan(cost) else _widened(cost),
        seconds=_widened(work / terms.calls_at_once),
        cached_tokens=_widened(use.cached_tokens),
    )


def _widened(value: float) -> Range:
    return Range(value * WIDENED.low, value, value * WIDENED.high)


def cost_of(prompt: str, use: PromptUsage, *, recipe: Recipe, prices: Prices, model: str | None = None) -> float:
    """Return the cost of all calls, priced as so many average ones; nan where a price is unknown.

    Cached tokens have their own price, but not in batch jobs. `model` asks in place of those that the recipe names.
    """
    spec = recipe.models.for_role(load_prompt(prompt).role)
    models = recipe.models.judge.panel if spec is recipe.models.judge else (spec.model,)
    if model is not None:
        models = (model,)
    share = 1.0
    if spec.transport == "batch":
        share = BATCH_SHARE
        use = replace(use, cached_tokens=0.0)
    # Judges take turns, so that each has its share of the calls.
    return share * sum(_price(use, prices=prices, model=each) for each in models) / len(models)


def _price(use: PromptUsage, *, prices: Prices, model: str) -> float:
    if not use.calls:
        return 0.0
    average = Usage(
        calls=1,
        input_tokens=round(use.input_tokens / use.calls),
        output_tokens=round(use.output_tokens / use.calls),
        cached_input_tokens=round(use.cached_tokens / use.calls),
    )
    price = prices.of(model, average).usd
    return math.nan if price is None else price * use.calls
