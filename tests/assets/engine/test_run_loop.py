"""What a run has started ahead goes on between two assets, and a cancelled run ends it."""

import asyncio
import os
import signal
import threading
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.questions import QUESTIONS
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.cancellation import stop_with_run
from assets.engine.in_flight import InFlight
from assets.engine.run_loop import RunLoop
from assets.engine.stage_asset import run_or_explain
from assets.llm.ports import ModelReply, ModelRequest
from tests.assets.engine.stage_runs import QUESTION
from tests.support.coroutines import run
from tests.support.paid_calls import PaidCalls
from tests.support.run_contexts import run_context, runner_of, sampled
from tests.support.scripted_model import ScriptedModel
from tests.support.small import small_recipe
from tests.support.waiting import LONG, until


@dataclass
class HeldBack(ScriptedModel):
    """Its questions come when they may."""

    may_come: threading.Event = field(default_factory=threading.Event)
    came: threading.Event = field(default_factory=threading.Event)

    async def complete(self, request: ModelRequest) -> ModelReply:
        if request.labels.prompt == QUESTION:
            await asyncio.to_thread(self.may_come.wait, LONG)
        try:
            return await super().complete(request)
        finally:
            if request.labels.prompt == QUESTION:
                self.came.set()


def test_replies_that_come_between_two_assets_are_taken_in(tmp_path: Path) -> None:
    model, in_flight, recipe = HeldBack({}), InFlight(), small_recipe(num_users=1, num_reserve=1)
    with RunLoop(at_end=in_flight.cancel) as loop:
        shop = run_context(tmp_path, model, in_flight=in_flight, loop=loop)
        runner = runner_of(USER_PROFILES, shop, recipe, {"personas": sampled(shop, recipe)})
        runner.later = (QUESTIONS,)
        run(run_or_explain(runner, AMEMGYM))  # afterwards Dagster's own loop stands still
        model.may_come.set()
        assert model.came.wait(timeout=LONG)


async def interrupt_when_a_call_is_under_way(calls: PaidCalls, *, twice: bool = False) -> None:
    await until(lambda: calls.begun)
    os.kill(os.getpid(), signal.SIGINT)
    if twice:
        await until(lambda: calls.given_up)
        os.kill(os.getpid(), signal.SIGINT)


def test_a_signal_stops_what_runs_there_and_calls_that_are_paid_for_come_back() -> None:
    calls = PaidCalls()

    async def stage(loop: RunLoop) -> None:
        interrupting = asyncio.create_task(interrupt_when_a_call_is_under_way(calls))
        async with stop_with_run():
            await loop.run(calls.user())
        await interrupting

    with RunLoop(at_end=lambda: None) as loop, pytest.raises(dg.DagsterExecutionInterruptedError):
        run(stage(loop))
    assert calls.came_back == ["paid"]


def test_a_second_signal_waits_for_no_call() -> None:
    calls = PaidCalls(seconds=LONG / 2)

    async def stage(loop: RunLoop) -> None:
        interrupting = asyncio.create_task(interrupt_when_a_call_is_under_way(calls, twice=True))
        async with stop_with_run():
            await loop.run(calls.user())
        await interrupting

    with RunLoop(at_end=lambda: None, seconds=LONG) as loop, pytest.raises(dg.DagsterExecutionInterruptedError):
        run(stage(loop))
    assert calls.came_back == []


def test_a_run_that_ends_between_two_assets_begins_no_more_and_keeps_what_it_has_paid_for() -> None:
    in_flight, calls = InFlight(), PaidCalls()

    async def stage() -> None:
        in_flight.start(calls.user())
        await until(lambda: calls.begun)

    with RunLoop(at_end=in_flight.cancel) as loop:
        run(loop.run(stage()))
    assert calls.came_back == ["paid"]


def test_an_error_comes_out_as_it_is() -> None:
    async def fails() -> None:
        raise OSError("the disk is full")

    with RunLoop(at_end=lambda: None) as loop, pytest.raises(OSError, match="the disk is full"):
        run(loop.run(fails()))
