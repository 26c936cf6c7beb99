"""Everything that can go wrong from outside, one cell at a time: make test-faults CELLS="error_500 or drops"."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.embedded.app import embedded_app
from tests.faults.runs import Row, digest, end, row, start
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.fault_proxy import KINDS, OTHER_WORDS, OWN, FaultProxy

Note = Callable[[Row], None]
# By name: the share of tries (of requests, where the fault is the request's own) and for how many seconds; 0: always.
SHARES = {"5 %": (0.05, 0.0), "half a percent": (0.005, 0.0), "100 % for a minute": (1.0, 60.0)}
SURROUNDINGS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "one at a time": ({}, ("--concurrency", "1")),
    "hash seed 0": ({"PYTHONHASHSEED": "0"}, ()),
    "hash seed 1": ({"PYTHONHASHSEED": "1"}, ()),
    "Pacific time": ({"TZ": "Pacific/Kiritimati"}, ()),
    "Turkish": ({"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}, ()),
    "plain locale": ({"LC_ALL": "C"}, ()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", SHARES)
def test_fault(tmp_path: Path, note: Note, undisturbed: str, kind: str, share: str) -> None:
    rate, seconds = SHARES[share]
    if share == "half a percent" and kind not in OWN:
        pytest.skip("strikes too few tries to tell anything; 5 % does")
    proxy = FaultProxy(embedded_app(), kind, rate=rate, seconds=seconds, seed=19)
    with on_a_port(proxy) as url:
        runs = [end(start(tmp_path, url))]
        if seconds and runs[-1].status != 0:
            time.sleep(proxy.seconds_left)
            proxy.next_run()
            runs.append(end(start(tmp_path, url)))  # the same command goes on
    note(row(f"{kind}, {share}", tmp_path, proxy, *runs))
    if kind not in OWN or seconds:  # a fault that stays may meet every user
        assert runs[-1].status == 0, runs[-1].output
    if kind not in OWN and kind not in OTHER_WORDS:
        assert digest(tmp_path) == undisturbed


def test_two_first_runs_on_a_new_home(tmp_path: Path, note: Note, undisturbed: str) -> None:
    proxy = FaultProxy(embedded_app(), rate=0.0)
    with on_a_port(proxy) as url:
        both = [end(process) for process in [start(tmp_path, url) for _ in range(2)]]
    for number, one in enumerate(both):
        note(row(f"first run {number + 1} of 2", tmp_path, proxy, one))
    assert [one.status for one in both] == [0, 0], [one.output for one in both]
    assert digest(tmp_path) == undisturbed


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_surroundings(tmp_path: Path, note: Note, undisturbed: str, name: str) -> None:
    environment, words = SURROUNDINGS[name]
    proxy = FaultProxy(embedded_app(), rate=0.0)
    with on_a_port(proxy) as url:
        ended = end(start(tmp_path, url, *words, **environment))
    note(row(name, tmp_path, proxy, ended))
    assert digest(tmp_path) == undisturbed
