"""Isolated scores: what goes into the recall slot in each condition, and what the differences come to."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pipelines.evaluation.isolated import ReasonerWithMemory, contents_of
from pipelines.evaluation.metrics.isolated_scores import MemoryRow, isolated_scores
from pipelines.evaluation.reasoning import ReadableTask, Reasoner, ask
from pipelines.memories.contract import MemoryEvent, Task
from pipelines.memories.hosting.confinement import host_memory
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel
from tests.evaluation.test_memories import memory_of, tools
from tests.support.coroutines import run

BAD_MEMORIES = Path(__file__).with_name("bad_memories.py")
TASK = Task(text="Which tea do I drink? Answer in one word.", query="Which tea do I drink?")


def test_each_condition_fills_the_recall_slot_alone() -> None:
    contents = contents_of(facts=["e f g"], everything=["h i j k l"], tokens=2)

    assert contents == {"none": (), "facts": ["e f"], "everything": ["h i j k l"]}


def test_the_reasoner_reads_what_was_recalled_then_the_window_then_the_task() -> None:
    model, memory = HonestModel({"chat": "green"}), memory_of("full-history")
    run(memory.write([MemoryEvent("I drink green tea.", "user")]))

    asked = ReasonerWithMemory(Reasoner(model, "test-model", seed=7), memory)
    assert run(asked.answer(run(asked.recall(TASK.query, tokens=100)), TASK)) == "green"
    head, last = model.requests[-1].messages
    assert "user: I drink green tea." in head.content
    assert last.content == TASK.text


def test_a_memory_of_others_is_not_asked_before_its_first_write() -> None:
    async def recalled() -> Sequence[str]:
        host = host_memory(find_memory(f"{BAD_MEMORIES}:CrashesInRecall"), tools(HonestModel()))
        asked = ReasonerWithMemory(Reasoner(HonestModel(), "test-model", seed=7), await host.new_memory())
        try:
            return await asked.recall(TASK.query, tokens=100)
        finally:
            await host.close()

    assert run(recalled()) == []


@pytest.mark.parametrize("later_holds", [False, True])
def test_the_reasoner_is_told_that_the_later_entry_holds_only_where_the_run_says_so(later_holds: bool) -> None:
    model = HonestModel({"chat": "green"})
    run(Reasoner(model, "test-model", seed=7, later_holds=later_holds).answer(["red", "green"], TASK))
    assert ("the later one holds" in model.requests[-1].messages[0].content) is later_holds


def test_an_answer_that_cannot_be_read_is_asked_for_once_more_and_then_unread() -> None:
    def read(reply: str) -> int:
        raise ValueError("It must be a number.")

    asked: list[str] = []

    async def give(task: Task) -> str:
        asked.append(task.text)
        return "green"

    answer = run(ask(ReadableTask(TASK, read), give))

    assert (answer.value, answer.tries, answer.problem) == (None, 2, "It must be a number.")
    assert asked[0] == TASK.text
    assert "It must be a number." in asked[1]


def row(cluster: str, **right: bool | None) -> MemoryRow:
    return MemoryRow(
        cluster=cluster,
        item="q",
        turn=0,
        query="?",
        written=1,
        budget=100,
        recalled=(),
        recalled_tokens=0,
        right_with_memory=bool(right["S"]),
        right_with_none=right["N"],
        right_with_facts=right["O"],
        right_with_everything=right["F"],
    )


def test_the_gain_is_the_difference_to_none_and_its_share_that_of_the_needed_facts() -> None:
    rows = [row("ada", S=True, N=False, O=True, F=True), row("ada", S=False, N=False, O=True, F=False)]
    rows += [row("ben", S=True, N=True, O=True, F=True), row("ben", S=False, N=False, O=False, F=False)]
    scores = isolated_scores(rows)

    assert scores is not None
    assert scores.items == 4
    assert scores.memory.value == 0.5
    assert scores.none.value == 0.25
    assert scores.facts.value == 0.75
    assert (scores.gain.value, scores.gain_share.value) == (0.25, 0.5)
    assert scores.gain.low is None, "two users have no interval"


def test_where_the_facts_bring_nothing_there_is_no_share_and_rows_without_all_conditions_do_not_count() -> None:
    same = row("ada", S=True, N=True, O=True, F=True)
    scores = isolated_scores([same, row("ada", S=False, N=None, O=None, F=None)])

    assert scores is not None
    assert (scores.items, scores.gain_share.value) == (1, None)
    assert isolated_scores([row("ada", S=True, N=None, O=None, F=None)]) is None


def test_every_column_of_a_memory_row_says_what_it_holds() -> None:
    assert all(field.description for field in MemoryRow.model_fields.values())
