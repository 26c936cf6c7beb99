"""Progress of a running stage: a line now and then, whatever the stage waits for."""

import threading
from collections import Counter
from dataclasses import replace

from assets.engine.ports import StageProgress
from assets.engine.progress import ProgressLog, Steps, heartbeat, progress_line
from assets.llm.usage import Meter, Usage
from assets.records.base import Failure
from tests.support.waiting import LONG

GIVEN_UP = Failure(item_id="u7", position=7, stage="answers", reason="refused", message="No.", last_reply="")
PROGRESS = StageProgress(
    stage="answers",
    unit="base",
    done=5,
    total=20,
    given_up=(GIVEN_UP,),
    calls=300,
    repeated=100,
    seconds=10.0,
    noun="user",
    rate=30.0,
)
NOBODY = replace(PROGRESS, done=0, given_up=(), repeated=0, calls=0, seconds=0.0, rate=None)


def test_the_line_of_a_stage_tells_users_calls_and_failures() -> None:
    assert progress_line(PROGRESS) == "answers of base: 5 of 20 users, 300 calls (100 from the cache, 30/s), 1 given up"
    assert progress_line(NOBODY) == "answers of base: 0 of 20 users, 0 calls (0 from the cache)"
    assert progress_line(replace(NOBODY, stage="personas", done=20)) == "personas of base: 20 of 20 users"
    with_reserve = replace(NOBODY, stage="personas", done=20, reserve=2)
    assert progress_line(with_reserve) == "personas of base: 20 of 20 users, 2 of them in reserve"


def watched(*, expected: float = 0.0, **users: int) -> ProgressLog:
    meter = Meter(waiting=3, items=Counter(users))
    meter.add(Usage(calls=300), cost_usd=1.25)
    return ProgressLog(meter, first_line="answers of base: beginning", expected=expected)


def test_a_watched_stage_tells_cost_replies_awaited_and_the_time_left_by_the_calls_of_users_who_are_done() -> None:
    watch = watched(a=30, b=30, c=20, d=1)
    watch.update(replace(PROGRESS, done=2, given_up=()))
    assert watch.line() == (
        "answers of base: 2 of 20 users, 300 calls (100 from the cache, 30/s), "
        "3 replies awaited, $1.2500 so far, about 15 s left"
    )


def test_calls_that_were_made_before_a_stage_began_are_no_part_of_its_rate() -> None:
    watch = watched(a=30)
    watch.update(replace(PROGRESS, done=0, calls=8000, seconds=0.1))
    assert "/s" not in watch.line()
    watch.update(replace(PROGRESS, done=0, calls=8030, seconds=10.1))
    assert "8,030 calls (100 from the cache, 3.0/s)" in watch.line()


def test_before_the_first_user_is_done_the_time_left_follows_from_the_calls_expected() -> None:
    watch = watched(expected=60.0, a=300)
    watch.update(replace(PROGRESS, done=0, given_up=()))
    assert watch.line().endswith("about 45 s left")


def test_where_users_take_more_calls_than_expected_the_time_left_grows_with_what_is_beyond() -> None:
    watch = watched(expected=10.0, a=300)
    watch.update(replace(PROGRESS, done=0, given_up=(), seconds=200.0))
    assert watch.line().endswith("about 2 min left")
    nearly = watched(expected=15.0, a=300)
    nearly.update(replace(PROGRESS, done=0, given_up=(), seconds=200.0))
    assert nearly.line().endswith("about 3 s left")


def test_no_time_is_promised_where_nothing_is_known_or_nothing_moves() -> None:
    unknown, standing = watched(a=300), watched(expected=60.0)
    unknown.update(replace(PROGRESS, done=0))
    standing.update(replace(PROGRESS, done=0, seconds=1.0))
    standing.update(replace(PROGRESS, done=0, seconds=90.0))
    standing.update(replace(PROGRESS, done=0, seconds=125.0))
    assert "left" not in unknown.line()
    assert "0.0/s" in standing.line()
    assert "left" not in standing.line()


def test_where_steps_are_alike_the_time_left_follows_from_how_many_are_left_whatever_items_took() -> None:
    meter = Meter(waiting=3, items=Counter(a=200))
    watch = ProgressLog(meter, first_line="", expected=60.0, alike=True)
    watch.update(replace(PROGRESS, done=10, given_up=()))
    assert watch.line().endswith("about 30 s left")


def test_a_watch_says_what_is_beginning_and_that_a_cost_is_unknown() -> None:
    watch, meter = watched(), Meter()
    assert watch.line() == "answers of base: beginning"
    meter.add(Usage(calls=1), cost_usd=None)
    watch = ProgressLog(meter, first_line="")
    watch.update(NOBODY)
    assert "cost unknown" in watch.line()


def test_the_heart_beats_while_nothing_else_happens_and_stops_with_the_work() -> None:
    written, twice = list[str](), threading.Event()

    def write(line: str) -> None:
        written.append(line)
        if len(written) == 2:
            twice.set()

    with heartbeat(write, lambda: "still here", every=0.01):
        assert twice.wait(LONG)
    beats = len(written)
    assert threading.active_count() == 1 or "heartbeat" not in {thread.name for thread in threading.enumerate()}
    assert written == ["still here"] * beats


def test_steps_tell_how_long_they_take() -> None:
    seconds = iter([0.0, 3.0, 120.0, 180.0])
    told = list[tuple[str, bool]]()

    def tell(sentence: str, finished: bool) -> None:
        told.append((sentence, finished))

    steps = Steps("The report", tell=tell, clock=lambda: next(seconds))
    assert steps.line() == "The report: beginning, 3 s so far"
    steps.begin("drawing")
    assert steps.line() == "The report: drawing, 2 min so far"
    steps.end("3 users")
    assert told == [("The report: drawing", False), ("The report 3 users, 3 min", True)]
