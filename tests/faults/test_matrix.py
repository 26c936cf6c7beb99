"""Everything that can go wrong from outside, one cell at a time: make test-faults CELLS="error_500 or drops"."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from assets.engine.ports import SnapshotRef
from assets.llm.ports import EndpointError
from pipelines.embedded.app import embedded_app
from tests.faults.runs import Row, digest, end, row, start, stored_texts
from tests.pipelines.llm.batched import chain
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.fault_kinds import ENDING, KINDS, OWN, WORDS
from tests.support.fault_proxy import FaultProxy

Note = Callable[[Row], None]
# By name: the share of tries (of requests, where the fault is the request's own) and for how many seconds; 0: always.
A_WHILE = {"100 % for 20 seconds": (1.0, 20.0)}
# A rare fault tells something where it is the request's own alone: each user whose request it strikes is lost.
OWN_SHARES = {"5 %": (0.05, 0.0), "half a percent": (0.005, 0.0), **A_WHILE}
CELLS = [(kind, share) for kind in KINDS for share in (OWN_SHARES if kind in OWN else A_WHILE)]
SURROUNDINGS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "one at a time": ({}, ("--concurrency", "1")),
    "hash seed 0": ({"PYTHONHASHSEED": "0"}, ()),
    "hash seed 1": ({"PYTHONHASHSEED": "1"}, ()),
    "Pacific time": ({"TZ": "Pacific/Kiritimati"}, ()),
    "Turkish": ({"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}, ()),
    "plain locale": ({"LC_ALL": "C"}, ()),
}


def make_chain(url: str, folder: Path) -> dict[str, SnapshotRef]:
    """The stages of two users in this process: seconds, where the demo takes a minute."""
    return chain(url, folder, transport="live", timeout_seconds=5.0, backoff_seconds=0.05)


@pytest.fixture(scope="module")
def undisturbed_chain(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, SnapshotRef], Path]:
    folder = tmp_path_factory.mktemp("chain")
    with on_a_port(embedded_app()) as url:
        return make_chain(url, folder), folder


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in OWN])
def test_chain(tmp_path: Path, note: Note, undisturbed_chain: tuple[dict[str, SnapshotRef], Path], kind: str) -> None:
    """Every fifth try is spoiled."""
    proxy = FaultProxy(embedded_app(), kind, rate=0.2, seed=19)
    whole, folder = undisturbed_chain
    ending = "made"
    began = time.monotonic()
    with on_a_port(proxy) as url:
        if kind in ENDING:
            with pytest.raises(EndpointError) as told:
                make_chain(url, tmp_path)
            ending = f"{told.value}; run again: made"
            proxy.rate = 0.0
        made = make_chain(url, tmp_path)
    seconds = round(time.monotonic() - began)
    lost = min(ref.items for ref in whole.values()) - min(ref.items for ref in made.values())
    wrong = "" if kind in WORDS else (stored_texts(tmp_path) - stored_texts(folder)).total()
    struck = proxy.counts["spoiled"]
    cell = f"{kind}, 20 % of a chain"
    note(Row(cell, lost=lost, struck=struck, repeated=proxy.repeated, wrong=wrong, seconds=seconds, ending=ending))
    assert lost == 0
    assert struck > 0
    # A reference says what its calls used, too, about which some kinds lie.
    digests = [[ref.digest for ref in refs.values()] for refs in (made, whole)]
    assert kind in WORDS or (wrong, digests[0]) == (0, digests[1])


@pytest.mark.parametrize(("kind", "share"), CELLS)
def test_fault(tmp_path: Path, note: Note, undisturbed_home: Callable[[str], Path], kind: str, share: str) -> None:
    rate, seconds = OWN_SHARES[share]
    shape = "demo" if kind in OWN else "small"
    undisturbed = undisturbed_home(shape)
    proxy = FaultProxy(embedded_app(), kind, rate=rate, seconds=seconds, seed=19)
    with on_a_port(proxy) as url:
        runs = [end(start(tmp_path, url, shape=shape))]
        if (seconds or kind in ENDING) and runs[-1].status != 0:
            time.sleep(proxy.seconds_left)
            proxy.rate = 0.0
            proxy.next_run()
            runs.append(end(start(tmp_path, url, shape=shape)))  # the same command goes on
    shown = row(f"{kind}, {share}", tmp_path, proxy, *runs, shape=shape)
    if kind not in OWN and kind not in WORDS:
        shown = replace(shown, wrong=(stored_texts(tmp_path) - stored_texts(undisturbed)).total())
    note(shown)
    if kind not in OWN or seconds:  # a fault that stays may meet every user
        assert runs[-1].status == 0, runs[-1].output
    if kind not in OWN and kind not in WORDS:
        assert (shown.wrong, digest(tmp_path)) == (0, digest(undisturbed))


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
