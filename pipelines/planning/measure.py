"""Measure the shipped defaults anew: `python -m pipelines.planning.measure`, after generating demo, base and extra.

It reads the ledger of AMEMGYM_HOME and takes what the embedded model used for the variants as their files say.
"""

import asyncio
from collections.abc import Sequence

import yaml

from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.loading import expect_recipe, load_recipe
from pipelines.embedded.bank import model_name
from pipelines.home import home
from pipelines.planning.defaults import FILE, CallTime, Defaults, ErrorMargin, MeasuredVariant, PromptMean
from pipelines.planning.observed import ObservedRuns, observed_runs
from pipelines.planning.prompt_calls import NOTHING_USED, PROMPT_CALLS, RecipeSize
from pipelines.resources.ledger.ledger import Ledger, ledger_file

VARIANTS = ("demo", "base", "extra")
HEAD = """# What `amemgym plan` starts from where the ledger knows nothing: means over users of the embedded model.
# Written by `python -m pipelines.planning.measure` (which see); calls are per user, tokens per call.
# The margin covers that a real model's texts are longer or shorter and that its judge accepts more or less often.
# The call time is that of a large hosted model; once the ledger has paid calls, their own time is used.
"""
MARGIN = ErrorMargin(low=0.7, high=1.8)
CALL_TIME = CallTime(base_seconds=0.5, prefill_tokens_per_second=5000, decode_tokens_per_second=80)


def measured(runs: ObservedRuns) -> MeasuredVariant:
    """Return the mean calls per user and tokens per call of each prompt."""
    prompts: dict[str, PromptMean] = {}
    for name in PROMPT_CALLS:
        use = NOTHING_USED
        for user in runs.users:
            use += user.get(name, NOTHING_USED)
        if use.calls:
            prompts[name] = PromptMean(
                calls=round(use.calls / len(runs.users), 2),
                input_tokens=round(use.input_tokens / use.calls),
                output_tokens=round(use.output_tokens / use.calls),
                cached_tokens=round(use.cached_tokens / use.calls),
            )
    return MeasuredVariant(size=runs.size, users=len(runs.users), tried=round(runs.tried, 2), prompts=prompts)


def defaults_of(runs: Sequence[ObservedRuns]) -> Defaults:
    """Return the defaults from runs of the embedded model. Raises SystemExit naming a variant that has not been made."""
    variants: dict[str, MeasuredVariant] = {}
    for variant in VARIANTS:
        size = RecipeSize.of(expect_recipe(load_recipe(variant), AMemGymRecipe))
        own = [run for run in runs if run.size == size and run.models == (model_name(), model_name())]
        if not own:
            raise SystemExit(f"The ledger has no finished users of {variant!r} on {model_name()}; generate it first.")
        variants[variant] = measured(own[0])
    return Defaults(margin=MARGIN, call_time=CALL_TIME, measured=variants)


def main() -> None:
    ledger = Ledger(ledger_file(home()))
    try:
        runs = asyncio.run(observed_runs(ledger))
    finally:
        ledger.close()
    FILE.write_text(HEAD + yaml.safe_dump(defaults_of(runs).model_dump(mode="json"), sort_keys=False), encoding="utf-8")
    print(f"Wrote {FILE}.")


if __name__ == "__main__":
    main()
