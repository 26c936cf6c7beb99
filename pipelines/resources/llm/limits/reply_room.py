"""The room for a reply: what an error says of it, in the words of many servers, and what a request asks for after that."""

import re
from dataclasses import dataclass, replace
from math import ceil

from assets.llm.ports import ModelReply, ModelRequest
from assets.llm.usage import prompt_tokens, request_tokens

LEAST_ROOM = 256  # tokens, or a quarter of what is asked for: a prompt that leaves less is too long
# Of our estimate of a prompt: no tokenizer that we know makes so few tokens of a text, so that part of it was not read.
READ_IN_PART = 0.6
LONG_PROMPT = 1_000  # tokens; the estimate of a short one is rough
SMALLER = 0.7  # of the room that was rejected, where the error's numbers bring no less
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
NAMES_ROOM = re.compile(
    r"max_?(?:completion_|output_|new_)?tokens|maxOutputTokens|(?:completion|output) tokens|context|maximum tokens|max tokens",
    re.IGNORECASE,
)
MOST = (
    re.compile(r"at most (\d+) (?:completion|output|new) ?tokens"),
    re.compile(r"max_\w*tokens`?:? ?\d+ ?> ?(\d+)"),
    re.compile(r"range (?:of|for) \W?max_\w*tokens\W? (?:is|should be) \[\d+, ?(\d+)\]", re.IGNORECASE),
    re.compile(r"(?:less than or equal to|model limit of|cannot exceed|must not exceed|<=) ?\W?(\d+)"),
    re.compile(r"max_tokens ?> ?(\d+) must"),
)
# A limit per minute that one call exceeds, because the room for its reply is counted as sent.
PER_CALL = re.compile(r"limit:? (\d+),(?: used:? \d+,)? requested:? ~?(\d+)", re.IGNORECASE)
EXCLUSIVE = re.compile(r"to (\d+) ?\(exclusive\)")
# The context, and the prompt's tokens, by the names of the groups.
SUMS = (
    re.compile(r"(?P<input>\d+) ?\+ ?\d+ ?> ?(?P<context>\d+)"),
    re.compile(r"\d+ ?> ?(?P<context>\d+) ?- ?(?P<input>\d+)"),
    re.compile(r"must be <= ?(?P<context>\d+)\D*Given: ?(?P<input>\d+)"),
)
CONTEXT = re.compile(
    r"context (?:length|window|size|limit)[^\d]{0,30}(\d+)|(\d+)(?:[- ]tokens?| maximum) context", re.IGNORECASE
)
INPUT = re.compile(
    r"(\d+) (?:tokens )?(?:in|from|of|for) (?:the |your )?(?:input )?(?:messages|prompt|text input|input)"
    r"|(?:has|contains|first)(?: at least)? (\d+) (?:input |prompt )?tokens|(?:input|prompt|request) \((\d+)",
    re.IGNORECASE,
)
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.]*\d)")


@dataclass(frozen=True)
class RoomLimit:
    """What an error says: the most tokens of a reply, or those of the context and how many of them the prompt takes."""

    most: int = 0
    context: int = 0
    input: int = 0


@dataclass(frozen=True)
class ReplyRoom:
    """What is known of the room at one model. `scale`: tokens of a prompt for one of our estimate, the most that were seen."""

    most: int = 0
    context: int = 0
    scale: float = 1.0

    def of(self, request: ModelRequest) -> int:
        """Return the tokens to ask for."""
        return max(self._room_left(request), _least(request))

    def after(self, limit: RoomLimit, *, request: ModelRequest) -> "ReplyRoom | None":
        """Return this after an error; None where that leaves no room to speak of, or no less than before."""
        sent = self.of(request)
        estimated = max(request_tokens(request), 1)
        if limit.most:
            better = replace(self, most=limit.most)
        else:
            better = replace(self, context=limit.context, scale=max(self.scale, limit.input / estimated))
            if better.of(request) >= sent:
                # The server counts otherwise than we do: less, and so on until it passes.
                better = replace(better, scale=max(better.scale, (limit.context - SMALLER * sent) / estimated))
        return better if better.of(request) < sent and better._room_left(request) >= _least(request) else None

    def _room_left(self, request: ModelRequest) -> int:
        room = request.max_output_tokens
        if self.most:
            room = min(room, self.most)
        if self.context:
            room = min(room, self.context - ceil(request_tokens(request) * self.scale))
        return room


