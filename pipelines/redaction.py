"""Texts and addresses made fit for messages, files and ids: without keys and passwords in any form, and short where asked."""

import base64
import binascii
import html
import json
import os
import re
import sysconfig
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, quote_plus, unquote, unquote_plus, urlsplit, urlunsplit

from assets.records.readable import UNREADABLE

MAX_LENGTH = 200
LONGEST_READ = 4000  # of a provider's words; the rest is not looked at
HIDDEN = "[hidden]"
SHORT = 6
# A key of so many letters is hidden in pieces too: nothing else has six letters of it in a row.
LONG = 12
PIECE = 6
END = 4
# Keys of common providers, and keys that the provider has masked itself, such as sk-ab***yz or sk-ab...yz.
KEY_SHAPED = re.compile(r"\b(?:sk|pk|rk|hf|gsk|xai|key|nvapi)[-_][\w-]{8,}|AIza[\w-]{8,}|\*{3}|\w(?:\.{3}|…)\w")
SECRET_VARIABLES = re.compile(r"KEY|TOKEN(?!S_)|SECRET|PASSW|CREDENTIAL|AUTH|DATABASE|STORE|WEBHOOK")
ADDRESS = re.compile(r"[A-Za-z][\w+.-]*://[^\s'\"`<>]+")
SECRET_QUERY = re.compile(r"[?&][^=&]*(?:key|token|secret|passw|credential|auth|signature)[^=&]*=", re.IGNORECASE)
WORD = re.compile(r"[^\s\"]+")
BASE64 = re.compile(r"[A-Za-z0-9+/_-]{4,}")
# Folders before a file's name, as errors and tracebacks quote them, and as they stand in a sentence.
FOLDERS = re.compile(r"(?<=[\"'])/[^\"'\n]*/(?=[^\"'/\n]*[\"'])|(?<![\w:/.~>-])/(?:[^\s/\"'<>|:]+/)+")


def public_address(address: str) -> str:
    """The address without user, password, query and fragment. One that cannot be taken apart for sure is hidden."""
    parts = _parts(address)
    if parts is None:
        scheme, mark, _ = address.partition("://")
        if not mark and "@" not in address:
            return address
        return f"{scheme}://{HIDDEN}" if mark else HIDDEN
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def without_logins(text: str) -> str:
    """Return a sentence whose web addresses have no login, and no query that is named like a secret.

    Whatever was given as a source is repeated in the sentence that refuses it.
    """
    return ADDRESS.sub(lambda address: _without_login(address[0]), text)


def _without_login(address: str) -> str:
    bare = address.rstrip(".,;:!?)")
    rest = address[len(bare) :]
    scheme, _, beyond = bare.partition("://")
    authority = re.split(r"[/?#]", beyond, maxsplit=1)[0]
    has_login = "@" in authority or (_parts(f"{scheme}://{authority}") is None and ":" in authority)
    if has_login or SECRET_QUERY.search(bare):
        return public_address(bare) + rest
    return address


def can_be_taken_apart(address: str) -> bool:
    """Return True where it is sure which part of a web address is its host: a / or @ in a password leaves that open."""
    return _parts(address) is not None


def login_is_unsure(address: str) -> bool:
    """Return True for an address of any kind that may hold a login, and does not say for sure where that ends."""
    return "@" in address and not can_be_taken_apart(address)


def _parts(address: str) -> SplitResult | None:
    try:
        parts = urlsplit(address)
        _ = parts.port  # which raises for one that is no number, as where a / cuts a password
    except ValueError:
        return None
    sure = address.count("@") == parts.netloc.count("@") <= 1
    return parts if parts.scheme and parts.hostname and sure else None


def login_of(address: str) -> tuple[str, str] | None:
    """User and password of an address, as they are sent; None where it has neither."""
    parts = _parts(address)
    if parts is None or (parts.username is None and parts.password is None):
        return None
    return unquote(parts.username or ""), unquote(parts.password or "")


def secrets_of(address: str) -> tuple[str, ...]:
    """Return the secrets of an address: its password, or a user without one, and the values of its query."""
    parts = _parts(address)
    if parts is None:
        beyond = address.partition("://")[2]
        return (beyond,) if beyond else ()
    user, password = login_of(address) or ("", "")
    # A version such as that of Azure's API is no secret, and its words stand in messages.
    values = [value for name, value in parse_qsl(parts.query) if "version" not in name.lower()]
    return tuple(filter(None, [password or user, *values]))


