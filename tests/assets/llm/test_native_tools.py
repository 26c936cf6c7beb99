"""Actions as tool calls of a chat API: out and in again they are the same, and what APIs do not take stays words."""

import json

import pytest

from assets.llm.actions import Action
from assets.llm.native_tools import action_of, native_messages, native_reply, native_tools
from prompts.template import Message

TOOL = {"name": "find", "does": "Finds.", "arguments": {"type": "object", "properties": {"name": {"type": "string"}}}}
CALL = Action.model_validate({"action": "call", "tool": "find", "arguments": [{"name": "name", "value": "Ada"}]})
SAY = Action(action="say", text="Done.")


def test_a_call_and_its_result_have_the_forms_of_the_api_and_words_stay_words() -> None:
    messages = [
        Message("system", "Act."),
        Message("user", "Find Ada."),
        Message("assistant", CALL.model_dump_json()),
        Message("user", "Result of find:\nC-1"),
        Message("assistant", SAY.model_dump_json()),
        Message("user", "Thanks."),
    ]
    function = {"name": "find", "arguments": '{"name": "Ada"}'}
    assert native_messages(messages) == [
        {"role": "system", "content": "Act."},
        {"role": "user", "content": "Find Ada."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "call_2", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "call_2", "content": "C-1"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks."},
    ]


def test_a_result_whose_call_is_out_of_sight_and_a_call_without_a_result_stay_words() -> None:
    orphan = Message("user", "Result of find:\nC-1")
    alone = Message("assistant", CALL.model_dump_json())
    assert native_messages([orphan]) == [{"role": "user", "content": orphan.content}]
    assert native_messages([alone]) == [{"role": "assistant", "content": alone.content}]


def test_the_tools_end_with_the_one_that_ends_the_dialogue() -> None:
    assert [tool["function"]["name"] for tool in json.loads(json.dumps(native_tools([TOOL])))] == ["find", "finish"]


@pytest.mark.parametrize("action", [CALL, SAY, Action(action="finish")])
def test_an_action_is_the_same_after_it_was_a_reply(action: Action) -> None:
    assert action_of(native_reply(action.model_dump_json())) == action.model_dump_json()


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ('{"ids": ["1", "2"], "n": 3}', {"ids": '["1", "2"]', "n": "3"}),
        ({"n": 3}, {"n": "3"}),
        ("{broken", {"arguments": "{broken"}),
        ("[1]", {}),
        ("[" * 5000, {"arguments": "[" * 5000}),
        (None, {}),
    ],
)
def test_arguments_come_in_many_forms(arguments: object, given: dict[str, str]) -> None:
    reply = action_of({"tool_calls": [{"function": {"name": "find", "arguments": arguments}}]})
    assert reply is not None
    assert Action.model_validate_json(reply).arguments_by_name == given


def test_a_reply_with_neither_call_nor_words_is_no_action() -> None:
    assert action_of({"content": None}) is None
    assert action_of({"content": " ", "tool_calls": []}) is None
