"""JSON that was not written by this program: read, or refused with a reason that can end a sentence."""

import json
from collections.abc import Callable
from itertools import chain
from typing import Any, cast

# Several times what any file here needs. Python gives up somewhere below 1,000, depending on the caller's own depth.
MOST_LEVELS = 100
# Those whose bytes do not show what they are.
CHARSETS: dict[str, str] = dict.fromkeys(("windows-1252", "iso-8859-1", "latin-1", "latin1"), "windows-1252")

Pairs = list[tuple[str, Any]]


class JsonError(ValueError):
    """Text that is no JSON; the message is the reason, without a full stop."""


class JsonTooDeep(JsonError):
    """JSON that is nested deeper than anything needs."""

    def __init__(self) -> None:
        super().__init__(f"lists and objects are nested in it more than {MOST_LEVELS} levels deep")


def parse_json(content: bytes | str, *, object_pairs_hook: Callable[[Pairs], Any] | None = None) -> Any:
    """The value of this text. Raises JsonError."""
    try:
        value: object = json.loads(content, object_pairs_hook=object_pairs_hook)
    except UnicodeDecodeError as error:
        raise JsonError(f"it is not UTF-8 (byte {error.start})") from error
    except RecursionError as error:
        raise JsonTooDeep from error
    except ValueError as error:
        raise JsonError(str(error)) from error
    level = _inner(value)
    for _ in range(MOST_LEVELS - 1):
        level = list(chain.from_iterable(map(_inner, level)))
    if level:
        raise JsonTooDeep
    return value


def mended_json(content: bytes, *, charset: str | None = None) -> bytes:
    """Return the same JSON as UTF-8, with U+FFFD for halves of characters and for bytes that are no text; other text as it is.

    Strict parsers refuse the whole of a document for one of them. `charset`: as its sender names it; one of `CHARSETS` counts,
    else what the first bytes show.
    """
    encoding = CHARSETS.get((charset or "").lower(), json.detect_encoding(content))
    try:
        text = json.dumps(json.loads(content.decode(encoding, errors="replace")), ensure_ascii=False)
    except (ValueError, RecursionError):
        return content
    return text.encode(errors="surrogatepass").decode(errors="replace").encode()


def _inner(value: object) -> list[object]:
    """The lists and objects directly in a value."""
    if isinstance(value, dict):
        held = list(cast(dict[str, object], value).values())
    else:
        held = cast(list[object], value) if isinstance(value, list) else []
    return [part for part in held if isinstance(part, (dict, list))]
