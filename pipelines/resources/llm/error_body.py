"""The words of an error, whatever its body's shape: OpenAI's, a list, plain text, an event stream, JSON within text."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from pipelines.resources.llm.retry import parse_duration

MESSAGES = ("message", "msg", "error_message", "errorMessage", "error_msg", "status_msg", "faultstring", "description", "title")
INNER = (
    "error",
    "errors",
    "detail",
    "details",
    "metadata",
    "violations",
    "raw",
    "base_resp",
    "fault",
    "innererror",
    "inner_error",
    "cause",
    "body",
)
CODES = ("code", "type", "status", "status_code", "statusCode", "error_code", "errcode", "reason", "reasons", "quotaId")
PAUSES = ("retryDelay", "retry_after", "retryAfter")
MOST_LEVELS = 8
MOST_ENTRIES = 20  # of a list, which may repeat the request
STREAM = re.compile(r"\s*(?::[^\n]*\n\s*)*(?:event|data|id|retry):")
DATA = re.compile(r"^data:\s*(.+)$", re.MULTILINE)
ASKED_PAUSE = re.compile(r"(?:try again|retry)\w* (?:in|after) (?:about )?(\d+(?:\.\d+)?) ?(ms|s|m|h)", re.IGNORECASE)
# What the words of an error stand for, where it comes without a status.
STATUS_OF_WORD = (
    (re.compile(r"rate.?limit|too.?many.?requests|resource.?exhausted|throttl", re.IGNORECASE), 429),
    (re.compile(r"overloaded|unavailable|capacity|busy", re.IGNORECASE), 503),
    (re.compile(r"authentication|unauthenticated|unauthorized|invalid.?api.?key", re.IGNORECASE), 401),
    (re.compile(r"insufficient.?(?:quota|balance|credit)|billing", re.IGNORECASE), 402),
    (re.compile(r"permission.?denied|forbidden", re.IGNORECASE), 403),
    (re.compile(r"invalid.?(?:request|argument|parameter)|bad.?request|context_length_exceeded", re.IGNORECASE), 400),
    (re.compile(r"model.?not.?found|not_found_error|\bNOT_FOUND\b"), 404),
)
UNKNOWN_ERROR = 500


@dataclass
class ErrorBody:
    """The parts of an error's body. `status`: its own, 0 where it has none; `pause`: seconds that it asks to be left alone.

    `failed_generation`: the model's words were no valid reply; `flagged`: a moderation says what it objects to.
    """

    messages: list[str] = field(default_factory=list[str])
    codes: set[str] = field(default_factory=set[str])
    params: list[str] = field(default_factory=list[str])
    status: int = 0
    pause: float = 0.0
    failed_generation: bool = False
    flagged: bool = False

    @classmethod
    def of(cls, body: object) -> "ErrorBody":
        """Read a body: JSON that was loaded, or its text."""
        found = cls()
        found._read(body, level=0)
        if not found.messages:
            # Nothing that we know: the body says more than its status does.
            found.messages += _whole(body)
        return found

    @property
    def text(self) -> str:
        """All messages, each once, the outermost first."""
        return "; ".join(dict.fromkeys(message.rstrip(".") if len(self.messages) > 1 else message for message in self.messages))

    @property
    def asked_pause(self) -> float:
        """Seconds until the next try, from a field or from the words."""
        words = ASKED_PAUSE.search(self.text)
        return self.pause or (parse_duration("".join(words.groups()).lower()) if words else 0.0)

    @property
    def own_status(self) -> int:
        """The status of an error that came as a success: its own, else by its words."""
        if self.status:
            return self.status
        words = " ".join([*sorted(self.codes), self.text])
        for pattern, status in STATUS_OF_WORD:
            if pattern.search(words):
                return status
        return UNKNOWN_ERROR

    def _read(self, value: object, *, level: int) -> None:
        if level > MOST_LEVELS:
            return
        if isinstance(value, str):
            self._read_text(value, level=level)
        elif isinstance(value, list):
            for each in cast(list[object], value)[:MOST_ENTRIES]:
                self._read(each, level=level + 1)
        elif isinstance(value, dict):
            self._read_fields(cast(Mapping[str, object], value), level=level)

    def _read_text(self, text: str, *, level: int) -> None:
        text = text.strip()
        if text.startswith(("{", "[")):
            try:
                loaded: object = json.loads(text, strict=False)
            except (ValueError, RecursionError):
                self.messages.append(text)
                return
            self._read(loaded, level=level + 1)
        elif STREAM.match(text):
            for data in DATA.findall(text):
                if data.strip().startswith("{") or "[DONE]" not in data:
                    self._read(data, level=level + 1)
        elif text and not text.startswith("<"):  # a page of HTML, say of a proxy, has nothing for a sentence
            self.messages.append(text)

    def _read_fields(self, fields: Mapping[str, object], *, level: int) -> None:
        self.failed_generation |= "failed_generation" in fields
        self.flagged |= "flagged_input" in fields
        self._read_codes(fields)
        place = fields.get("loc")
        if isinstance(place, list) and place:
            self.params.append(str(cast(list[object], place)[-1]))
        param = fields.get("param")
        if isinstance(param, str) and param:
            self.params.append(param)
        for name in MESSAGES:
            words = fields.get(name)
            if isinstance(words, str) and words:
                where = f"{self.params[-1]}: " if place and self.params else ""
                self._read(f"{where}{words}" if where else words, level=level + 1)
        if isinstance(fields.get("n_prompt_tokens"), int):  # llama.cpp's own
            self.messages.append(f"the prompt has {fields['n_prompt_tokens']} tokens")
        for name in INNER:
            if fields.get(name):
                self._read(fields[name], level=level + 1)

    def _read_codes(self, fields: Mapping[str, object]) -> None:
        for name in CODES:
            for value in _texts_of(fields.get(name)):
                number = int(value) if value.isdecimal() and len(value) < 9 else 0
                if 400 <= number < 600 and not self.status:
                    self.status = number
                if value and value != "error":
                    self.codes.add(value)
        for name in PAUSES:
            pause = fields.get(name)
            if isinstance(pause, str | int | float) and not self.pause:
                self.pause = parse_duration(str(pause))


def _whole(body: object) -> list[str]:
    if isinstance(body, str):
        return [body.strip()] if body.strip().startswith(("{", "[")) else []
    return [json.dumps(body, ensure_ascii=False)] if isinstance(body, dict | list) and body else []


def is_event_stream(content: bytes) -> bool:
    """Return True for the body of a stream of events."""
    return STREAM.match(content[:4000].decode(errors="replace")) is not None


def _texts_of(value: object) -> list[str]:
    """Return the texts and numbers of a field that holds one or several."""
    values = cast(list[object], value)[:MOST_ENTRIES] if isinstance(value, list) else [value]
    return [str(each) for each in values if isinstance(each, str | int) and not isinstance(each, bool)]
