"""The answer in a completion's message is found in its content, its parts, a tool call or the field of a thought."""

import json
from collections.abc import Mapping

import pytest

from assets.llm.answer_text import NoJson, message_text, read_json, without_thought

ANSWER = '{"answer": 3}'
CALL = {"type": "function", "function": {"name": "answer", "arguments": ANSWER}}


@pytest.mark.parametrize(
    "message",
    [
        {"content": ANSWER},
        {"content": {"answer": 3}},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "1?"}]}, {"type": "text", "text": ANSWER}]},
        {"content": [{"type": "reasoning", "text": "1?"}, {"type": "output_text", "text": ANSWER}]},
        {"content": ["", ANSWER]},
        {"content": [{"type": "text", "text": {"value": ANSWER}}]},
        {"content": {"type": "text", "text": ANSWER}},
        {"content": [{"type": "tool_use", "name": "answer", "input": {"answer": 3}}]},
        {"content": f"<think>1?</think>{ANSWER}"},
        {"content": f"1?</think>\n{ANSWER}"},
        {"content": f"[THINK]1?[/THINK]{ANSWER}<|im_end|>"},
        {"content": f"<|channel|>analysis<|message|>1?<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}"},
        {"content": None, "tool_calls": [CALL]},
        {"content": "", "function_call": {"name": "answer", "arguments": {"answer": 3}}},
        {"content": None, "reasoning_content": ANSWER},
        {"content": "\n", "reasoning": ANSWER},
        {"content": "", "thinking": ANSWER},
    ],
)
def test_the_answer_is_found_wherever_a_server_puts_it(message: Mapping[str, object]) -> None:
    assert read_json(message_text(message, finished=True), keys=["answer"]) == {"answer": 3}


def test_a_call_of_a_tool_beside_words_without_an_object_is_the_answer() -> None:
    message = {"content": "I answer with the tool.", "tool_calls": [CALL]}
    assert read_json(message_text(message, finished=True), keys=["answer"]) == {"answer": 3}


def test_what_was_thought_is_no_answer_where_the_model_was_cut_off_or_answered_otherwise() -> None:
    thought = {"content": None, "reasoning_content": 'Perhaps {"answer": 1}'}
    assert message_text(thought, finished=False) == ""
    assert message_text({**thought, "content": ANSWER}, finished=True) == ANSWER


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Plain words.", "Plain words."),
        ("<think>one</think> two", "two"),
        ("<think>one</think> two <think>three</think> four", "four"),
        ("<think>one, and never an end", ""),
        ("two <think>one, and never an end", "two"),
        ("<think></think>", ""),
        ('{"note": "ends in </think>"}', '{"note": "ends in </think>"}'),
        ("two</s>", "two"),
        ("<|channel>thought\none<channel|>two<turn|>", "two"),
        ("<|channel>thought\none, and never an end", ""),
        ("analysisThe user asks.assistantfinaltwo", "two"),
        ("analysis of the data", "analysis of the data"),
    ],
)
def test_words_stand_behind_the_last_thought(text: str, answer: str) -> None:
    assert without_thought(text) == answer


def test_braces_in_prose_do_not_hide_the_object() -> None:
    assert read_json('of {a, b} I take {b}: {"answer": "b"}') == {"answer": "b"}
    assert read_json('Notes {x: 1}\n```json\n{"answer": {"b": [1]}}\n``` {done}', keys=["answer"]) == {"answer": {"b": [1]}}


def test_an_object_within_a_text_of_json_is_read() -> None:
    assert read_json(json.dumps(ANSWER)) == {"answer": 3}


def test_a_line_break_within_a_string_is_read_as_one() -> None:
    assert read_json('{"answer": "one\ntwo"}') == {"answer": "one\ntwo"}


@pytest.mark.parametrize("text", ["{" * 200_000, '{"a": ' * 50_000, '{"a": {"answer": 1}, ' * 5_000])
def test_a_text_of_braces_is_refused_in_no_time(text: str) -> None:
    with pytest.raises(NoJson):
        read_json(text, keys=["answer"])
