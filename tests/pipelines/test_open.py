"""The one place that opens models: what a call passes, in generation and evaluation alike."""

import asyncio
import sys
from pathlib import Path

from assets.llm.ports import ModelReply
from pipelines.home import Home
from pipelines.resources.ledger.ledger import Ledger, ledger_file
from pipelines.resources.ledger.queries import summary
from pipelines.resources.open import open_models, open_run_context
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
            return await models.for_recipe(recipe).chat.complete(a_line("Who?"))

    with own_surroundings(tmp_path):
        first, second = asyncio.run(generate()), asyncio.run(evaluate())
    (sums,) = asyncio.run(summary(Ledger(ledger_file(home)), by="variant"))
    assert (first.repeated, second.repeated) == (False, True)
    assert (sums.calls, sums.hits) == (2, 1)


def test_the_embedded_model_answers_at_once_what_is_labelled_for_a_batch_job(tmp_path: Path) -> None:
    async def ask() -> ModelReply:
        with open_models(Home(tmp_path)) as models:
            assert models.embedded
            return await models.for_recipe(small_recipe()).chat.complete(a_line("Who?"))

    with own_surroundings(tmp_path):
        assert asyncio.run(ask()).finish == "stop"
    assert not (tmp_path / "batches.sqlite").exists()


def test_threads_that_store_replies_get_their_turn_soon(tmp_path: Path) -> None:
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(0.005)  # Python's own
        with own_surroundings(tmp_path), open_models(Home(tmp_path)):
            assert sys.getswitchinterval() < 0.001
    finally:
        sys.setswitchinterval(before)
