"""A memory behind an MCP server, and the templates that fill the arguments of a server's own tools.

A template is data: names in braces are replaced by what they stand for, and nothing is ever evaluated.
"""

import json
import re
import secrets
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import yaml

from pipelines.memories.contract import MemoryEvent, MemorySpec
from pipelines.memories.failures import MemoryFailed, Retries
from pipelines.memories.services.http_service import ServiceConnection, event_json, located_service, service_spec
from pipelines.memories.services.mcp_server import (
    HttpServer,
    McpServer,
    McpSession,
    StdioServer,
    command_words,
    environment_templates,
    text_parts,
)
from pipelines.redaction import shareable

PLACEHOLDER = re.compile(r"\{([a-z]+)\}")
OF_AN_EVENT = ("text", "kind", "at", "source", "line", "number")
OF_A_WRITE = ("session", "events")
OF_A_RECALL = ("session", "query", "tokens")
WRITE_ARGUMENTS = '{"session": "{session}", "events": "{events}"}'
RECALL_ARGUMENTS = '{"session": "{session}", "query": "{query}", "tokens": "{tokens}"}'


class Tool:
    """A tool of a server, and how its arguments are filled."""

    def __init__(self, name: str, arguments: str, *, what: str, fields: Sequence[str]) -> None:
        self.name = name
        try:
            template: object = yaml.safe_load(arguments)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise MemoryFailed(f"The setting {what} is neither JSON nor YAML: {' '.join(str(error).split())}.") from error
        if not isinstance(template, dict):
            raise MemoryFailed(f"The setting {what} must hold the tool's arguments by name, as in {RECALL_ARGUMENTS}.")
        self.template = cast(dict[str, object], template)
        self.fields = {found[1] for text in _texts_in(self.template) for found in PLACEHOLDER.finditer(text)}
        unknown = sorted(self.fields - set(fields))
        if unknown:
            known = ", ".join(f"{{{name}}}" for name in fields)
            raise MemoryFailed(f"The setting {what} has {{{unknown[0]}}}, which is no variable; there are {known}.")

    def fill_arguments(self, values: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments with these values in their places."""
        return cast(dict[str, object], _filled_in(self.template, values))


def _texts_in(template: object) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, dict):
        for value in cast(dict[object, object], template).values():
            yield from _texts_in(value)
    elif isinstance(template, list):
        for value in cast(list[object], template):
            yield from _texts_in(value)


def _filled_in(template: object, values: Mapping[str, object]) -> object:
    """Return a part of a template filled in: a text that is one name becomes its value, with the value's own type."""
    if isinstance(template, dict):
        return {name: _filled_in(value, values) for name, value in cast(dict[str, object], template).items()}
    if isinstance(template, list):
        return [_filled_in(value, values) for value in cast(list[object], template)]
    if not isinstance(template, str):
        return template
    whole = PLACEHOLDER.fullmatch(template)
    if whole:
        return values[whole[1]]
    return PLACEHOLDER.sub(lambda found: str(values[found[1]]), template)


class McpMemory:
    """An MCP server with a tool that writes and one that recalls; needs the package `mcp`.

    `address`: the server's URL, or `command`: the program that is one, with its `environment`. Without templates the tools get
    the same fields as the routes of an HTTP service, and the recalling one answers with a text for each memory, or with
    {"texts": [...]}. `recall_texts` is the way to the texts in another answer, as in `entities.*.observations.*`.
    """

    @classmethod
    def spec_at(cls, address: str) -> MemorySpec | None:
        return service_spec("mcp", address, name="mcp") if "://" in address else None

    @classmethod
    def locate(cls, spec: MemorySpec) -> MemorySpec:
        return _command_spec(spec) if spec.settings.get("command") else located_service(spec)

    def __init__(
        self,
        retries: Retries | None = None,
        *,
        address: str = "",
        headers: str = "",
        command: str = "",
        environment: str = "",
        write_tool: str = "write",
        write_arguments: str = WRITE_ARGUMENTS,
        recall_tool: str = "recall",
        recall_arguments: str = RECALL_ARGUMENTS,
        recall_texts: str = "",
    ) -> None:
        if bool(address) == bool(command):
            raise MemoryFailed("A memory over MCP has either an `address` or a `command`.")
        what = "write_arguments"
        self.write_tool = Tool(write_tool, write_arguments, what=what, fields=(*OF_A_WRITE, *OF_AN_EVENT))
        self.recall_tool = Tool(recall_tool, recall_arguments, what="recall_arguments", fields=OF_A_RECALL)
        self.for_each_event = not self.write_tool.fields.isdisjoint(OF_AN_EVENT)
        if self.for_each_event == ("events" in self.write_tool.fields):
            raise MemoryFailed(
                f"The setting {what} must say what is written: {{events}}, or {{text}} or {{line}} of each event."
            )
        self.recall_texts = recall_texts
        self.session = secrets.token_hex(12)  # a server may outlive the run, and must never meet an id again
        self.count = 0
        retries = retries or Retries()
        if command:
            server: McpServer = StdioServer(command, environment=environment)
        else:
            server = HttpServer(ServiceConnection(address, headers=headers), retries.of_parts())
        session = McpSession(server, (write_tool, recall_tool), retries)
        self.calls = session
        # Not a method of this class: whoever holds it does not keep the memory, and with it the server's process, alive.
        self.close = session.close
        weakref.finalize(self, session.end).atexit = False

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        for values in self._values_of(events):
            await self.calls.call("write", self.write_tool.name, self.write_tool.fill_arguments(values))

    def _values_of(self, events: Sequence[MemoryEvent]) -> Iterator[dict[str, object]]:
        """Yield what stands in the template of each call: one for each event, or one for all of them."""
        if not self.for_each_event:
            self.count += len(events)
            yield {"session": self.session, "events": list(map(event_json, events))}
            return
        for event in events:
            self.count += 1
            yield {**event_json(event), "line": event.line, "number": str(self.count - 1), "session": self.session}

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        if not self.count:  # many know no user before the first write
            return []
        values = {"session": self.session, "query": query, "tokens": tokens}
        result = await self.calls.call("recall", self.recall_tool.name, self.recall_tool.fill_arguments(values))
        if self.recall_texts:
            return list(_texts_at(_answer_of(result), self.recall_texts.split(".")))
        structured: dict[str, Any] = result.structured_content or {}
        if isinstance(structured.get("texts"), list):
            return structured["texts"]
        return list(text_parts(result))


def _command_spec(spec: MemorySpec) -> MemorySpec:
    """The memory behind a command, whose folders are part of no file and no id. Raises EvaluationError for one that is none."""
    command = str(spec.settings["command"])
    command_words(command)
    environment_templates(str(spec.settings.get("environment") or ""))
    return spec.model_copy(update={"settings": {**spec.settings, "command": shareable(command)}, "location": command})


def _answer_of(result: Any) -> object:
    """Return the structured content of a tool's answer, or the JSON that is its text. Raises MemoryFailed for neither."""
    if result.structured_content is not None:
        return result.structured_content
    try:
        return json.loads("".join(text_parts(result)))
    except (ValueError, RecursionError) as error:
        raise MemoryFailed("The setting recall_texts names a way into an answer that is no JSON; leave it out.") from error


def _texts_at(found: object, way: Sequence[str]) -> Iterator[str]:
    """Yield the texts where the way leads; `*` is every part. Raises MemoryFailed where it leads nowhere."""
    if not way:
        yield found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
        return
    parts = cast(dict[str, object] | list[object], found) if isinstance(found, dict | list) else {}
    if way[0] == "*":
        for part in list(parts.values() if isinstance(parts, dict) else parts):
            yield from _texts_at(part, way[1:])
    elif isinstance(parts, dict) and way[0] in parts:
        yield from _texts_at(parts[way[0]], way[1:])
    else:
        known = ", ".join(parts) if isinstance(parts, dict) else "*"
        raise MemoryFailed(f"The setting recall_texts asks for {way[0]!r} where the server's answer has {known or 'no parts'}.")
