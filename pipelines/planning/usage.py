"""The calls and tokens that an item is expected to take: what the stages say, corrected by what the embedded model took."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import Field, TypeAdapter

from assets.engine.benchmark import Benchmark
from assets.engine.stage import PromptCalls, amount
from assets.recipe.recipe import Recipe
from assets.records.base import Record
from pipelines.errors import Problem

FILE = Path(__file__).parent / "measured.yaml"
Line = tuple[str, str]  # of a forecast: a stage and one of its prompts


@dataclass(frozen=True)
class PromptUsage:
    """The calls of one prompt for one item; tokens and seconds are those of all its calls.

    `cached_tokens` are those of the input that a provider has in its prefix cache. `seconds` is 0 where nobody measured it.
    """

    calls: float = 0.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    cached_tokens: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: "PromptUsage") -> "PromptUsage":
        return PromptUsage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.seconds + other.seconds,
        )

    def __mul__(self, factor: float) -> "PromptUsage":
        return PromptUsage(
            self.calls * factor,
            self.input_tokens * factor,
            self.output_tokens * factor,
            self.cached_tokens * factor,
            self.seconds * factor,
        )

    def scale_by(self, taken: "PromptUsage", *, expected: "PromptUsage") -> "PromptUsage":
        """Return this, which was expected as well, times what other calls took over what was expected of them.

        As much of the input is cached, and a call lasts as long, as with those.
        """
        calls = self.calls * taken.calls / expected.calls
        input_tokens = self.input_tokens * taken.input_tokens / max(expected.input_tokens, 1.0)
        output_tokens = self.output_tokens * taken.output_tokens / max(expected.output_tokens, 1.0)
        cached_tokens = input_tokens * taken.cached_tokens / max(taken.input_tokens, 1.0)
        return PromptUsage(calls, input_tokens, output_tokens, cached_tokens, calls * taken.seconds / taken.calls)


ItemUsage = Mapping[Line, PromptUsage]


def tokens_of(item: ItemUsage) -> float:
    """Return what an item read and wrote."""
    return sum(use.input_tokens + use.output_tokens for use in item.values())


class MeasuredPrompt(Record):
    """Means over users of the stage that asks it first: calls as a multiple of what it expects, and tokens per call.

    Some of the input is cached.
    """

    times: float = Field(default=1, ge=0)
    input_tokens: float = Field(ge=0)
    output_tokens: float = Field(ge=0)
    cached_tokens: float = Field(default=0, ge=0)


class MeasuredVariant(Record):
    """What the embedded model took for a variant. `expected_calls`: the calls per user that its stages expect."""

    expected_calls: float
    prompts: dict[str, MeasuredPrompt]


MEASURED: TypeAdapter[dict[str, MeasuredVariant]] = TypeAdapter(dict[str, MeasuredVariant])


def read_measured() -> dict[str, MeasuredVariant]:
    return MEASURED.validate_python(yaml.load(FILE.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))


def calls_by_line(benchmark: Benchmark) -> dict[Line, PromptCalls]:
    """Return what the stages say of their prompts' calls."""
    return {(stage.name, prompt): calls for stage in benchmark.stages for prompt, calls in stage.calls.items()}


def expected_calls(benchmark: Benchmark, recipe: Recipe) -> dict[Line, float]:
    """Return the calls that an item takes if every draft passes. Raises Problem where a stage that asks cannot say it."""
    expected: dict[Line, float] = {}
    for line, calls in calls_by_line(benchmark).items():
        expected[line] = amount(calls.per_item, recipe)
    said = {prompt for _, prompt in expected}
    unknown = [stage for (stage, _), calls in expected.items() if math.isnan(calls)]
    unknown += [stage.name for stage in benchmark.stages if not said.issuperset(stage.prompts)]
    if unknown:
        raise Problem(
            f"How many calls {recipe.variant!r} takes is not known before it is made: the stage {unknown[0]!r} cannot say "
            "how often it asks. Make a few items first, and see what they took with: amemgym ledger"
        )
    return expected


def expected_usage(benchmark: Benchmark, recipe: Recipe) -> dict[Line, PromptUsage]:
    """Return what an item takes on average: as measured where it was, else as the stages say. Raises Problem as above."""
    expected = expected_calls(benchmark, recipe)
    # The measured variant whose users take nearly as many calls.
    whole = max(sum(expected.values()), 1.0)
    measured = min(read_measured().values(), key=lambda variant: abs(math.log(variant.expected_calls / whole)))
    usage: dict[Line, PromptUsage] = {}
    asked = set[str]()
    for line, said in calls_by_line(benchmark).items():
        calls = expected[line]
        own = measured.prompts.get(line[1])
        if own is not None:
            # Drafts that are refused are the gates'; what asks their judges later, asks once.
            calls *= 1 if line[1] in asked else own.times
            tokens = PromptUsage(1, own.input_tokens, own.output_tokens, own.cached_tokens)
        else:
            tokens = PromptUsage(1, amount(said.reading, recipe), amount(said.writing, recipe))
        asked.add(line[1])
        if calls and tokens.input_tokens:
            usage[line] = tokens * calls
    return usage
