"""Sessions of releases and runs as traces, in the words that the Hub's page of the form wants, read back by `memory replay`."""

import json
from pathlib import Path
from typing import Any

import pytest

from assets.worlds.tools import Call
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.tool_dialogues import ToolItem
from pipelines.export.formats import RunExport, release_writer, run_writer
from pipelines.recorded_sessions.sessions import RecordedSession, read_sessions
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.evaluation.test_acted_tasks import tasks as tool_tasks
from tests.evaluation.test_document_tasks import documents
from tests.support.embedded_model import EmbeddedModel

ROLES = {"system", "user", "assistant", "tool"}


def read(folder: Path) -> list[RecordedSession]:
    """The sessions, after a look at every line: what the form wants is there, and every result answers a call."""
    for path in folder.iterdir():
        lines: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        header, *messages = lines
        assert header["type"] == "session"
        assert header["harness"]
        assert header["id"]
        calls: list[str] = []
        for line in messages:
            message = line["message"]
            assert (line["type"], message["role"] in ROLES, isinstance(message["content"], str)) == ("message", True, True)
            assert isinstance(message.get("timestamp", 0), int)
            for call in message.get("toolCalls", []):
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
                calls.append(call["id"])
            if message["role"] == "tool":
                assert message["toolCallId"] == calls.pop()
        assert not calls
    return read_sessions(folder)


def test_a_users_messages_are_a_session_with_their_times(tmp_path: Path) -> None:
    data = tasks("ada", "ben")
    release_writer("traces")(data, tmp_path)
    sessions = read(tmp_path)
    assert [session.name for session in sessions] == ["ada", "ben"]
    said = [session for period in data.dataset.episodes[0].periods for session in period.sessions]
    assert [step.text for step in sessions[0].steps] == [session.query for session in said]
    times = [step.at.replace(tzinfo=None) for step in sessions[0].steps if step.at]
    assert times == [session.session_time for session in said]


def test_documents_come_before_their_question_and_its_answer_last(tmp_path: Path) -> None:
    data = documents()
    release_writer("traces")(data, tmp_path)
    [session] = read(tmp_path)
    [item] = data.documents
    *told, asked, answered = session.steps
    assert [step.text for step in told] == [event.text for event in item.events]
    assert (asked.text, answered.text, answered.kind) == (item.task.full_question, item.task.answer.value, "assistant")


def test_a_tool_dialogue_has_the_calls_of_its_sessions_and_ends_with_its_right_calls(tmp_path: Path) -> None:
    data = tool_tasks()
    release_writer("traces")(data, tmp_path)
    [session] = read(tmp_path)
    [item] = data.documents
    assert isinstance(item, ToolItem)
    calls = [step for step in session.steps if step.kind == "call"]
    right = len(item.task.calls)
    assert [step.tool for step in calls[-right:]] == [call.tool for call in item.task.calls]
    assert all(step.text for step in calls)
    assert session.outcome == 1.0, "the grade of the calls, not a claim"
    told = "\n".join(event.text for event in item.events)
    earlier = calls[:-right]
    assert len(earlier) == told.count("\n>>> ") > len(item.events)
    for step in earlier:
        call = Call(tool=step.tool, arguments=json.loads(step.arguments))
        assert f"{call.text}\n{step.text}" in told
    assert not any("file_terms(" in step.text for step in session.steps), "no call is left among the words"


def test_a_run_gives_its_dialogues_and_each_answer_with_what_was_recalled(tmp_path: Path) -> None:
    work = run_of(tmp_path / "run", HonestModel(), conditions=())
    finished = finish(work)
    run_writer("traces")(RunExport(finished, tmp_path / "traces", work.folder.made_at))
    sessions = read(tmp_path / "traces")
    dialogues = [session for session in sessions if session.outcome is None]
    said = [text for turn in finished.turns for text in (turn.message, turn.reply)]
    assert [step.text for session in dialogues for step in session.steps] == said
    answers = [session for session in sessions if session.outcome is not None]
    rows = [row for row in finished.answers if row.kind == "question"]
    assert [session.outcome for session in answers] == [float(row.status == "right") for row in rows]
    assert all(row.memories[0] in session.instructions for session, row in zip(answers, rows, strict=True) if row.memories)


def test_an_episode_of_a_run_is_written_as_the_calls_that_its_agent_made(tmp_path: Path) -> None:
    work = run_of(tmp_path / "run", EmbeddedModel(), data=tool_tasks(), recall_at="start", conditions=())
    finished = finish(work)
    run_writer("traces")(RunExport(finished, tmp_path / "traces", work.folder.made_at))
    [session] = read(tmp_path / "traces")
    assert [step.kind for step in session.steps].count("call") >= 3
    assert session.outcome == 1.0


def test_a_format_that_is_none_is_told_with_those_there_are() -> None:
    with pytest.raises(EvaluationError, match=r"^A release cannot be written as 'stone'; give --as with one of documents, "):
        release_writer("stone")
