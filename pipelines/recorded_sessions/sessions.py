"""Recorded sessions as steps, read from files of several forms. Nothing in them is run.

The forms are: rows of chats in OpenAI's form, also with the results inside their calls; session traces (STS) of the Hub;
and sessions of Claude Code.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from assets.records.json_text import JsonError, parse_json
from assets.records.limits import MB, TooMuch, read_unpacked
from assets.records.problems import first_problem
from assets.reporting.plurals import counted
from assets.text.words import count_tokens
from pipelines.errors import EvaluationError
from pipelines.memories.events import EventKind, MemoryEvent

MOST_BYTES = 512 * MB  # of one file, unpacked
ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
CHATS = ("conversation", "messages", "trajectory", "history")  # keys under which a row holds its session
NAMES = ("session_id", "instance_id", "id", "task")
OUTCOMES = ("outcome", "reward", "resolved", "passed", "success")
FORMS = 'a row with "messages" or "conversation", a session trace ({"type": "session", ...} first), or a session of Claude Code'


@dataclass(frozen=True)
class RecordedStep:
    """What was said, or a call. Of a call `text` is what it gave back, and `arguments` are JSON."""

    kind: Literal["user", "assistant", "call"]
    text: str
    tool: str = ""
    arguments: str = ""
    at: datetime | None = None

    @property
    def event(self) -> MemoryEvent:
        """The step as a memory is given it."""
        kind: EventKind = "tool" if self.kind == "call" else self.kind
        return MemoryEvent(f"{self.arguments} {self.text}".strip(), kind, self.at, self.tool)

    @cached_property
    def tokens(self) -> int:
        """Tokens of the step, by our estimate."""
        return count_tokens(self.event.text)

    @property
    def argument_values(self) -> list[str]:
        """The values among a call's arguments that are long enough to be recognised, each once."""
        if not self.arguments:
            return []
        return list(dict.fromkeys(filter(_recognisable, _leaves(parse_json(self.arguments)))))


@dataclass(frozen=True)
class RecordedSession:
    """One session. `instructions`: what was always in sight. `outcome`: how the recorded agent did; None where nobody says."""

    name: str
    steps: tuple[RecordedStep, ...]
    instructions: str = ""
    outcome: float | None = None


def read_sessions(path: Path) -> list[RecordedSession]:
    """Return the sessions of a file, or of all files in a folder by name. Raises EvaluationError."""
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.name.endswith(ENDINGS) and file.is_file())
    sessions: list[RecordedSession] = []
    for file in files:
        sessions += _sessions_of(file)
    if not any(session.steps for session in sessions):
        raise EvaluationError(f"There is no recorded session in {path}; a file holds {FORMS}.")
    return _named_apart(sessions)


def _sessions_of(file: Path) -> list[RecordedSession]:
    try:
        values = _values(file, read_unpacked(file, most=MOST_BYTES))
        return list(_sessions(values, name=file.name.partition(".")[0]))
    except OSError as error:
        raise EvaluationError(f"{file} cannot be read: {error.strerror or error}.") from error
    except TooMuch as error:
        raise EvaluationError(f"{file} is not read: it {error}.") from error
    except NoSession as error:
        raise EvaluationError(f"{file} holds no recorded session: {error}. A file holds {FORMS}.") from error


class NoSession(ValueError):
    """What is no recorded session; the message is the reason, without a full stop."""


def _values(file: Path, content: bytes) -> list[dict[str, Any]]:
    """Return the objects of a file: its lines, or the items of the list that it is."""
    texts = [content] if file.name.removesuffix(".gz").endswith(".json") else content.splitlines()
    values: list[object] = []
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            continue
        try:
            value: object = parse_json(text)
        except JsonError as error:
            raise NoSession(f"line {number} is no JSON ({error})") from error
        values += cast(list[object], value) if isinstance(value, list) else [value]
    for number, value in enumerate(values, start=1):
        if not isinstance(value, dict):
            raise NoSession(f"its item {number} is no JSON object")
    return cast(list[dict[str, Any]], values)


