"""The forecast for deep research: what a task takes follows from hops, lengths and votes, and so does what it will cost."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.world.relations import WORLD
from assets.llm.ports import BATCH_SHARE
from assets.memory_items.ablation import READ
from assets.recipe.recipe import Recipe
from pipelines.planning.defaults import CallTime, ErrorMargin
from pipelines.planning.forecast import Range, StageForecast, Terms, cost_of
from pipelines.planning.prompt_calls import PromptUsage, calls_per_user
from prompts.catalogue import load_prompt

# Tokens, as the embedded model's texts have them on dr-demo: of a hop's documents and those beside them, of instructions with a
# question, of an answer.
HOP, TASK, ANSWER = 1_260, 400, 6
WIDENED = ErrorMargin(low=0.7, high=1.8)


@dataclass(frozen=True)
class StageCalls:
    """What one prompt of a stage takes for the whole variant."""

    stage: str
    prompt: str
    use: PromptUsage


def reading_tokens(recipe: DeepResearchRecipe) -> list[float]:
    """The length of each reading of the last ablation, for a task of the mean number of hops."""
    hops = (recipe.min_hops + recipe.max_hops) / 2
    found = list[float]()
    for length in recipe.lengths:
        own = min(hops * HOP, length)
        # Without each hop; filler, in parts; the last turn.
        found += [TASK, TASK + hops * HOP / 10, *[TASK + own - HOP] * round(hops)]
        parts = max(1, math.ceil((length - own) / recipe.ablation.max_reading_tokens))
        found += [TASK + (length - own) / parts] * parts
        found += [TASK + length / (hops + recipe.num_quiet_turns)]
        if length <= recipe.ablation.max_reading_tokens:
            found.append(TASK + length)
    return found


def stage_calls(recipe: DeepResearchRecipe) -> Iterator[StageCalls]:
    """What the variant takes, if all goes well at once; tellings are asked for once in each set of styles."""
    tasks, votes = recipe.num_tasks, recipe.ablation.votes
    sets, told = min(recipe.num_styles, tasks), recipe.num_tellings

    def of(stage: str, prompt: str, calls: float, *, reading: float, writing: float) -> StageCalls:
        return StageCalls(stage, prompt, PromptUsage(calls, calls * reading, calls * writing))

    yield of("dr_sources", WORLD.tell_prompt, sets * len(WORLD.document_kinds), reading=290, writing=300 * told)
    yield of("dr_sources", WORLD.phrase_prompt, sets * len(WORLD.relations), reading=180, writing=18 * told)
    yield of("dr_questions", "dr_questions/word", tasks, reading=180, writing=40)
    yield of("dr_questions", "dr_questions/check", 2 * tasks, reading=370, writing=15)
    yield of("dr_questions", READ, 2 * votes * tasks, reading=TASK + HOP / 2, writing=ANSWER)
    yield of("dr_turns", READ, votes * tasks, reading=TASK + HOP / 2, writing=ANSWER)
    readings = reading_tokens(recipe)
    mean = sum(readings) / len(readings)
    yield of("dr_ablation", READ, votes * tasks * len(readings), reading=mean, writing=ANSWER)


def calls_per_item(recipe: Recipe, stage: str) -> float:
    """About how many calls an item takes at a stage; 0 where nothing is known."""
    if not isinstance(recipe, DeepResearchRecipe):
        return calls_per_user(recipe, stage)
    return sum(one.use.calls for one in stage_calls(recipe) if one.stage == stage) / recipe.num_tasks


def forecast_tasks(recipe: DeepResearchRecipe, *, call_time: CallTime, terms: Terms) -> list[StageForecast]:
    """One forecast per stage, then the whole under the name of the variant."""
    stages: dict[str, list[StageCalls]] = {}
    for calls in stage_calls(recipe):
        stages.setdefault(calls.stage, []).append(calls)
    every = [calls for own in stages.values() for calls in own]
    whole = {**stages, recipe.variant: every}
    return [_forecast(name, own, recipe, call_time=call_time, terms=terms) for name, own in whole.items()]


def _forecast(
    name: str, calls: list[StageCalls], recipe: DeepResearchRecipe, *, call_time: CallTime, terms: Terms
) -> StageForecast:
    cost = sum(_cost(one, recipe, terms=terms) for one in calls)
    work = sum(one.use.calls * call_time.seconds(one.use) for one in calls)
    return StageForecast(
        name,
        calls=_range(sum(one.use.calls for one in calls)),
        input_tokens=_range(sum(one.use.input_tokens for one in calls)),
        output_tokens=_range(sum(one.use.output_tokens for one in calls)),
        cost_usd=None if math.isnan(cost) else _range(cost),
        seconds=_range(work / terms.calls_at_once),
    )


def _cost(calls: StageCalls, recipe: DeepResearchRecipe, *, terms: Terms) -> float:
    spec = recipe.models.for_role(load_prompt(calls.prompt).role)
    models = recipe.models.judge.panel if spec is recipe.models.judge else (spec.model,)
    share = BATCH_SHARE if spec.transport == "batch" else 1.0
    return share * sum(cost_of(calls.use, prices=terms.prices, model=model) for model in models) / len(models)


def _range(value: float) -> Range:
    return Range(value * WIDENED.low, value, value * WIDENED.high)
