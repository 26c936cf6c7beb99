"""An agent's actions as native tool calls: messages on their way out, and the reply on its way in.

Inside this project an action is always the same JSON (`assets/llm/actions.py`). Here alone it has the form in which chat APIs
call tools.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from assets.llm.actions import RESULT_OF, Action, read_action
from assets.records.json_text import JsonError, parse_json
from prompts.template import Message

FINISH = "finish"
FINISH_TOOL: dict[str, Any] = {"name": FINISH, "does": "Ends the dialogue.", "arguments": {"type": "object", "properties": {}}}


def native_tools(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, object]]:
    """Return tools as a chat API takes them, with the one that ends the dialogue."""
    found: list[dict[str, object]] = []
    for tool in (*tools, FINISH_TOOL):
        function = {"name": tool["name"], "description": tool["does"], "parameters": tool["arguments"]}
        found.append({"type": "function", "function": function})
    return found


def native_messages(messages: Sequence[Message]) -> list[dict[str, object]]:
    """Return messages in which calls and their results have the API's form.

    A result whose call has left the window stays a message of the user, because no API takes it otherwise.
    """
    found: list[dict[str, object]] = []
    called = ""  # the id of the call whose result comes next
    for number, message in enumerate(messages):
        action = _action_in(message)
        if called and message.role == "user" and message.content.startswith(RESULT_OF):
            found.append({"role": "tool", "tool_call_id": called, "content": message.content.partition("\n")[2]})
            called = ""
        elif action is not None and action.action == "call":
            called = f"call_{number}"
            function = {"name": action.tool, "arguments": json.dumps(action.arguments_by_name, ensure_ascii=False)}
            call = {"id": called, "type": "function", "function": function}
            found.append({"role": "assistant", "content": None, "tool_calls": [call]})
            if not _is_result(messages[number + 1 : number + 2]):
                found[-1] = {"role": "assistant", "content": message.content}
                called = ""
        else:
            said = action.text if action is not None and action.action == "say" else None
            found.append({"role": message.role, "content": said or message.content})
    return found


def action_of(message: Mapping[str, object]) -> str | None:
    """Return the action in a reply's message: its first tool call, or what it says; None for a message with neither."""
    calls = message.get("tool_calls")
    first = cast(list[object], calls)[0] if isinstance(calls, list) and calls else None
    function = cast(dict[str, object], first).get("function") if isinstance(first, dict) else None
    if isinstance(function, dict):
        return action_of_call(cast(dict[str, object], function))
    content = message.get("content")
    if isinstance(content, str) and content.strip():
        return Action(action="say", text=content).model_dump_json()
    return None


def action_of_call(function: Mapping[str, object]) -> str:
    """Return the function of a tool call as an action."""
    name = str(function.get("name") or "")
    if name == FINISH:
        return Action(action="finish").model_dump_json()
    given: object = function.get("arguments") or {}
    if isinstance(given, str):
        try:
            given = cast(object, parse_json(given))
        except JsonError:
            given = {"arguments": given}  # the tool will say that it takes no such argument
    values = cast(dict[str, object], given) if isinstance(given, dict) else {}
    arguments: list[dict[str, object]] = []
    for key, value in values.items():
        plain = value if isinstance(value, str | int | float | bool) else json.dumps(value, ensure_ascii=False)
        arguments.append({"name": key, "value": plain})
    return Action.model_validate({"action": "call", "tool": name or None, "arguments": arguments}).model_dump_json()


def native_reply(text: str) -> dict[str, object]:
    """Return an action as the fields of a reply's message: the other way round, for servers."""
    action = read_action(text)
    if action.action == "say":
        return {"content": action.text}
    name = FINISH if action.action == "finish" else action.tool
    function = {"name": name, "arguments": json.dumps(action.arguments_by_name, ensure_ascii=False)}
    return {"content": None, "tool_calls": [{"id": "call_0", "type": "function", "function": function}]}


def _action_in(message: Message) -> Action | None:
    if message.role != "assistant":
        return None
    try:
        return read_action(message.content)
    except ValueError:
        return None


def _is_result(following: Sequence[Message]) -> bool:
    return any(message.role == "user" and message.content.startswith(RESULT_OF) for message in following)
