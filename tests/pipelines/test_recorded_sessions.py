"""Recorded sessions of agents: every form is read into the same steps, and a replay shows what a memory has when."""

import asyncio
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import EvaluationError
from pipelines.memories.contract import MemoryEvent
from pipelines.memories.hosting.hosted import MemoryHost
from pipelines.memories.tools import MemoryTools
from pipelines.recorded_sessions.replay import Replay, ReplaySettings, replay, replay_figures
from pipelines.recorded_sessions.sessions import RecordedSession, RecordedStep, read_sessions, sessions_sentence
from tests.support.commands import amemgym_here

ASKED, ORDER, SHIPPED = "Where is my order?", '{"order": "ORD-7512"}', "It has left."
TIME = "2026-03-01T10:00:00"
STEPS = [("user", ASKED, "", ""), ("call", "on its way", "find_order", ORDER), ("assistant", SHIPPED, "", "")]
FUNCTION = {"name": "find_order", "arguments": ORDER}
OPENAI = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}]},
    {"role": "tool", "tool_call_id": "c1", "content": "on its way"},
    {"role": "assistant", "content": SHIPPED},
]
WITH_RESULTS = [
    {"role": "user", "content": ASKED},
    {
        "role": "assistant",
        "content": SHIPPED,
        "tool_calls": [{"name": "find_order", "arguments": {"order": "ORD-7512"}, "result": "on its way"}],
    },
]
CALLED = {"role": "assistant", "content": "", "toolCalls": [{"id": "c1", "name": "find_order", "arguments": json.loads(ORDER)}]}
TRACE = [
    {"type": "session", "harness": "mine", "id": "s1"},
    {"type": "message", "message": {"role": "user", "content": ASKED, "timestamp": TIME}},
    {"type": "message", "message": CALLED},
    {"type": "message", "message": {"role": "tool", "toolCallId": "c1", "content": [{"type": "text", "text": "on its way"}]}},
    {"type": "message", "message": {"role": "assistant", "content": SHIPPED}},
]
USED = {"type": "tool_use", "id": "c1", "name": "find_order", "input": {"order": "ORD-7512"}}
GIVEN = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "on its way"}]}
CLAUDE_CODE = [
    {"type": "summary", "summary": "An order"},
    {"type": "user", "timestamp": TIME, "message": {"role": "user", "content": ASKED}},
    {"type": "assistant", "message": {"role": "assistant", "content": [USED]}},
    {"type": "user", "message": {"role": "user", "content": [GIVEN]}},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": SHIPPED}]}},
]


def lines(values: Sequence[object]) -> bytes:
    return "\n".join(map(json.dumps, values)).encode()


FILES = {
    "rows.jsonl": lines([{"session_id": "s1", "messages": OPENAI}]),
    "results.jsonl": lines([{"task": "s1", "conversation": WITH_RESULTS}]),
    "packed.jsonl.gz": gzip.compress(lines([{"id": "s1", "messages": OPENAI}])),
    "twice-packed.jsonl.gz": gzip.compress(b"\n") + gzip.compress(lines([{"id": "s1", "messages": OPENAI}])),
    "chat.json": json.dumps(OPENAI).encode(),
    "trace.jsonl": lines(TRACE),
    "claude.jsonl": lines(CLAUDE_CODE),
    "history.jsonl": lines([{"instance_id": "s1", "history": OPENAI}]),
}


@pytest.mark.parametrize("name", FILES)
def test_every_form_gives_the_same_steps(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])

    (session,) = read_sessions(path)

    assert [(step.kind, step.text, step.tool, step.arguments) for step in session.steps] == STEPS


