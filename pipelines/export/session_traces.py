"""Sessions as traces in the Hub's simple form (STS): a file for each session, which the Hub's viewer renders.

`amemgym memory replay` reads the form too. It is described at huggingface.co/docs/hub/session-traces-format.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from assets.entry_points import EntryPointGroup
from assets.llm.actions import RESULT_OF, Action, read_action
from assets.reporting.plurals import counted
from assets.worlds.steps import EpisodeStep, read_episode
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.reasoning import NOTHING_RECALLED
from pipelines.evaluation.records import AnswerRow
from pipelines.evaluation.run import BenchmarkTasks
from pipelines.export.folders import path_part, write_files
from pipelines.export.formats import RunExport
from prompts.catalogue import load_prompt

HARNESS = "amemgym"
LONGEST_NAME = 80  # of a session, in its file's name


@dataclass(frozen=True)
class TraceMessage:
    """A message. `call_id` belongs to the call of an assistant's message, and to the tool's message that answers it."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    at: datetime | None = None
    model: str = ""
    call_id: str = ""
    tool: str = ""
    arguments: str = ""

    def line(self) -> dict[str, object]:
        """Return the message in the form's words. A time without a zone is taken as UTC."""
        message: dict[str, object] = {"role": self.role, "content": self.content}
        if self.tool:
            function = {"name": self.tool, "arguments": self.arguments}
            message["toolCalls"] = [{"id": self.call_id, "function": function}]
        elif self.call_id:
            message["toolCallId"] = self.call_id
        if self.at is not None:
            at = self.at if self.at.tzinfo else self.at.replace(tzinfo=UTC)
            message["timestamp"] = int(at.timestamp() * 1000)
        if self.model:
            message["model"] = self.model
        return {"type": "message", "message": message}


@dataclass(frozen=True)
class Trace:
    """A session. `outcome`: 1 where it ended right, 0 where it did not; None where nothing was graded."""

    name: str
    title: str
    messages: Sequence[TraceMessage]
    outcome: float | None = None

    @property
    def text(self) -> str:
        """The session as JSONL: a header, then a line for each message."""
        header: dict[str, object] = {"type": "session", "harness": HARNESS, "id": self.name, "name": self.title}
        if self.outcome is not None:
            header["outcome"] = self.outcome
        lines = [header, *(message.line() for message in self.messages)]
        return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


# Of tasks of each benchmark that has sessions.
TRACED_BENCHMARKS = EntryPointGroup[Callable[[Any], Iterator[Trace]]]("amemgym.traced_benchmarks")


def write_release_traces(tasks: BenchmarkTasks, folder: Path) -> list[str]:
    """Write what a release's users said and its agents read, with the right answer last, and say what was written.

    Raises EvaluationError for a benchmark without sessions, or a folder with other files.
    """
    traces_of = TRACED_BENCHMARKS.get(tasks.info.benchmark)
    if traces_of is None:
        raise EvaluationError(f"{tasks.info.name} has no sessions that could be written as traces.")
    return _write(traces_of(tasks), folder)


def write_run_traces(export: RunExport) -> list[str]:
    """Write a run's dialogues, and each answer with what was recalled for it, and say what was written."""
    return _write([*_dialogues(export.run), *_answer_traces(export.run)], export.folder)


def _write(traces: Iterable[Trace], folder: Path) -> list[str]:
    files: dict[str, bytes] = {}
    for number, trace in enumerate(traces, start=1):
        files[f"{number:05}-{path_part(trace.name)[:LONGEST_NAME]}.jsonl"] = trace.text.encode()
    write_files(folder, files)
    return [f"{counted(len(files), 'session')} in {folder}, a file each; the Hub's viewer shows them in a data set."]


def _dialogues(run: FinishedRun) -> Iterator[Trace]:
    model = run.manifest.shared().models["assistant"]
    for (user, period, session), turns in groupby(run.turns, key=attrgetter("user_id", "period", "session")):
        messages: list[TraceMessage] = []
        for turn in turns:
            messages.append(TraceMessage("user", turn.message, at=turn.at))
            messages.append(TraceMessage("assistant", turn.reply, at=turn.at, model=model))
        title = f"{user}, session {session + 1} of period {period}"
        yield Trace(f"{user}/{period:02}/{session:02}", title, messages)


def _answer_traces(run: FinishedRun) -> Iterator[Trace]:
    model = run.manifest.shared().models["assistant"]
    for row in run.answers:
        if row.kind == "question":
            place = f"{row.user_id}/{row.length}" if row.length else f"{row.user_id}/{row.period:02}"
            recalled = "\n".join(row.memories) or NOTHING_RECALLED
            prompt = load_prompt("evaluation/remember")
            sent = prompt.render(memories=recalled, later_holds=run.manifest.later_holds, message=row.asked)
            instructions = TraceMessage("system", sent.messages[0].content)
            outcome = None if row.status == "unscored" else float(row.status == "right")
            yield Trace(
                f"{place}/{row.item}", f"{place}: {row.item}", [instructions, *_answer(row, model=model)], outcome=outcome
            )


def _answer(row: AnswerRow, *, model: str) -> list[TraceMessage]:
    asked = row.asked or row.item
    try:
        steps = read_episode(row.reply)
    except ValueError:
        return [TraceMessage("user", asked), TraceMessage("assistant", row.reply, model=model)]
    return episode_messages(asked, steps, model=model)


def episode_messages(opening: str, steps: Sequence[EpisodeStep], *, model: str = "") -> list[TraceMessage]:
    """Return an episode as messages, its calls with what they gave back."""
    messages = [TraceMessage("user", opening)]
    for number, step in enumerate(steps, start=1):
        try:
            action = read_action(step.reply)
        except ValueError:
            action = Action(action="say", text=step.reply)
        if action.action == "call":
            tool = action.tool or ""
            result = step.seen.removeprefix(f"{RESULT_OF}{tool}:\n")
            messages += call_messages(number, tool, action.arguments_by_name, result=result, model=model)
            continue
        messages.append(TraceMessage("assistant", action.text or "(finished)", model=model))
        if step.seen:
            messages.append(TraceMessage("user", step.seen))
    return messages


def call_messages(
    number: int, tool: str, arguments: Mapping[str, str], *, result: str, model: str = ""
) -> tuple[TraceMessage, TraceMessage]:
    """Return the message that calls a tool, and that of the tool. `number`: of the call, in its session."""
    call_id = f"call-{number}"
    written = json.dumps(arguments, ensure_ascii=False)
    called = TraceMessage("assistant", "", model=model, call_id=call_id, tool=tool, arguments=written)
    return called, TraceMessage("tool", result, call_id=call_id)