def _sessions(values: Sequence[dict[str, Any]], *, name: str) -> Iterator[RecordedSession]:
    """Yield the sessions of a file. What its first object is decides the form."""
    if not values:
        return
    first = values[0]
    if _chat_key(first):
        for place, row in enumerate(values, start=1):
            yield _session_of_row(row, name=f"{name}-{place}")
    elif first.get("type") == "session":
        yield from _traces(values)
    elif "role" in first:
        yield _session_of_messages(values, name=name)
    else:
        # Claude Code writes summaries and titles among the messages of one session.
        yield _session_of_messages([value for value in values if "message" in value], name=name)


def _chat_key(row: Mapping[str, Any]) -> str:
    """Return the key under which a row holds its session; "" where it is no such row."""
    return next((key for key in CHATS if isinstance(row.get(key), list)), "")


def _session_of_row(row: Mapping[str, Any], *, name: str) -> RecordedSession:
    key = _chat_key(row)
    if not key:
        raise NoSession(f"the row of {name} has none of {', '.join(CHATS)}")
    named = next((str(row[field]) for field in NAMES if isinstance(row.get(field), str | int)), name)
    outcome = _outcome(row)
    values = cast(list[object], row[key])
    if not all(isinstance(value, dict) for value in values):
        raise NoSession(f"an item of {key!r} of {named} is no JSON object")
    return _session_of_messages(cast(list[dict[str, Any]], values), name=named, outcome=outcome)


def _outcome(row: Mapping[str, Any]) -> float | None:
    return next((float(row[field]) for field in OUTCOMES if isinstance(row.get(field), bool | int | float)), None)


def _traces(values: Sequence[dict[str, Any]]) -> Iterator[RecordedSession]:
    """Yield the sessions of session traces; each begins with a header."""
    header = values[0]
    own = list[dict[str, Any]]()
    for value in [*values[1:], {"type": "session"}]:
        if value.get("type") != "session":
            own.append(value)
            continue
        name = str(header.get("id") or header.get("name") or "session")
        yield _session_of_messages(own, name=name, outcome=_outcome(header))
        header = value
        own = []


# Messages, in whatever form


class _CallFunction(BaseModel):
    name: str = ""
    arguments: object = None


class _Call(BaseModel):
    """A call in a message. Those whose result is in them were made before the message's words were said."""

    id: str = ""
    name: str = ""
    arguments: object = Field(default=None, validation_alias=AliasChoices("arguments", "input"))
    function: _CallFunction | None = None
    result: object = None


class _Block(_Call):
    """A part of a message: words, a call, or what a call gave back."""

    type: str = ""
    text: str = ""
    tool_use_id: str = ""
    content: object = None


