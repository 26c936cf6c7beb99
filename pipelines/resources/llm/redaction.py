"""Text from a provider, made fit for a message: short, on one line, and free of the API key."""

import re

LONGEST = 200
HIDDEN = "[hidden]"
# Keys of common providers, and keys that the provider has masked itself, such as sk-ab***yz or sk-ab...yz.
KEY_SHAPED = re.compile(r"\b(?:sk|pk|rk|hf|gsk|xai|key|nvapi)[-_][\w-]{8,}|AIza[\w-]{8,}|\*{3}|\w(?:\.{3}|…)\w")


class Redactor:
    """Takes one key out of texts: whole, and in pieces of six or more characters, or of four at either end."""

    def __init__(self, key: str) -> None:
        self._key = key
        long = len(key) >= 12
        self._pieces = {key[start : start + 6] for start in range(len(key) - 5)} if long else set[str]()
        self._head, self._tail = (key[:4], key[-4:]) if long else ("", "")

    def clean(self, text: str) -> str:
        """One line of at most 200 characters without the key."""
        if self._key:
            text = text.replace(self._key, HIDDEN)
        words = "".join(char if char.isprintable() else " " for char in text[:4000]).split()
        line = " ".join(HIDDEN if self._betrays(word) else word for word in words)
        return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"

    def _betrays(self, word: str) -> bool:
        if KEY_SHAPED.search(word) or any(piece in word for piece in self._pieces):
            return True
        bare = word.strip("'\"`.,:;!?()[]{}<>")
        return bool(self._head) and (bare.startswith(self._head) or bare.endswith(self._tail))
