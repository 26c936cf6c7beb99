"""What a forecast rests on: the finished users of runs like it, counted once, with doubt where they are few or differ."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.llm.ports import CallLabels, LanguageModel
from assets.recipe.amemgym import AMemGymRecipe
from pipelines.planning.earlier_runs import earlier_runs
from pipelines.planning.forecast import WIDE, Basis, basis_for
from pipelines.planning.usage import Line, PromptUsage, calls_by_line, expected_usage
from pipelines.resources.ledger.ledger import UnitLedger
from pipelines.resources.ledger.paid_calls import PaidCallRecorder
from pipelines.resources.ledger.prices import Prices
from prompts.catalogue import load_prompt
from tests.pipelines.ledger.ledger_stores import ADDRESS, LedgerStores, UsingModel, call, one_model, open_stores

LINES = tuple(calls_by_line(AMEMGYM))
DRAFT = ("questions", "questions/draft")


async def live(
    stores: LedgerStores, recipe: AMemGymRecipe, *, users: int, lines: Sequence[Line] = LINES, first: int = 0
) -> None:
    """Let users, from the `first` on, ask every prompt once, as a run would."""
    ledger = UnitLedger(stores.ledger, Prices({}), recipe, "small", ADDRESS)
    await ledger.begin()
    model: LanguageModel = PaidCallRecorder(UsingModel(), ledger)
    for number in range(first, first + users):
        for index, (stage, prompt) in enumerate(lines):
            labels = CallLabels(stage, f"u-{number}", prompt, load_prompt(prompt).fingerprint)
            await model.complete(call(number * 100 + index, model=recipe.models.writer.model, labels=labels))


def based_on(folder: Path, recipe: AMemGymRecipe, *, run: AMemGymRecipe, users: int, lines: Sequence[Line] = LINES) -> Basis:
    """What a forecast for the recipe rests on after this run."""

    async def use() -> Basis:
        with open_stores(folder) as stores:
            await live(stores, run, users=users, lines=lines)
            return basis_for(AMEMGYM, recipe, await earlier_runs(stores.ledger, AMEMGYM, like=recipe))

    return asyncio.run(use())


def test_runs_of_the_same_counts_and_model_come_first(tmp_path: Path) -> None:
    result = based_on(tmp_path, one_model(), run=one_model(seed=7), users=6)
    assert result.source == "6 users of earlier runs with the same counts and models"
    assert result.margin != WIDE
    assert result.item[DRAFT] == PromptUsage(1, 1000, 100, 0, 0.25)
    assert result.item.keys() == calls_by_line(AMEMGYM).keys()
    assert result.tried == 1.0  # all six were finished, more than this recipe wants


def test_a_spare_that_asked_little_counts_as_the_part_of_a_user_that_it_was(tmp_path: Path) -> None:
    async def use() -> float:
        with open_stores(tmp_path) as stores:
            recipe = one_model(num_users=2)
            await live(stores, recipe, users=2)
            await live(stores, recipe, users=1, lines=LINES[:1], first=2)
            (run,) = await earlier_runs(stores.ledger, AMEMGYM, like=recipe)
            return run.tried

    assert asyncio.run(use()) == pytest.approx(1 + 1 / (2 * len(LINES)))


def test_few_users_widen_the_interval(tmp_path: Path) -> None:
    assert based_on(tmp_path, one_model(), run=one_model(), users=2).margin == WIDE


def test_runs_of_other_counts_with_the_same_model_correct_the_defaults(tmp_path: Path) -> None:
    recipe = one_model(num_questions=2)
    result = based_on(tmp_path, recipe, run=one_model(), users=6)
    assert result.source.endswith("corrected by 6 users of other counts with the same models")
    assert result.margin == WIDE
    update = ("state_trajectory", "state_trajectory/update")
    # The run's calls had 1000 tokens and 100, and were one of a prompt, whatever the defaults say of them.
    assert result.item[update].calls == pytest.approx(1)
    assert result.item[update].input_tokens == pytest.approx(1000)
    assert result.item[update].output_tokens == pytest.approx(100)


def test_a_prompt_that_the_runs_never_asked_is_left_as_it_was(tmp_path: Path) -> None:
    refine = ("answers", "answers/refine")
    asked = [line for line in LINES if line != refine]
    result = based_on(tmp_path, one_model(num_questions=2), run=one_model(), users=6, lines=asked)
    assert result.item[refine] == expected_usage(AMEMGYM, one_model(num_questions=2))[refine]


@pytest.mark.parametrize("run", [one_model(language="de"), one_model("m-2")])
def test_runs_in_another_language_or_with_another_model_say_nothing(run: AMemGymRecipe, tmp_path: Path) -> None:
    result = based_on(tmp_path, one_model(), run=run, users=6)
    assert result == Basis("the shipped defaults, measured with the embedded model", expected_usage(AMEMGYM, one_model()))


def test_users_that_are_not_finished_are_left_out(tmp_path: Path) -> None:
    early = [line for line in LINES if line[0] in ("user_profiles", "questions")]
    assert "defaults" in based_on(tmp_path, one_model(), run=one_model(), users=6, lines=early).source


def test_a_request_that_was_repeated_counts_once(tmp_path: Path) -> None:
    async def use() -> list[float]:
        with open_stores(tmp_path) as stores:
            for _ in range(2):
                await live(stores, one_model(), users=1)
            (run,) = await earlier_runs(stores.ledger, AMEMGYM, like=one_model())
            return [item[DRAFT].calls for item in run.items]

    assert asyncio.run(use()) == [1]


def test_a_request_that_several_users_make_is_shared_among_them(tmp_path: Path) -> None:
    async def use() -> list[float]:
        with open_stores(tmp_path) as stores:
            await live(stores, one_model(), users=2)
            ledger = UnitLedger(stores.ledger, Prices({}), one_model(), "small", ADDRESS)
            for user in ("u-0", "u-1"):
                labels = CallLabels(DRAFT[0], user, DRAFT[1], load_prompt(DRAFT[1]).fingerprint)
                await PaidCallRecorder(UsingModel(), ledger).complete(call(999, model="m-1", labels=labels))
            (run,) = await earlier_runs(stores.ledger, AMEMGYM, like=one_model())
            return [item[DRAFT].calls for item in run.items]

    assert asyncio.run(use()) == [1.5, 1.5]


def test_a_prompt_that_a_stage_shares_with_an_earlier_one_and_says_nothing_of_counts_there(tmp_path: Path) -> None:
    async def use() -> float:
        with open_stores(tmp_path) as stores:
            await live(stores, one_model(), users=1)
            ledger = UnitLedger(stores.ledger, Prices({}), one_model(), "small", ADDRESS)
            labels = CallLabels("events", "u-0", "state_trajectory/check", load_prompt("state_trajectory/check").fingerprint)
            await PaidCallRecorder(UsingModel(), ledger).complete(call(99, model="m-1", labels=labels))
            (run,) = await earlier_runs(stores.ledger, AMEMGYM, like=one_model())
            return run.items[0]["state_trajectory", "state_trajectory/check"].calls

    assert asyncio.run(use()) == 2


def test_calls_of_changed_prompts_say_nothing(tmp_path: Path) -> None:
    async def use() -> int:
        with open_stores(tmp_path) as stores:
            ledger = UnitLedger(stores.ledger, Prices({}), one_model(), "small", ADDRESS)
            await ledger.begin()
            for index, (stage, prompt) in enumerate(LINES):
                labels = CallLabels(stage, "u-0", prompt, "another word")
                await PaidCallRecorder(UsingModel(), ledger).complete(call(index, labels=labels))
            return len(await earlier_runs(stores.ledger, AMEMGYM, like=one_model()))

    assert asyncio.run(use()) == 0