class _Message(BaseModel):
    """A message of any of the forms."""

    model_config = ConfigDict(extra="ignore")
    role: str
    content: str | list[_Block] | None = None
    calls: list[_Call] | None = Field(default=None, validation_alias=AliasChoices("tool_calls", "toolCalls"))
    call_id: str | None = Field(default=None, validation_alias=AliasChoices("tool_call_id", "toolCallId"))
    timestamp: datetime | None = None

    @property
    def blocks(self) -> list[_Block]:
        return self.content if isinstance(self.content, list) else []

    @property
    def words(self) -> str:
        """Return what was said in the session."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(block.text for block in self.blocks if block.type == "text" and block.text)


def _session_of_messages(values: Sequence[Mapping[str, Any]], *, name: str, outcome: float | None = None) -> RecordedSession:
    steps: list[RecordedStep] = []
    places: dict[str, int] = {}  # of calls whose result is still to come, by their id
    instructions: list[str] = []
    for number, value in enumerate(values, start=1):
        message = _message(value, name=name, number=number)
        if message.role in ("system", "developer"):
            instructions.append(message.words)
        elif message.role in ("tool", "toolResult", "tool_result"):
            _add_result(steps, places, message.call_id or "", message.words)
        elif message.role in ("user", "assistant"):
            _add_message(steps, places, message)
        else:
            raise NoSession(f"message {number} of {name} has the role {message.role[:40]!r}")
    return RecordedSession(name, tuple(steps), "\n".join(instructions), outcome)


def _message(value: Mapping[str, Any], *, name: str, number: int) -> _Message:
    inner: object = value.get("message", value)
    if isinstance(inner, dict) and "timestamp" in value:
        inner = {"timestamp": value["timestamp"], **cast(dict[str, Any], inner)}
    try:
        return _Message.model_validate(inner)
    except ValidationError as error:
        raise NoSession(f"message {number} of {name} is none ({' '.join(first_problem(error))})") from error


def _add_message(steps: list[RecordedStep], places: dict[str, int], message: _Message) -> None:
    calls = [*(message.calls or ()), *(block for block in message.blocks if block.type == "tool_use")]
    for call in calls:
        if call.result is not None:
            steps.append(_call_step(call, at=message.timestamp))
    for block in message.blocks:
        if block.type == "tool_result":
            _add_result(steps, places, block.tool_use_id, _words_of(block.content))
    if message.words:
        steps.append(RecordedStep("user" if message.role == "user" else "assistant", message.words, at=message.timestamp))
    for call in calls:
        if call.result is None:
            places[call.id] = len(steps)
            steps.append(_call_step(call, at=message.timestamp))


def _call_step(call: _Call, *, at: datetime | None) -> RecordedStep:
    named = call.function or call
    result = "" if call.result is None else _words_of(call.result)
    return RecordedStep("call", result, named.name, _as_json(named.arguments), at)


def _add_result(steps: list[RecordedStep], places: dict[str, int], call_id: str, result: str) -> None:
    """Put a result where its call is. One whose call was not recorded is a step of its own."""
    place = places.pop(call_id, None)
    if place is None:
        steps.append(RecordedStep("call", result))
        return
    call = steps[place]
    steps[place] = RecordedStep("call", result, call.tool, call.arguments, call.at)


def _words_of(value: object) -> str:
    """Return a result as text: a text, the texts of a list of blocks, or JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts: list[str] = []
        for block in cast(list[object], value):
            if isinstance(block, dict) and "text" in block:
                texts.append(str(cast(dict[str, object], block)["text"]))
        if texts:
            return "\n".join(texts)
    return json.dumps(value, ensure_ascii=False)


def _as_json(arguments: object) -> str:
    """Return arguments as JSON; many forms give them as a text that is JSON already."""
    if isinstance(arguments, str):
        try:
            parse_json(arguments)
        except JsonError:
            return json.dumps(arguments, ensure_ascii=False)
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)


# What all forms share


def _named_apart(sessions: Sequence[RecordedSession]) -> list[RecordedSession]:
    """Return the sessions with steps, of equal names each with a number."""
    seen: dict[str, int] = {}
    found: list[RecordedSession] = []
    for session in sessions:
        if not session.steps:
            continue
        seen[session.name] = number = seen.get(session.name, 0) + 1
        name = session.name if number == 1 else f"{session.name} ({number})"
        found.append(RecordedSession(name, session.steps, session.instructions, session.outcome))
    return found


def sessions_sentence(sessions: Sequence[RecordedSession]) -> str:
    """Return what was read, and whether anybody says how the sessions ended."""
    steps = counted(sum(len(session.steps) for session in sessions), "step")
    told = [session.outcome for session in sessions if session.outcome is not None]
    read = f"{counted(len(sessions), 'session')} with {steps} were read."
    if not told:
        return f"{read} They say no outcome, so nothing here is a score."
    mean = sum(told) / len(told)
    return f"{read} The outcome of {len(told)} is {mean:.3f} on average: that of the recorded agent, not of a memory."


def _leaves(value: object) -> Iterator[str]:
    """Yield the texts and numbers in a JSON value."""
    if isinstance(value, dict):
        for inner in cast(dict[str, object], value).values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in cast(list[object], value):
            yield from _leaves(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _recognisable(value: str) -> bool:
    """Return True for a value that a text would not hold by chance: a longer number, or a name or id of one line."""
    return (4 <= len(value) <= 80 and "\n" not in value) or (value.isdecimal() and len(value) == 3)
