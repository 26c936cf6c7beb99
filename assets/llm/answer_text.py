"""The answer in a model's completion, wherever it is: after a thought, in parts, in a tool call, in a field for reasoning.

Live calls, batch jobs and evaluation all read by this module. What could be read in two ways is not read.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

from assets.records.base import FailureReason
from assets.records.readable import unreadable_in

# As reasoning models and their chat templates end a thought; those of harmony, Cohere, Kimi, Seed and Gemma among them.
THOUGHT_ENDS = re.compile(
    r"</(?:think|thinking|thought|thoughts|reasoning|seed:think)>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|end_of_thought\|>"
    r"|<unused95>|<\|channel\|>final.{0,60}?<\|message\|>|<channel\|>"
    r"|\A\s*analysis[\s\S]*assistantfinal",  # harmony's, where the server has taken the marks away
    re.IGNORECASE,
)
THOUGHT_BEGINS = re.compile(
    r"<(?:think|thinking|thought|thoughts|reasoning|seed:think)>|\[THINK\]|◁think▷|<\|START_THINKING\|>"
    r"|<\|begin_of_thought\|>|<unused94>|<\|channel\|>(?:analysis|commentary)|<\|channel>\s*thought",
    re.IGNORECASE,
)
END_TOKENS = re.compile(r"(?:\s*(?:<\|[\w ]{1,30}\|>|</s>|<end_of_turn>|<turn\|>|<eos>))+\s*\Z")
TEXT_PARTS = {"", "text", "output_text"}
REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")
MOST_TRIES = 1_000  # of places at which an object might begin: a text of braces alone would take for ever
MOST_LEVELS = 4  # at which an answer may lie inside of other values
STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
OPENS_OBJECT = re.compile(r'\{\s*"')
JsonObject = dict[str, object]


class NoJson(ValueError):
    """A text without a JSON value."""


class UnusableReply(ValueError):
    """A reply that cannot be used. The message is a sentence for the model, `reason` what a failure would carry.

    `remedy`: what the user can do about it, beside asking again.
    """

    def __init__(self, reason: FailureReason, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.reason: FailureReason = reason
        self.remedy = remedy


def _without_conflict(pairs: list[tuple[str, object]]) -> JsonObject:
    found = JsonObject()
    for key, value in pairs:
        if found.get(key, value) != value:
            raise ValueError("a key stands in it twice, with two values")
        found[key] = value
    return found


# A line break within a string is one.
DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_without_conflict)


def message_text(message: Mapping[str, object], *, finished: bool) -> str:
    """Return the answer in a completion's message: its content without a thought, else a tool call's arguments.

    Where both are empty and the model was not cut off, it is what stands in the field for its reasoning: some servers take all
    for a thought.
    """
    text = without_thought(content_text(message.get("content")))
    arguments = _called_arguments(message)
    if arguments and not has_object(text):
        text = f"{text}\n{arguments}".strip()
    if text.strip() or not finished:
        return text
    for name in REASONING_FIELDS:
        reasoning = without_thought(content_text(message.get(name)))
        if reasoning.strip():
            return reasoning
    return text


def content_text(content: object) -> str:
    """Return the text of a message's content: a text, an object, or parts, of which thoughts are left out."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        part = cast(JsonObject, content)
        return _part_text(part) if _is_part(part) else json.dumps(part, ensure_ascii=False)
    if not isinstance(content, list):
        return ""
    texts = list[str]()
    for each in cast(list[object], content):
        if isinstance(each, str):
            texts.append(each)
        elif isinstance(each, dict):
            texts.append(_part_text(cast(JsonObject, each)))
    return "".join(texts)


def refusal_text(message: Mapping[str, object]) -> str:
    """Return the words by which a model refuses, in their own field or as a part; "" where it does not."""
    own = message.get("refusal")
    if isinstance(own, str) and own:
        return own
    content = message.get("content")
    parts = cast(list[object], content) if isinstance(content, list) else []
    for part in parts:
        if isinstance(part, dict):
            words = cast(JsonObject, part).get("refusal")
            if isinstance(words, str) and words:
                return words
    return ""


def without_thought(text: str) -> str:
    """Return the text after the last thought; "" where that has no end. A text that is JSON as a whole stays."""
    if not (THOUGHT_ENDS.search(text) or THOUGHT_BEGINS.search(text) or END_TOKENS.search(text)):
        return text
    if isinstance(_loads(text.strip()), dict | list | str):
        return text
    for end in list(THOUGHT_ENDS.finditer(text))[-1:]:
        text = text[end.end() :]
    begin = THOUGHT_BEGINS.search(text)
    if begin:
        text = text[: begin.start()]
    return END_TOKENS.sub("", text).strip()