def _least(request: ModelRequest) -> int:
    return min(LEAST_ROOM, max(1, request.max_output_tokens // 4))


def sign_of_short_context(request: ModelRequest, reply: ModelReply, *, asked: int) -> str:
    """Return what a server does to a prompt or a reply that its context does not hold, by its usage; "" where it shows nothing.

    `asked`: the tokens that the reply was allowed.
    """
    texts = prompt_tokens(message.content for message in request.messages)
    if texts >= LONG_PROMPT and reply.input_tokens < READ_IN_PART * texts:
        return f"read {reply.input_tokens:,} tokens of a prompt of about {texts:,}, as if its context held no more"
    counted = reply.input_tokens != request_tokens(request)  # else the usage is our own estimate, as the server gave none
    if reply.finish == "length" and counted and reply.output_tokens < READ_IN_PART * asked:
        return (
            f"ended a reply at {reply.output_tokens:,} of {asked:,} tokens, as if its context held "
            f"{reply.input_tokens + reply.output_tokens:,} tokens of prompt and reply together"
        )
    return ""


def limit_per_call(text: str, *, asked: int) -> RoomLimit | None:
    """Return the limit per minute that a request of so many tokens exceeds by itself; None where waiting helps."""
    found = PER_CALL.search(THOUSANDS.sub("", text))
    most, requested = map(int, found.groups()) if found else (0, 0)
    return RoomLimit(context=most, input=max(requested - asked, 0)) if asked and requested > most else None


def room_limit_in(text: str, *, asked: int) -> RoomLimit | None:
    """Return the limit that an error's words name for a request of so many tokens; None where they are of something else."""
    words = THOUSANDS.sub("", text)
    if not asked or PER_CALL.search(words):
        return limit_per_call(text, asked=asked)
    if not NAMES_ROOM.search(words):
        return _exceeded_sum(words, asked=asked)
    for pattern in SUMS:
        found = pattern.search(words)
        if found and int(found["input"]) != asked:
            return RoomLimit(context=int(found["context"]), input=int(found["input"]))
    for pattern in MOST:
        found = pattern.search(words)
        if found and int(found.group(1)) < asked:
            return RoomLimit(most=int(found.group(1)))
    exclusive = EXCLUSIVE.search(words)
    if exclusive and int(exclusive.group(1)) <= asked:
        return RoomLimit(most=int(exclusive.group(1)) - 1)
    context = _first_group(CONTEXT, words)
    if context:
        return RoomLimit(context=context, input=_first_group(INPUT, words))
    return _only_smaller_number(words, asked=asked)


def _exceeded_sum(words: str, *, asked: int) -> RoomLimit | None:
    """Return the smaller of two numbers as the context where the larger one can be what prompt and room come to."""
    numbers = sorted({int(number) for number in NUMBER.findall(words)})
    if "token" not in words or len(numbers) != 2:
        return None
    context, total = numbers
    return RoomLimit(context=context, input=total - asked) if 0 < total - asked < context else None


def _first_group(pattern: re.Pattern[str], words: str) -> int:
    found = pattern.search(words)
    return int(next(filter(None, found.groups()), 0)) if found else 0


def _only_smaller_number(words: str, *, asked: int) -> RoomLimit | None:
    """Return the one number below the one that was asked for, in words that name the field; None where there are several."""
    smaller = {int(number) for number in NUMBER.findall(words) if LEAST_ROOM / 4 <= int(number) < asked}
    return RoomLimit(most=smaller.pop()) if len(smaller) == 1 and str(asked) in words else None
