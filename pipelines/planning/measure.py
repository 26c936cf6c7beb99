"""Measure the shipped defaults anew: `python -m pipelines.planning.measure`, after generating demo, base and extra.

It reads the ledger of AMEMGYM_HOME and takes what the embedded model used for the variants as their files say.
"""

import asyncio
from collections.abc import Mapping
from contextlib import closing

import yaml

from assets.recipe.loading import load_recipe
from pipelines.benchmarks import benchmark_of
from pipelines.embedded.bank import model_name
from pipelines.home import home
from pipelines.planning.earlier_runs import EarlierRun, earlier_runs
from pipelines.planning.usage import FILE, Line, MeasuredPrompt, MeasuredVariant, PromptUsage, expected_calls, expected_usage
from pipelines.resources.ledger.ledger import Ledger, ledger_file

VARIANTS = ("demo", "base", "extra")
HEAD = """# What `amemgym plan` starts from where the ledger knows nothing: means over users of the embedded model.
# Written by `python -m pipelines.planning.measure` (which see). `times`: calls over those that the stage expects of the
# recipe, 1 where none are given, and `expected_calls` in all; tokens are per call.
"""


def measure_variant(run: EarlierRun, calls: Mapping[Line, float]) -> MeasuredVariant:
    """Return for each prompt what the stage that asks it first took per user, over what it expects, and its tokens per call."""
    prompts: dict[str, MeasuredPrompt] = {}
    for line, expected in calls.items():
        use = sum((item.get(line, PromptUsage()) for item in run.items), PromptUsage())
        if use.calls and expected and line[1] not in prompts:
            prompts[line[1]] = MeasuredPrompt(
                times=round(use.calls / len(run.items) / expected, 3),
                input_tokens=round(use.input_tokens / use.calls),
                output_tokens=round(use.output_tokens / use.calls),
                cached_tokens=round(use.cached_tokens / use.calls),
            )
    return MeasuredVariant(expected_calls=round(sum(calls.values()), 2), prompts=prompts)


def main() -> None:
    """Write the file. Raises SystemExit naming a variant that has not been made."""
    variants: dict[str, object] = {}
    with closing(Ledger(ledger_file(home()))) as ledger:
        for variant in VARIANTS:
            recipe = load_recipe(variant).with_models(lambda _: model_name())
            benchmark = benchmark_of(recipe)
            expected = expected_usage(benchmark, recipe)
            runs = asyncio.run(earlier_runs(ledger, benchmark, like=recipe))
            own = [run for run in runs if run.expected == expected]
            if not own:
                raise SystemExit(f"The ledger has no finished users of {variant!r} on {model_name()}; generate it first.")
            measured = measure_variant(own[0], expected_calls(benchmark, recipe))
            variants[variant] = measured.model_dump(mode="json", exclude_defaults=True)
    FILE.write_text(HEAD + yaml.safe_dump(variants, sort_keys=False), encoding="utf-8")
    print(f"Wrote {FILE}.")


if __name__ == "__main__":
    main()
