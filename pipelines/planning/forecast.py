"""The forecast of making a variant, stage by stage: calls, tokens, money and time, each with an interval."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assets.engine.benchmark import Benchmark
from assets.llm.ports import BATCH_SHARE
from assets.llm.usage import Usage
from assets.recipe.recipe import Recipe
from assets.reporting.plurals import counted
from pipelines.planning.earlier_runs import EarlierRun, earlier_runs
from pipelines.planning.usage import ItemUsage, Line, PromptUsage, calls_by_line, expected_usage, read_measured, tokens_of
from pipelines.resources.ledger.ledger import Ledger
from pipelines.resources.ledger.prices import Prices
from prompts.catalogue import load_prompt

FEW_ITEMS = 5  # below which the spread between items is not known
NINE_IN_TEN = 1.645  # standard deviations, to both sides
# The time of a call where nobody has measured it: that of a large hosted model.
CALL_SECONDS = 0.5
TOKENS_READ_PER_SECOND = 5000
TOKENS_WRITTEN_PER_SECOND = 80


@dataclass(frozen=True)
class Margin:
    """Factors by which a forecast may miss."""

    low: float
    high: float


# A model's texts may be longer or shorter, and its judge may accept more or less often.
WIDE = Margin(low=0.7, high=1.8)


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
    """The terms on which calls are made: prices, and how many calls and items at once."""

    prices: Prices
    calls_at_once: int
    items_at_once: int


@dataclass(frozen=True)
class Forecast:
    """The forecast of a variant: its stages, then the whole. `source`: what that rests on.

    `timed`: the seconds rest on calls of the same models. `chain_seconds`: those of one item by itself.
    """

    stages: Sequence[StageForecast]
    source: str
    timed: bool
    chain_seconds: float

    @property
    def whole(self) -> StageForecast:
        return self.stages[-1]


@dataclass(frozen=True)
class Basis:
    """What an item is expected to take, and how far that may be from the truth. `tried`: as in EarlierRun."""

    source: str
    item: ItemUsage
    margin: Margin = WIDE
    tried: float = 1.0


def forecast_variant(benchmark: Benchmark, recipe: Recipe, ledger: Ledger | None, terms: Terms) -> Forecast:
    """Return what the recipe's items will take, by the ledger where it knows some. Raises Problem where a stage cannot say."""
    runs = [] if ledger is None else asyncio.run(earlier_runs(ledger, benchmark, like=recipe))
    basis = basis_for(benchmark, recipe, runs)
    count = recipe.num_items * basis.tried
    stages: list[StageForecast] = []
    whole = PromptUsage()
    whole_cost = 0.0
    chain = 0.0
    work = 0.0
    for name in benchmark.asking_stages:
        lines = {line: use for line, use in basis.item.items() if line[0] == name}
        if lines:
            longest, of_all = _item_seconds(benchmark, lines)
            chain += longest
            work += of_all
            seconds = _wall_seconds(longest, of_all, count=count, terms=terms)
            use = replace(sum(lines.values(), PromptUsage()) * count, seconds=seconds)
            cost = cost_of(lines, recipe=recipe, prices=terms.prices) * count
            stages.append(_stage_forecast(name, use, cost=cost, margin=basis.margin))
            whole += use
            whole_cost += cost
    # Items do not wait for each other between stages.
    whole = replace(whole, seconds=_wall_seconds(chain, work, count=count, terms=terms))
    stages.append(_stage_forecast(recipe.variant, whole, cost=whole_cost, margin=basis.margin))
    source = f"{basis.source}; intervals of {round(basis.margin.low, 2):g} to {round(basis.margin.high, 2):g} times that"
    timed = any(use.seconds for use in basis.item.values())
    return Forecast(stages, source, timed=timed, chain_seconds=chain)


def basis_for(benchmark: Benchmark, recipe: Recipe, runs: Sequence[EarlierRun]) -> Basis:
    """Return the best that is known of an item: what is expected, times what earlier ones took over what was expected of them.

    Where there are earlier ones of the same counts, others say nothing.
    """
    expected = expected_usage(benchmark, recipe)
    source = _source_words(expected)
    if not runs:
        return Basis(source, expected)
    alike = [run for run in runs if run.expected == expected]
    chosen = alike or runs
    item = _correct_usage(expected, chosen)
    items = [item for run in chosen for item in run.items]
    tried = sum(run.tried for run in chosen) / len(chosen)
    count = counted(len(items), benchmark.noun)
    if not alike:
        return Basis(f"{source}, corrected by {count} of other counts with the same models", item, WIDE, tried)
    margin = _margin(items, wanted=recipe.num_items)
    return Basis(f"{count} of earlier runs with the same counts and models", item, margin, tried)


