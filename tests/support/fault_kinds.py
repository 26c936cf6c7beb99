"""The kinds of faults of an endpoint, as tables: what is sent in the place of a reply, by the kind's name."""

import gzip
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from tests.support.simulated_provider.exchange import CHAT, CapturedResponse, error_response

Chat = dict[str, Any]
Spoil = Callable[[Chat], CapturedResponse]
Change = Callable[[Chat], Mapping[str, Any]]
PAGE = b"<html>Welcome to the cafe's network</html>"
JSON = b"content-type: application/json\r\n"


@cache
def bomb() -> CapturedResponse:
    """Two hundred KB that unpack to 200 MB."""
    return CapturedResponse(200, gzip.compress(bytes(200 << 20)), ((b"content-encoding", b"gzip"),))


def as_response(body: Mapping[str, Any]) -> CapturedResponse:
    """A body with status 200."""
    return CapturedResponse(200, b"").with_content(body)


def with_planted_word(completion: Chat) -> Chat:
    """The completion with one word more in its first text: a reply of the right form that nobody gave."""
    choice = completion["choices"][0]
    whole: str = choice["message"]["content"]
    planted = whole.replace('": "', '": "Planted ', 1) if '": "' in whole else f"{whole} planted"
    return {**completion, "choices": [{**choice, "message": {"role": "assistant", "content": planted}}]}


def _with_headers(response: CapturedResponse, headers: Mapping[str, str]) -> CapturedResponse:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    others = tuple((name, text) for name, text in response.headers if name.decode() not in named)
    return replace(response, headers=others).with_headers(named)


def _error(status: int, message: str, *, code: str | None = None, **headers: str) -> Spoil:
    response = _with_headers(error_response(status, message, code=code), headers)
    return lambda completion: response


def _page(status: int, body: bytes = PAGE, **headers: str) -> Spoil:
    response = _with_headers(CapturedResponse(status, body, ((b"content-type", b"text/html"),)), headers)
    return lambda completion: response


def _body(change: Callable[[bytes], bytes], *, status: int = 200, **headers: str) -> Spoil:
    """The completion's bytes, changed."""
    return lambda completion: _with_headers(CapturedResponse(status, change(as_response(completion).body)), headers)


def _fields(change: Change) -> Spoil:
    """The completion with other fields."""
    return lambda completion: as_response({**completion, **change(completion)})


def _choice(**fields: Any) -> Spoil:
    """The completion whose one choice has other fields."""
    return _fields(lambda completion: {"choices": [{**completion["choices"][0], **fields}]})


def _usage(usage: object) -> Spoil:
    return _fields(lambda completion: {"usage": usage})


def _words(change: Callable[[str], Any]) -> Spoil:
    """The completion with other words."""

    def spoil(completion: Chat) -> CapturedResponse:
        message = completion["choices"][0]["message"]
        return _choice(message={"role": "assistant", "content": change(message["content"])})(completion)

    return spoil


def _with_half_a_character(completion: Chat) -> CapturedResponse:
    spoiled = _words(lambda words: words.replace('": "', '": "@HALF@', 1))(completion)
    return replace(spoiled, body=spoiled.body.replace(b"@HALF@", b"\\ud83d"))


def _choices(completion: Chat, *, planted: Mapping[str, Any]) -> list[Chat]:
    return [{**with_planted_word(completion)["choices"][0], **planted}, *completion["choices"]]


def _events(*, share: float = 1.0, end: str = "data: [DONE]\n\n") -> Spoil:
    """A stream of events that nobody asked for, with a share of the words."""

    def spoil(completion: Chat) -> CapturedResponse:
        words = completion["choices"][0]["message"]["content"]
        usage = json.dumps({"choices": [], "usage": completion["usage"]}) if share == 1.0 else ""
        chunks = [json.dumps({"choices": [{"delta": {"content": words[: int(len(words) * share)]}}]}), usage]
        lines = [f"data: {chunk}\n\n" for chunk in chunks if chunk]
        return CapturedResponse(
            200, "".join([": waiting\n\n", *lines, end]).encode(), ((b"content-type", b"text/event-stream"),)
        )

    return spoil


