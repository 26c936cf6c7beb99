"""Settings behind a memory's name: one value, a sweep over several, and what is refused before anything is asked."""

import re
from pathlib import Path

import pytest

from pipelines.errors import EvaluationError
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.hosting.confinement import Confinement, host_memory
from pipelines.memories.listed import LISTED_MEMORIES, check_listed
from pipelines.memories.others.code_thread import settings_problem
from pipelines.memories.registry import find_memory
from pipelines.memories.settings import is_on, swept_memories
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.evaluation.test_memories import recalled_anew, tools
from tests.support.commands import amemgym_here

MINE = """
class Newest:
    def __init__(self, *, topk=1, joined=" "):
        self.topk = topk
        self.joined = joined
        self.lines = []

    def write(self, events):
        self.lines += [event.line for event in events]

    def recall(self, query, *, tokens):
        return [self.joined.join(self.lines[-self.topk:])]
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    """A class in a file."""
    path = tmp_path / "mine.py"
    path.write_text(MINE, encoding="utf-8")
    return f"{path}:Newest"


def test_settings_behind_a_class_are_read_and_stand_in_its_name_in_one_order(mine: str) -> None:
    spec = find_memory(f"{mine}?topk=5&joined=%2C")

    assert spec.settings == {"topk": 5, "joined": ","}
    assert spec.name == "Newest?joined=,&topk=5"
    assert spec == find_memory(f"{mine}?joined=%2C&topk=5")


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), ("0.5", 0.5), ("true", True), ("null", None), ("NaN", "NaN"), ("__import__('os')", "__import__('os')")],
)
def test_a_value_is_a_number_or_a_truth_value_or_else_text_as_it_stands(text: str, value: object) -> None:
    assert find_memory(f"bm25?topk={text}").settings == {"topk": value}


def test_a_sweep_is_a_memory_for_each_combination_with_an_id_of_its_own(mine: str, tmp_path: Path) -> None:
    sources = swept_memories(f"{mine}?topk=5,10,20&joined=-,%2C")
    works = [run_of(tmp_path, HonestModel(), spec=find_memory(source)) for source in sources]

    assert sources[:2] == [f"{mine}?topk=5&joined=-", f"{mine}?topk=5&joined=%2C"]
    assert len({work.manifest.run_id for work in works}) == 6
    assert len({work.manifest.memory.name for work in works}) == 6


def test_a_setting_decides_what_is_recalled_in_the_run(mine: str, tmp_path: Path) -> None:
    recalled = dict[int, int]()
    for topk in (1, 400):
        spec = find_memory(f"{mine}?topk={topk}")
        work = run_of(tmp_path, HonestModel(), data=tasks("ada"), spec=spec, conditions=(), baselines=False)
        recalled[topk] = max(len(" ".join(row.memories)) for row in finish(work).answers)

    assert recalled[400] > 3 * recalled[1]


def test_the_command_evaluates_a_sweep_side_by_side_and_a_check_takes_one_value(
    demo_home: Path,
) -> None:
    sweep = "window-2k?events=2,400"
    status, board = amemgym_here(demo_home, "evaluate", "demo", "--users", "1", "--memory", sweep, "--conditions", "")
    assert status == 0, board
    assert "window-2k?events=2 " in board
    assert "window-2k?events=400 " in board

    status, refused = amemgym_here(demo_home, "memory", "check", "bm25?topk=5,10")
    assert status == 1
    assert "The setting 'topk' of bm25 has 2 values, and one memory takes one" in " ".join(refused.split())


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("bm25?topk=5&topk=6", "cannot be read; give each once as NAME=VALUE"),
        ("bm25?topk", "cannot be read; give each once as NAME=VALUE"),
        ("mine.py:Mine?topk&freq=2", "cannot be read; give each once as NAME=VALUE"),
        ("mine.py:Mine?python=", "The setting python of memory 'Mine' is empty; give the interpreter"),
        ("bm25?topk=5&7", "cannot be read; give each once as NAME=VALUE"),
        ("bm25?speed=3", "bm25 has no setting 'speed'; its settings are: topk, model"),
        ("bm25?api_key=w4lrus", "holds the value of 'api_key', which would be written into the run's files"),
        ("bm25?name=" + "x" * 200, "have 100 letters at most"),
    ],
)
def test_settings_that_cannot_be_used_are_one_sentence(source: str, words: str) -> None:
    with pytest.raises(EvaluationError, match=words) as caught:
        host_memory(find_memory(source), tools(HonestModel()))
    assert "w4lrus" not in str(caught.value)


def test_the_tools_that_the_runner_gives_are_no_setting() -> None:
    class Asking:
        def __init__(self, tools: object, *, topk: int = 5, **more: object) -> None: ...

    assert settings_problem(Asking, {"tools": 5}) == "Asking has no setting 'tools'; its settings are: topk, more."


@pytest.mark.parametrize("in_process", [True, False])
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("topk=x", "The setting 'topk' of Newest is 'x', and has to be a whole number."),
        ("tpk=5", "Newest has no setting 'tpk'; its settings are: topk, joined."),
    ],
)
def test_a_setting_that_a_class_of_others_cannot_take_is_one_sentence(
    mine: str, settings: str, told: str, in_process: bool
) -> None:
    with pytest.raises((EvaluationError, MemoryFailed), match=re.escape(told)):
        recalled_anew(f"{mine}?{settings}", given=Confinement(in_process))


def test_the_place_of_a_service_is_not_changed_behind_its_file(tmp_path: Path) -> None:
    path = tmp_path / "walrus.yaml"
    path.write_text("kind: http\nsettings: {address: 'http://127.0.0.1:9'}\n", encoding="utf-8")

    assert find_memory(f"{path}?seconds=3").settings["seconds"] == 3
    with pytest.raises(EvaluationError, match="give it in the memory's file"):
        find_memory(f"{path}?address=http://host")
    with pytest.raises(EvaluationError, match="holds the value of 'address'") as caught:
        find_memory(f"{path}?address=http://otter:narwhal@host")
    assert "narwhal" not in str(caught.value)
    assert find_memory("http://host/x?topk=5,10").settings == {"address": "http://host/x"}


def test_a_sweep_of_too_many_memories_is_refused() -> None:
    values = ",".join(map(str, range(11)))
    with pytest.raises(EvaluationError, match="more than 100 memories"):
        swept_memories(f"bm25?topk={values}&freq={values}")


def test_dagster_takes_settings_of_our_memories_and_of_code_only_where_they_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    check_listed("bm25?topk=5")
    for source in ("mine.py:Newest?topk=5", "mine.yaml?topk=5", "not-ours?api_url=$HOME"):
        with pytest.raises(
            EvaluationError, match=f"which Dagster evaluates only where {LISTED_MEMORIES} lists it word for word"
        ):
            check_listed(source)
        monkeypatch.setenv(LISTED_MEMORIES, source)
        check_listed(source)


@pytest.mark.parametrize(("word", "expected"), [("true", True), ("on", True), ("no", False), (None, False)])
def test_a_switch_of_a_memory_is_on_or_off(word: str | None, expected: bool) -> None:
    assert is_on(word, name="network") is expected


def test_a_switch_that_is_neither_on_nor_off_is_refused() -> None:
    with pytest.raises(EvaluationError, match="is true or false, not 'maybe'"):
        is_on("maybe", name="network")
