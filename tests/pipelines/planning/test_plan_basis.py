"""What a forecast rests on: the finished users of runs like it, counted once, with doubt where they are few or differ."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from assets.llm.ports import CallLabels, LanguageModel, ModelReply
from assets.recipe.amemgym import AMemGymRecipe
from pipelines.planning.defaults import load_defaults
from pipelines.planning.observed import NO_MARGIN, Basis, basis_for, observed_runs
from pipelines.planning.prompt_calls import PROMPT_CALLS, STAGE_OF, PromptUsage, fingerprints
from pipelines.resources.ledger.ledger import PaidCallRecorder, UnitLedger
from pipelines.resources.ledger.prices import Prices
from tests.pipelines.ledger.ledger_stores import ADDRESS, LedgerStores, UsingModel, call, one_model, open_stores


async def live(
    stores: LedgerStores, recipe: AMemGymRecipe, *, users: int, prompts: Sequence[str] = tuple(PROMPT_CALLS)
) -> None:
    """Let users ask every prompt once, as a run would."""
    ledger = UnitLedger(stores.ledger, Prices({}), recipe, "small", ADDRESS)
    await ledger.begin()
    model: LanguageModel = PaidCallRecorder(UsingModel(), ledger)
    for number in range(users):
        for index, prompt in enumerate(prompts):
            labels = CallLabels(STAGE_OF[prompt], f"u-{number}", prompt, fingerprints()[prompt])
            await model.complete(call(number * 100 + index, model=recipe.models.writer.model, labels=labels))


def based_on(
    folder: Path, recipe: AMemGymRecipe, *, run: AMemGymRecipe, users: int, prompts: Sequence[str] = tuple(PROMPT_CALLS)
) -> Basis:
    """What a forecast for the recipe rests on after this run."""

    async def use() -> Basis:
        with open_stores(folder) as stores:
            await live(stores, run, users=users, prompts=prompts)
            return await basis_for(recipe, stores.ledger)

    return asyncio.run(use())


def test_runs_of_the_same_counts_and_model_come_first(tmp_path: Path) -> None:
    result = based_on(tmp_path, one_model(), run=one_model(seed=7), users=6)
    assert result.source == "6 users of earlier runs with the same prompts and counts"
    assert result.margin == NO_MARGIN
    assert result.users[0]["questions/draft"] == PromptUsage(1, 1000, 100)
    assert result.seconds["questions/draft"] == 0.25
    assert result.tried == 1.0  # all six were finished, more than this recipe wants


def test_few_users_or_another_model_widen_the_interval(tmp_path: Path) -> None:
    few = based_on(tmp_path / "few", one_model(), run=one_model(), users=2)
    assert few.margin != NO_MARGIN
    other = based_on(tmp_path / "other", one_model("m-2"), run=one_model("m-1"), users=6)
    assert other.margin != NO_MARGIN
    assert "but by m-1" in other.source
    assert other.seconds == {}


def test_runs_of_other_counts_with_the_same_model_correct_the_defaults(tmp_path: Path) -> None:
    recipe = one_model(num_questions=2)
    result = based_on(tmp_path, recipe, run=one_model(), users=6)
    assert result.source.endswith("corrected by 6 users of other counts with the same models")
    assert result.margin != NO_MARGIN
    (forecast,) = result.users
    drafts = forecast["questions/draft"]
    # The run's calls had 1000 tokens and 100, whatever the defaults say of them.
    assert (drafts.input_tokens / drafts.calls, drafts.output_tokens / drafts.calls) == (
        pytest.approx(1000),
        pytest.approx(100),
    )
    assert result.measured == forecast.keys()


def test_a_prompt_that_the_runs_nearest_variant_never_asked_is_left_as_it_was(tmp_path: Path) -> None:
    base = one_model(num_users=20, num_questions=10, num_periods=10, num_changes_per_period=4)
    result = based_on(tmp_path, base, run=one_model(num_users=3, num_questions=4, num_periods=3), users=6)
    (forecast,) = result.users
    measured = load_defaults().measured
    assert forecast.keys() - result.measured == measured["base"].prompts.keys() - measured["demo"].prompts.keys()


def test_runs_in_another_language_and_with_another_model_correct_nothing(tmp_path: Path) -> None:
    for number, run in enumerate((one_model(num_questions=2, language="de"), one_model("m-2", num_questions=2))):
        result = based_on(tmp_path / str(number), one_model(), run=run, users=6)
        assert "corrected" not in result.source
        assert not result.measured


def test_users_that_are_not_finished_are_left_out(tmp_path: Path) -> None:
    early = [name for name in PROMPT_CALLS if STAGE_OF[name] in ("user_profiles", "questions")]
    assert "defaults" in based_on(tmp_path, one_model(), run=one_model(), users=6, prompts=early).source


def test_a_request_that_was_repeated_counts_once(tmp_path: Path) -> None:
    async def use() -> list[float]:
        with open_stores(tmp_path) as stores:
            for _ in range(2):
                await live(stores, one_model(), users=1)
            (runs,) = await observed_runs(stores.ledger)
            return [one["questions/draft"].calls for one in runs.users]

    assert asyncio.run(use()) == [1]


def test_calls_of_changed_prompts_say_nothing(tmp_path: Path) -> None:
    async def use() -> int:
        with open_stores(tmp_path) as stores:
            model = PaidCallRecorder(UsingModel(), UnitLedger(stores.ledger, Prices({}), one_model(), "small", ADDRESS))
            for index, prompt in enumerate(PROMPT_CALLS):
                labels = CallLabels(STAGE_OF[prompt], "u-0", prompt, "another word")
                reply = await model.complete(replace(call(index), labels=labels))
                assert isinstance(reply, ModelReply)
            return len(await observed_runs(stores.ledger))

    assert asyncio.run(use()) == 0
