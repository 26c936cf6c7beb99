"""The one place that opens models: what a call passes, in generation and evaluation alike."""

import asyncio
from pathlib import Path

import pytest

from assets.llm.ports import EndpointError, ModelReply
from pipelines.home import Home
from pipelines.opening.models import open_models, open_run_context, share_of_run
from pipelines.resources.ledger.ledger import Ledger, ledger_file
from pipelines.resources.ledger.queries import sum_calls
from pipelines.resources.llm.settings import EndpointSettings
from tests.pipelines.llm.batched import a_line
from tests.support.commands import own_surroundings
from tests.support.small import small_recipe


def test_generation_and_evaluation_share_cache_and_ledger(tmp_path: Path) -> None:
    home, recipe = Home(tmp_path), small_recipe()

    async def generate() -> ModelReply:
        with open_run_context(home) as context:
            return await context.for_unit("unit", recipe=recipe).model.complete(a_line("Who?"))

    async def evaluate() -> ModelReply:
        with open_models(home) as models:
            return await models.for_account(recipe).chat.complete(a_line("Who?"))

    with own_surroundings(tmp_path):
        first, second = asyncio.run(generate()), asyncio.run(evaluate())
    (sums,) = asyncio.run(sum_calls(Ledger(ledger_file(home)), by="variant"))
    assert (first.repeated, second.repeated) == (False, True)
    assert (sums.calls, sums.hits) == (2, 1)


def test_a_recipe_with_a_secret_of_the_environment_is_refused_before_its_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = small_recipe(models={"judge": {"extra_body": {"user": "w4lrus-w4lrus-w4lrus"}}})

    async def generate() -> None:
        with open_run_context(Home(tmp_path)) as context:
            await context.for_unit("unit", recipe=recipe).model.complete(a_line("Who?"))

    with own_surroundings(tmp_path):
        monkeypatch.setenv("WALRUS_API_KEY", "w4lrus-w4lrus-w4lrus")
        with pytest.raises(EndpointError, match=r"models.judge.extra_body holds the secret in WALRUS_API_KEY"):
            asyncio.run(generate())


@pytest.mark.parametrize(("runs", "share"), [("", 7), ("2", 3), ("9", 1)])
def test_runs_that_share_a_database_share_the_calls_in_flight(tmp_path: Path, runs: str, share: int) -> None:
    alone = EndpointSettings(max_in_flight=7)
    around = {"AMEMGYM_RUNS_AT_ONCE": runs} if runs else {}
    with own_surroundings(tmp_path, AMEMGYM_DATABASE="postgresql://shared/x", **around):
        assert share_of_run(alone).max_in_flight == share
    with own_surroundings(tmp_path, **around):
        assert share_of_run(alone).max_in_flight == 7


def test_the_embedded_model_answers_at_once_what_is_labelled_for_a_batch_job(tmp_path: Path) -> None:
    async def ask() -> ModelReply:
        with open_models(Home(tmp_path)) as models:
            assert models.embedded
            return await models.for_account(small_recipe()).chat.complete(a_line("Who?"))

    with own_surroundings(tmp_path):
        assert asyncio.run(ask()).finish == "stop"
    assert not (tmp_path / "batches.sqlite").exists()