def test_a_folder_is_read_whole_and_equal_names_are_told_apart(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)

    names = [session.name for session in read_sessions(tmp_path)]

    assert len(names) == len(FILES)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "There is no recorded session"),
        (b"{", "line 1 is no JSON"),
        (b"[1]", "its item 1 is no JSON object"),
        (lines([{"messages": [{"role": "clerk", "content": "hi"}]}]), "has the role 'clerk'"),
        (lines([{"messages": [{"content": "hi"}]}]), r"message 1 of .* is none \(role has to be given\)"),
        (lines([{"messages": OPENAI}, {"other": 1}]), "has none of conversation, messages"),
        (lines([{"messages": [1]}]), "is no JSON object"),
        (b"[" * 5000, "nested"),
        (gzip.compress(lines([{"messages": OPENAI}]))[:-9], "is packed by gzip, and damaged"),
        (b"\x1f\x8bnothing", "is packed by gzip, and damaged"),
    ],
)
def test_what_is_no_session_is_refused_in_a_sentence(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "sessions.jsonl"
    path.write_bytes(content)

    with pytest.raises(EvaluationError, match=reason):
        read_sessions(path)


def test_a_result_whose_call_was_not_recorded_is_a_step_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(lines([{"messages": [OPENAI[1], OPENAI[3]]}]))

    (session,) = read_sessions(path)

    assert session.steps[1] == RecordedStep("call", "on its way")


def test_an_outcome_is_that_of_the_recorded_agent_and_none_is_no_score(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(lines([{"messages": OPENAI, "resolved": True}, {"messages": OPENAI, "resolved": False}]))

    assert "of 2 is 0.500 on average: that of the recorded agent" in sessions_sentence(read_sessions(path))
    assert "nothing here is a score" in sessions_sentence([RecordedSession("s", (RecordedStep("user", "hi"),))])


class Keeps:
    """Gives back all that it was given, the oldest first."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, events: Sequence[MemoryEvent]) -> None:
        self.texts += [event.text for event in events]

    def recall(self, query: str, *, tokens: int) -> list[str]:
        return self.texts


class Breaks(Keeps):
    def recall(self, query: str, *, tokens: int) -> list[str]:
        raise RuntimeError("full")


def host(kind: type[Keeps]) -> MemoryHost:
    nobody: Any = None  # no model is asked
    tools = MemoryTools(nobody, nobody, "", "", 0)
    return MemoryHost.in_thread(kind.__name__, lambda _: kind(), tools)


def replayed(sessions: Sequence[RecordedSession], kind: type[Keeps], settings: ReplaySettings) -> Replay:
    return asyncio.run(replay(sessions, lambda: host(kind), settings))


LONG = " ".join(["weather"] * 40)
SESSION = RecordedSession(
    "s1",
    (
        RecordedStep("user", "My order is ORD-7512."),
        RecordedStep("call", LONG, "find_order", '{"order": "ORD-7512", "limit": 12}'),
        RecordedStep("user", "Cancel it, and send a note to Ada Quill."),
        RecordedStep("call", "done", "cancel", '{"order": "ORD-7512", "note_to": "Ada Quill"}'),
        RecordedStep("assistant", "Cancelled."),
    ),
)


def test_a_memory_is_asked_once_something_left_the_window_and_only_values_out_of_sight_count() -> None:
    result = replayed([SESSION], Keeps, ReplaySettings(window=30, tokens=1000))

    cancel, said = result.rows
    assert cancel.step == 3
    assert cancel.tool == "cancel"
    assert cancel.values == ("ORD-7512",)
    assert cancel.recalled_values == ("ORD-7512",)
    assert cancel.query == "Cancel it, and send a note to Ada Quill."
    assert (said.step, said.tool, said.values) == (4, "", ())
    assert replay_figures(result, [SESSION]).decisions == 3


def test_what_is_in_sight_is_no_work_of_a_memory() -> None:
    assert not replayed([SESSION], Keeps, ReplaySettings(window=10_000)).rows


def test_what_a_memory_gives_is_cut_to_its_budget_and_the_value_may_be_lost() -> None:
    result = replayed([SESSION], Keeps, ReplaySettings(window=30, tokens=2))

    assert [row.cut for row in result.rows] == [True, True]
    assert result.rows[0].recalled_values == ()


def test_a_chained_memory_knows_the_earlier_sessions_and_others_do_not() -> None:
    later = RecordedSession(
        "s2", (RecordedStep("user", "And again?"), RecordedStep("call", "", "cancel", '{"order": "ORD-7512"}'))
    )

    chained = replayed([SESSION, later], Keeps, ReplaySettings(window=10_000, chained=True))
    apart = replayed([SESSION, later], Keeps, ReplaySettings(window=10_000))

    assert [(row.session, row.recalled_values) for row in chained.rows] == [("s2", ("ORD-7512",))]
    assert not apart.rows


def test_a_memory_that_fails_loses_its_session_and_says_why() -> None:
    result = replayed([SESSION], Breaks, ReplaySettings(window=30))

    assert not result.rows
    assert "failed in 'recall': RuntimeError: full" in result.failed["s1"]


def test_the_command_replays_a_file_with_several_memories_and_keeps_what_was_recalled(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(lines([{"messages": OPENAI * 5}]))
    words = ("--memory", "bm25", "--memory", "none", "--window", "10", "--out", str(tmp_path / "recalls.parquet"), "--json")

    status, output = amemgym_here(tmp_path / "home", "memory", "replay", str(path), *words)

    assert status == 0, output
    figures = json.loads(output[output.index("{") :])["memories"]
    assert [(one["memory"], one["gave"]["value"]) for one in figures] == [("bm25", 1.0), ("none", 0.0)]
    assert (tmp_path / "recalls.parquet").stat().st_size