class Redactor:
    """Takes secrets out of texts: whole, and in pieces of six or more characters, or of four at either end.

    They are found as they are, percent-encoded, JSON-escaped, and within base64, as of `user:password`. A secret of a few
    letters, such as local servers take for a key, is hidden where it stands alone: it may be part of any word.
    """

    def __init__(self, *secrets: str) -> None:
        known = set(filter(None, secrets))
        self._alone = _any_of(known)
        self._whole = _any_of(chain.from_iterable(map(_forms, known)))
        self._pieces: set[str] = set()
        self._heads: tuple[str, ...] = ()
        self._tails: tuple[str, ...] = ()
        for secret in known:
            if len(secret) >= LONG:
                self._pieces.update(secret[start : start + PIECE] for start in range(len(secret) - PIECE + 1))
                self._heads += (secret[:END],)
                self._tails += (secret[-END:],)

    @classmethod
    def of_environment(cls) -> "Redactor":
        """One for the values of variables that are named like secrets, and for what is secret in addresses and headers."""
        secrets = list[str]()
        for name, value in os.environ.items():
            if SECRET_VARIABLES.search(name) and len(value) >= SHORT:
                secrets.append(value)
            if "://" in value:
                secrets += secrets_of(value)
            if name.endswith("_HEADERS"):
                for line in value.replace("\\n", "\n").splitlines():
                    content = line.partition(":")[2].strip()
                    secrets += [secret for secret in (content, content.rpartition(" ")[2]) if len(secret) >= SHORT]
        return cls(*secrets)

    def clean(self, text: str) -> str:
        """One line of at most 200 characters without the secrets."""
        text = self._without_whole(text)
        plain = UNREADABLE.sub(" ", text[:LONGEST_READ])  # what is told of a failed item is in its release
        words = "".join(char if char.isprintable() else " " for char in plain).split()
        cleaned = WORD.sub(lambda word: HIDDEN if self._shows_key(word[0]) else word[0], " ".join(words))
        return cleaned if len(cleaned) <= MAX_LENGTH else cleaned[: MAX_LENGTH - 1] + "…"

    def hide(self, text: str) -> str:
        """The text as it is, however long, without the secrets; pieces that stand as they are stay."""
        if self._whole is None:
            return text
        return WORD.sub(lambda word: HIDDEN if self._holds_escaped(word[0]) else word[0], self._without_whole(text))

    def _without_whole(self, text: str) -> str:
        return text if self._whole is None else self._whole.sub(HIDDEN, text)

    def _holds_escaped(self, word: str) -> bool:
        """Return True where the word has a secret, or a piece of one, in one of the forms that servers echo."""
        if self._alone is None:
            return False
        return any(self._alone.search(reading) or self._has_piece(reading) for reading in _readings(word))

    def _has_piece(self, text: str) -> bool:
        return any(piece in text for piece in self._pieces)

    def _shows_key(self, word: str) -> bool:
        if KEY_SHAPED.search(word) or self._has_piece(word) or self._holds_escaped(word) or _is_login(word):
            return True
        bare = word.strip("'\"`.,:;!?()[]{}<>")
        return bare.startswith(self._heads) or bare.endswith(self._tails)


def _any_of(secrets: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for any of these; None without one."""
    # The longest first: of two that begin alike, a pattern takes the one that stands first.
    longest_first = sorted(set(secrets), key=len, reverse=True)
    return re.compile("|".join(map(_pattern, longest_first))) if longest_first else None


def _pattern(secret: str) -> str:
    escaped = re.escape(secret)
    return rf"(?<!\w){escaped}(?!\w)" if len(secret) < SHORT else escaped


def _forms(secret: str) -> Iterator[str]:
    """The secret as it is and as it is escaped in addresses, JSON and pages."""
    yield secret
    for quoted in (quote(secret), quote(secret, safe=""), quote_plus(secret)):
        yield quoted
        yield re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), quoted)
    once = json.dumps(secret)[1:-1]
    yield once
    yield json.dumps(once)[1:-1]  # of JSON within JSON
    yield html.escape(secret)


def _readings(word: str) -> Iterator[str]:
    """Yield the word decoded from each of the forms that servers echo."""
    if "%" in word or "+" in word:
        yield unquote_plus(word)
    if "\\" in word:
        yield re.sub(r"\\+u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), word).replace("\\", "")
    if "&" in word:
        yield html.unescape(word)
    for run in BASE64.findall(unquote(word)):
        # Where it begins is not known: other letters may stand before it, as in Basic+dXNlcjpwYXNz.
        for start in range(4):
            yield _decode_run(run[start:])


def _is_login(word: str) -> bool:
    """Return True where the word is base64 that begins as a user and a password do, whoever's they are."""
    decoded = map(_decode_run, BASE64.findall(word))
    return any(text.isascii() and text.isprintable() and ":" in text[1:] for text in decoded)


def _decode_run(run: str) -> str:
    """Return a run of letters decoded from base64, as far as it is whole; servers cut off what is long."""
    whole = run.translate(str.maketrans("-_", "+/"))
    whole = whole[: len(whole) - 1] if len(whole) % 4 == 1 else whole
    try:
        return base64.b64decode(whole + "=" * (-len(whole) % 4)).decode("utf-8", errors="replace")
    except binascii.Error:
        return ""


def variable_told_by(text: str) -> str:
    """Return the environment's variable whose secret stands in the text; "" where none does."""
    for name, value in os.environ.items():
        if SECRET_VARIABLES.search(name) and len(value) >= LONG and value in text:
            return name
    return ""


def shareable(text: str) -> str:
    """An error's words or traceback as a file may hold them: without this machine's folders and its environment's secrets."""
    text = Redactor.of_environment().hide(text)
    paths = sysconfig.get_paths()
    for own in (paths["purelib"], paths["platlib"], paths["stdlib"], str(Path(__file__).parents[1])):
        text = text.replace(f"{own}/", "")
    return FOLDERS.sub("", text)
