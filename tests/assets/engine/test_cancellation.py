"""A cancelled run stops its stage, wherever the signal finds the event loop."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

import dagster as dg
import pytest

from assets.engine.cancellation import stop_with_run
from tests.support.coroutines import run
from tests.support.paid_calls import PaidCalls
from tests.support.waiting import LONG, until


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


async def interrupt_in_a_task_of_its_own() -> None:
    async def elsewhere() -> None:
        interrupt()

    task = asyncio.create_task(elsewhere())
    await asyncio.Event().wait()
    await task


async def interrupt_in_a_callback() -> None:
    asyncio.get_running_loop().call_soon(interrupt)
    await asyncio.gather(asyncio.Event().wait(), return_exceptions=True)


async def interrupt_while_nothing_happens() -> None:
    asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGTERM)
    await asyncio.Event().wait()


async def nothing_to_come() -> None:
    await asyncio.Event().wait()


async def interrupt_on_the_last_line() -> None:
    interrupt()


async def stage(work: Callable[[], Awaitable[None]]) -> None:
    async with stop_with_run():
        await work()


@pytest.mark.parametrize(
    "work",
    [
        interrupt_in_a_task_of_its_own,
        interrupt_in_a_callback,
        interrupt_while_nothing_happens,
        interrupt_on_the_last_line,
    ],
)
def test_the_signal_stops_the_stage_and_the_handlers_are_put_back(work: Callable[[], Awaitable[None]]) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(dg.DagsterExecutionInterruptedError, match="What was finished is kept"):
        run(asyncio.wait_for(stage(work), timeout=LONG))
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_call_that_is_paid_for_comes_back_after_the_signal_and_none_is_begun() -> None:
    calls = PaidCalls()

    async def interrupt_when_both_are_under_way() -> None:
        await until(lambda: calls.begun == 2)
        interrupt()

    async def users() -> None:
        await asyncio.gather(calls.user(), calls.user(), interrupt_when_both_are_under_way())

    with pytest.raises(dg.DagsterExecutionInterruptedError):
        run(asyncio.wait_for(stage(users), timeout=LONG))
    assert calls.came_back == ["paid", "paid"]


def test_a_second_signal_waits_for_no_call() -> None:
    calls = PaidCalls(seconds=LONG / 2)

    async def interrupt_twice() -> None:
        await until(lambda: calls.begun)
        interrupt()
        await until(lambda: calls.given_up)
        interrupt()

    async def twice_interrupted() -> None:
        interrupting = asyncio.create_task(interrupt_twice())
        async with stop_with_run(seconds=LONG):
            await calls.user()
        await interrupting

    with pytest.raises(dg.DagsterExecutionInterruptedError):
        run(twice_interrupted())
    assert calls.came_back == []


def test_a_signal_that_a_task_met_before_the_stage_began_stops_it_with_the_same_sentence() -> None:
    async def met_it() -> None:
        raise dg.DagsterExecutionInterruptedError

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(met_it())

    with pytest.raises(dg.DagsterExecutionInterruptedError, match="The run was stopped"):
        run(stage(work))


def test_a_cancellation_without_a_signal_stays_one() -> None:
    async def cancelled() -> None:
        task = asyncio.create_task(stage(nothing_to_come))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        run(cancelled())


def test_outside_the_main_thread_it_does_nothing() -> None:
    async def in_a_thread() -> str:
        async def work() -> None: ...

        await asyncio.to_thread(asyncio.run, stage(work))
        return "done"

    assert run(in_a_thread()) == "done"