def read_json(text: str, *, keys: Collection[str] = ()) -> object:
    """Return the last object in a text that has all these keys, without a thought before it. Raises NoJson.

    An object may lie in a fence, in prose, or inside of another value. Where none has the keys it is the last object, and
    without any object the whole text's JSON value, so that whoever asked can say what is wrong with it.
    """
    answer = without_thought(text).strip()
    whole = _loads(answer)
    if isinstance(whole, str):  # JSON within JSON
        return read_json(whole, keys=keys)
    values: list[object] = [whole] if isinstance(whole, dict | list) else list(_objects(answer))
    for value in reversed(values):
        found = _with_keys(value, keys)
        if found is not None:
            return found
    if values:
        return values[-1]
    if whole is None:
        raise NoJson
    return cast(object, whole)


def extract_json(text: str, *, keys: Collection[str] = ()) -> object:
    """Return the last object in a reply with these keys, as `read_json` does.

    Raises UnusableReply without one, and for characters that the last check of a run refuses.
    """
    try:
        value = read_json(text, keys=keys)
    except NoJson:
        problem = "The answer is not a JSON object; answer with one JSON object alone."
        raise UnusableReply("unparsable", problem) from None
    character = unreadable_in(value)
    if character:
        sentence = f"The answer holds the character {character}, which no reader could see; write plain text without it."
        raise UnusableReply("rule_violated", sentence)
    return value


def has_object(text: str) -> bool:
    """Return True where a text holds a JSON object."""
    try:
        return isinstance(read_json(text), dict)
    except NoJson:
        return False


def _is_part(value: JsonObject) -> bool:
    return isinstance(value.get("type"), str) and not value.keys().isdisjoint({"text", "input", "thinking", "json"})


def _part_text(part: JsonObject) -> str:
    """Return the text of a part by its type; "" for thoughts, pictures and the like."""
    kind = str(part.get("type") or "")
    if kind == "tool_use":
        return json.dumps(part.get("input"), ensure_ascii=False)
    if kind == "json":
        return json.dumps(part.get("json"), ensure_ascii=False)
    if kind not in TEXT_PARTS:
        return ""
    text = part.get("text")
    if isinstance(text, dict):
        text = cast(JsonObject, text).get("value")
    return text if isinstance(text, str) else ""


def _called_arguments(message: Mapping[str, object]) -> str:
    """Return the arguments of all calls of tools, one a line. We offer no tool: a call can only be the answer's form."""
    lines = list[str]()
    calls = message.get("tool_calls")
    functions: list[object] = [message.get("function_call")]
    for call in cast(list[object], calls) if isinstance(calls, list) else []:
        if isinstance(call, dict):
            entry = cast(JsonObject, call)
            functions.append(entry.get("function") or entry)
    for function in functions:
        if isinstance(function, dict):
            arguments = cast(JsonObject, function).get("arguments")
            if isinstance(arguments, dict):
                arguments = json.dumps(arguments, ensure_ascii=False)
            if isinstance(arguments, str) and arguments.strip():
                lines.append(arguments)
    return "\n".join(lines)


def _with_keys(value: object, keys: Collection[str]) -> JsonObject | None:
    """Return the value, or the one object inside of it, that has the keys; None where there is none, or several that differ."""
    level: Sequence[object] = [value]
    for _ in range(MOST_LEVELS):
        found = list[JsonObject]()
        for each in level:
            if isinstance(each, dict) and set(keys) <= cast(JsonObject, each).keys():
                found.append(cast(JsonObject, each))
        if found:
            return found[0] if all(each == found[0] for each in found) else None
        level = list(_inside(level))
    return None


def _inside(values: Iterable[object]) -> Iterable[object]:
    for value in values:
        if isinstance(value, dict):
            yield from cast(JsonObject, value).values()
        elif isinstance(value, list):
            yield from cast(list[object], value)


def _objects(text: str) -> Iterable[object]:
    """Yield the objects of a text that lie in no other, in order. What is inside of a broken one is not the answer."""
    begin = text.find("{")
    for _ in range(MOST_TRIES):
        if begin < 0:
            return
        try:
            value, end = DECODER.raw_decode(text, begin)
            yield value
        except (ValueError, RecursionError):  # a ValueError too: a number of thousands of digits
            end = _end_of_object(text, begin) if OPENS_OBJECT.match(text, begin) else begin + 1
        begin = text.find("{", end)


def _end_of_object(text: str, begin: int) -> int:
    """Return the place behind the brace that closes this one; the text's end where none does."""
    depth = 0
    for piece in STRING_OR_BRACE.finditer(text, begin):
        if piece.group() == "{":
            depth += 1
        elif piece.group() == "}":
            depth -= 1
        if not depth:
            return piece.end()
    return len(text)


def _loads(text: str) -> object:
    """Return the text's JSON value; None for null and for other text."""
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