def _source_words(expected: ItemUsage) -> str:
    measured = {prompt for variant in read_measured().values() for prompt in variant.prompts}
    if any(prompt in measured for _, prompt in expected):
        return "the shipped defaults, measured with the embedded model"
    return "the recipe's counts, if all goes well at once"


def _correct_usage(expected: ItemUsage, runs: Sequence[EarlierRun]) -> dict[Line, PromptUsage]:
    taken: dict[Line, PromptUsage] = {}
    of_those: dict[Line, PromptUsage] = {}
    count = 0
    for run in runs:
        count += len(run.items)
        for item in run.items:
            _add(taken, item)
            _add(of_those, run.expected)
    corrected = dict(expected)
    for line, use in taken.items():
        if line not in of_those:
            corrected[line] = use * (1 / count)  # nobody expected it
        elif line in expected:
            corrected[line] = expected[line].scale_by(use, expected=of_those[line])
    return corrected


def _add(sums: dict[Line, PromptUsage], item: ItemUsage) -> None:
    for line, use in item.items():
        sums[line] = sums.get(line, PromptUsage()) + use


def _margin(items: Sequence[ItemUsage], *, wanted: int) -> Margin:
    """Return an interval that covers nine cases in ten, by the spread of the items' tokens; a wide one by few items."""
    if len(items) < FEW_ITEMS:
        return WIDE
    totals = list(map(tokens_of, items))
    spread = float(np.std(totals, ddof=1) / np.mean(totals))
    error = NINE_IN_TEN * spread * math.sqrt(1 / len(items) + 1 / wanted)
    return Margin(max(0.0, 1 - error), 1 + error)


def _stage_forecast(name: str, use: PromptUsage, *, cost: float, margin: Margin) -> StageForecast:
    def spread(value: float) -> Range:
        return Range(value * margin.low, value, value * margin.high)

    return StageForecast(
        name,
        calls=spread(use.calls),
        input_tokens=spread(use.input_tokens),
        output_tokens=spread(use.output_tokens),
        cost_usd=None if math.isnan(cost) else spread(cost),
        seconds=spread(use.seconds),
        cached_tokens=spread(use.cached_tokens),
    )


def _wall_seconds(chain: float, work: float, *, count: float, terms: Terms) -> float:
    """Return the time of all calls at the limit of calls at once, or of the items' chains if that is longer."""
    return max(work * count / terms.calls_at_once, chain * math.ceil(count / terms.items_at_once))


def _item_seconds(benchmark: Benchmark, lines: ItemUsage) -> tuple[float, float]:
    """Return the seconds of an item's longest chain of calls in a stage, and those of all its calls."""
    work = 0.0
    longest = 0.0
    for line, use in lines.items():
        seconds = use.seconds or _likely_seconds(use)
        work += seconds
        together = 1.0 if calls_by_line(benchmark)[line].in_sequence else max(1.0, use.calls)
        longest = max(longest, seconds / together)
    return longest, work


def _likely_seconds(use: PromptUsage) -> float:
    reading = use.input_tokens / TOKENS_READ_PER_SECOND
    return use.calls * CALL_SECONDS + reading + use.output_tokens / TOKENS_WRITTEN_PER_SECOND


def cost_of(lines: Mapping[Line, PromptUsage], *, recipe: Recipe, prices: Prices) -> float:
    """Return the cost of an item's calls, priced as so many average ones; nan where a price is unknown.

    Cached tokens have their own price, but not in batch jobs.
    """
    cost = 0.0
    for (_, prompt), use in lines.items():
        spec = recipe.models.for_role(load_prompt(prompt).role)
        models = recipe.models.judge.panel if spec is recipe.models.judge else (spec.model,)
        share = 1.0
        if spec.transport == "batch":
            share = BATCH_SHARE
            use = replace(use, cached_tokens=0.0)
        # Judges take turns, so that each has its share of the calls.
        cost += share * sum(_price(use, prices=prices, model=each) for each in models) / len(models)
    return cost


def _price(use: PromptUsage, *, prices: Prices, model: str) -> float:
    average = Usage(
        calls=1,
        input_tokens=round(use.input_tokens / use.calls),
        output_tokens=round(use.output_tokens / use.calls),
        cached_input_tokens=round(use.cached_tokens / use.calls),
    )
    price = prices.of(model, average).usd
    return math.nan if price is None else price * use.calls