# What is sent in place of a completion. Those of the first group are the request's own and strike at each of its tries.
OWN: dict[str, Spoil] = {
    "context_length": _error(400, "This model's maximum context length is 8 tokens.", code="context_length_exceeded"),
    "content_filter": _error(400, "The response was filtered.", code="content_filter"),
    "invalid_prompt": _error(400, "Invalid prompt: it was flagged.", code="invalid_prompt"),
    "bad_request": _error(400, "messages: roles must alternate"),
    "too_large_413": _page(413, b"<html>413 Request Entity Too Large</html>"),
    "unprocessable_422": _error(422, "messages: the value is not a valid one"),
    "legal_451": _error(451, "Not available in your country."),
    "always_500": _error(500, "The worker died at this prompt."),
}
TURNS_AWAY: dict[str, Spoil] = {
    "conflict_409": _error(409, "Conflict."),
    "too_early_425": _error(425, "Too early."),
    "limit_with_hint": _error(429, "Slow down.", code="rate_limit_exceeded", retry_after="1"),
    "limit_without_hint": _error(429, "Slow down.", code="rate_limit_exceeded"),
    "limit_until_a_past_date": _error(429, "Slow down.", retry_after="Wed, 21 Oct 2015 07:28:00 GMT"),
    "limit_with_negative_hint": _error(429, "Slow down.", retry_after="-30"),
    "limit_with_words_as_hint": _error(429, "Slow down.", retry_after="soon, nan"),
    "limit_page": _page(429),
    "limit_in_200": lambda completion: as_response({"error": {"message": "Rate limit reached.", "code": 429}}),
}
# One sentence ends the run at these, and the same command goes on when they have passed.
ENDS: dict[str, Spoil] = {
    "key_401": _error(401, "Invalid key."),
    "quota_402": _error(402, "Nothing left."),
    "challenge_403": _page(403, b"<html>Checking your browser</html>"),
    "page_404": _page(404),
    "method_405": _page(405),
    "proxy_login_407": _page(407),
    "limit_for_a_day": _error(429, "Daily limit.", retry_after="86400"),
    "found_302": _page(302, location="/login"),
    "moved_301": _page(301, location=CHAT),
}
PASSING: dict[str, Spoil] = {
    "error_500": _error(500, "Something went wrong."),
    "bad_gateway": _page(502),
    "unavailable": _error(503, "Overloaded."),
    "unavailable_for_a_day": _error(503, "Maintenance.", retry_after="86400"),
    "gateway_timeout_504": _page(504),
    "overloaded_529": _error(529, "Overloaded."),
    "unknown_520": _page(520),
    "timeout_524": _page(524, b"error code: 524"),
    "odd_status_600": _page(600),
    "timeout_408": _error(408, "Timed out."),
    "misdirected_421": _page(421),
    "dependency_424": _error(424, "The model's container failed."),
    "closed_499": _page(499),
    "no_content_204": _page(204, b""),
    "accepted_202": _page(202, b'{"status": "queued"}'),
    "part_206": _body(lambda body: body[: len(body) // 2], status=206),
    "not_modified_304": _page(304, b""),
    "redirect_to_nowhere": _page(307),
    "empty_body": _page(200, b""),
    "page_of_html": _page(200),
    "error_in_200": lambda completion: as_response({"error": {"message": "upstream", "code": 502}}),
    "error_as_text": _page(200, b"upstream connect error or disconnect/reset before headers"),
    "error_in_choice": _choice(error={"message": "upstream", "code": 502}, finish_reason="error"),
    "error_beside_choices": _fields(lambda completion: {"error": {"message": "upstream"}}),
    "no_choices": _fields(lambda completion: {"choices": []}),
    "null_choices": _fields(lambda completion: {"choices": None}),
    "choice_is_null": _fields(lambda completion: {"choices": [None]}),
    "message_is_null": _choice(message=None),
    "finish_unknown": _choice(finish_reason="error"),
    "two_first_choices": _fields(lambda completion: {"choices": _choices(completion, planted={})}),
    "other_model": _fields(lambda completion: {**with_planted_word(completion), "model": "tiny-1b-instruct"}),
    "smaller_model": _fields(lambda completion: {**with_planted_word(completion), "model": f"{completion['model']}-mini"}),
    "two_documents": _body(lambda body: body + body),
    "trailing_comma": _body(lambda body: body[:-1] + b",}"),
    "json_in_json": _body(lambda body: json.dumps(body.decode()).encode()),
    "deep_nesting": _body(lambda body: b'{"choices":' + b"[" * 200_000),
    "says_packed": _body(bytes, content_encoding="gzip"),
    "says_not_packed": _body(gzip.compress),
    "half_packed": _body(lambda body: gzip.compress(body)[: len(body) // 8], content_encoding="gzip"),
    "other_packing": _body(gzip.compress, content_encoding="br, gzip"),
    "wrong_checksum": _body(lambda body: gzip.compress(body)[:-8] + bytes(8), content_encoding="gzip"),
    "bomb": lambda completion: bomb(),
    "cut_stream": _events(share=0.5, end=""),
    "stream_with_error": _events(share=0.5, end='data: {"error": {"message": "upstream"}}\n\n'),
}
# Words that cannot be used are complained about, and the reply to a complaint is another.
WORDS: dict[str, Spoil] = {
    "empty_words": _words(lambda words: ""),
    "null_words": _words(lambda words: None),
    "number_as_words": _words(lambda words: 7),
    "rubbish_words": _words(lambda words: "Service temporarily degraded."),
    "half_of_the_words": _words(lambda words: words[: len(words) // 2]),
    "cut_at_length": _choice(finish_reason="length"),
    "filtered_in_200": _choice(finish_reason="content_filter"),
    "null_character": _words(lambda words: words.replace('": "', '": "\u0000', 1)),
    "half_a_character": _with_half_a_character,
    "latin_1": _body(lambda body: body.decode().encode("latin-1", errors="replace")),
}
# Odd replies that are right ones, and are used as they come.
ODD: dict[str, Spoil] = {
    "no_usage": lambda completion: as_response({name: value for name, value in completion.items() if name != "usage"}),
    "negative_usage": _usage({"prompt_tokens": -5, "completion_tokens": -5}),
    "huge_usage": _usage({"prompt_tokens": 10**30, "completion_tokens": 10**30}),
    "small_usage": _usage({"prompt_tokens": 1, "completion_tokens": 1}),
    "usage_as_text": _usage({"prompt_tokens": "many", "completion_tokens": "12"}),
    "usage_as_list": _usage([1, 2]),
    "second_choice_first": _fields(lambda completion: {"choices": _choices(completion, planted={"index": 1})}),
    "same_choice_twice": _fields(lambda completion: {"choices": completion["choices"] * 2}),
    "no_finish": _choice(finish_reason=None),
    "words_in_parts": _words(lambda words: [{"type": "text", "text": words}]),
    "no_model": _fields(lambda completion: {"model": None, "id": None}),
    "created_201": _body(bytes, status=201),
    "byte_order_mark": _body(lambda body: b"\xef\xbb\xbf" + body),
    "utf_16": _body(lambda body: body.decode().encode("utf-16"), content_type="application/json; charset=utf-16"),
    "windows_1252": _body(
        lambda body: body.decode().encode("windows-1252"), content_type="application/json; charset=windows-1252"
    ),
    "blank_lines_first": _body(lambda body: b"\n \n" * 200 + body),
    "deflated": _body(zlib.compress, content_encoding="deflate"),
    "stream": _events(),
}


def _head(*lengths: int, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    lines = b"".join(b"content-length: %d\r\n" % length for length in lengths)
    return b"HTTP/1.1 " + status + b"\r\n" + JSON + lines + more + b"\r\n"


def _chunked(chunks: bytes) -> list[bytes]:
    return [_head(more=b"transfer-encoding: chunked\r\n") + chunks]


def _chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


def _single_bytes(whole: bytes) -> list[bytes]:
    return [whole[at : at + 1] for at in range(len(whole))]


# Bytes in the place of an answer, one part after another, by a reply and by another that is not meant.
Raw = Callable[[bytes, bytes], list[bytes]]
RAW: dict[str, Raw] = {
    "short_length": lambda body, planted: [_head(len(body) // 2) + body],
    "long_length": lambda body, planted: [_head(len(body) + 500) + body],
    "no_length": lambda body, planted: [_head() + body[: len(body) // 2]],
    "negative_length": lambda body, planted: [_head(-5) + planted],
    "two_lengths": lambda body, planted: [_head(len(planted), len(body)) + planted],
    "length_and_chunks": lambda body, planted: [
        _head(len(body) // 3, more=b"transfer-encoding: chunked, identity\r\n") + _chunk(planted) + _chunk(b"")
    ],
    "broken_chunk": lambda body, planted: _chunked(_chunk(body[: len(body) // 2]) + b"zz\r\n"),
    "no_last_chunk": lambda body, planted: _chunked(_chunk(body)),
    "chunk_without_end": lambda body, planted: _chunked(b"ffffffffffffffff\r\n" + body),
    "half_a_head": lambda body, planted: [_head(len(body))[:40]],
    "closes_politely": lambda body, planted: [],
    "huge_head": lambda body, planted: [_head(len(body), more=b"x-junk: %s\r\n" % (b"j" * 300_000)) + body],
    "null_in_head": lambda body, planted: [_head(len(body), more=b"x-junk: \0\r\n") + body],
    "switches_protocols": lambda body, planted: [_head(status=b"101 Switching Protocols") + planted],
    "slow_bytes": lambda body, planted: _single_bytes(_head(len(body)) + body),
    "no_http": lambda body, planted: [body],
}
# The first reply is the one that is meant.
GOOD_RAW: dict[str, Raw] = {
    "two_replies": lambda body, planted: [_head(len(body)) + body + _head(len(planted)) + planted],
    "late_second_reply": lambda body, planted: [_head(len(body)) + body, _head(len(planted)) + planted],
    "early_hints": lambda body, planted: [b"HTTP/1.1 103 Early Hints\r\n\r\n", _head(len(body)) + body],
    "tiny_chunks": lambda body, planted: _chunked(b"".join(map(_chunk, _single_bytes(body))) + _chunk(b"")),
}
ON_THE_WIRE = (
    "hangs",
    "hangs_in_the_body",
    "drops",
    "half_a_body",
    "slow",
    "redirect",
    "redirect_home",
    "others_reply",
    *RAW,
    *GOOD_RAW,
)
INSTEAD: dict[str, Spoil] = {**OWN, **TURNS_AWAY, **ENDS, **PASSING, **WORDS, **ODD}
KINDS: tuple[str, ...] = (*INSTEAD, *ON_THE_WIRE)
ENDING = {"redirect", *ENDS}
# Nothing is billed for what was turned away.
TURNED_AWAY = ({*OWN, *TURNS_AWAY, *ENDS} | {"redirect", "redirect_home"}) - {"always_500"}
