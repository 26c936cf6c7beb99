"""Text from a provider, made safe for a message: short, on one line, and free of the API key."""

import re

MAX_LENGTH = 200
HIDDEN = "[hidden]"
SHORT = 6
# Keys of common providers, and keys that the provider has masked itself, such as sk-ab***yz or sk-ab...yz.
KEY_SHAPED = re.compile(r"\b(?:sk|pk|rk|hf|gsk|xai|key|nvapi)[-_][\w-]{8,}|AIza[\w-]{8,}|\*{3}|\w(?:\.{3}|…)\w")


class Redactor:
    """Takes one key out of texts: whole, and in pieces of six or more characters, or of four at either end.

    A key of a few letters, such as local servers take, is hidden where it stands alone: it may be part of any word.
    """

    def __init__(self, key: str) -> None:
        self._whole = re.compile(rf"(?<!\w){re.escape(key)}(?!\w)" if len(key) < SHORT else re.escape(key)) if key else None
        is_long = len(key) >= 12
        self._pieces = {key[start : start + 6] for start in range(len(key) - 5)} if is_long else set[str]()
        self._head, self._tail = (key[:4], key[-4:]) if is_long else ("", "")

    def clean(self, text: str) -> str:
        """One line of at most 200 characters without the key."""
        if self._whole is not None:
            text = self._whole.sub(HIDDEN, text)
        words = "".join(char if char.isprintable() else " " for char in text[:4000]).split()
        cleaned = " ".join(HIDDEN if self._shows_key(word) else word for word in words)
        return cleaned if len(cleaned) <= MAX_LENGTH else cleaned[: MAX_LENGTH - 1] + "…"

    def _shows_key(self, word: str) -> bool:
        if KEY_SHAPED.search(word) or any(piece in word for piece in self._pieces):
            return True
        bare = word.strip("'\"`.,:;!?()[]{}<>")
        return bool(self._head) and (bare.startswith(self._head) or bare.endswith(self._tail))
