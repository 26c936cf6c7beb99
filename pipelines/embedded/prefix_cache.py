"""The beginnings of requests that a provider would have in its prefix cache, counted as OpenAI does."""

import hashlib

from assets.text.words import count_tokens

FEWEST_TOKENS = 1024  # a shorter beginning is not cached
TOKENS_AT_A_TIME = 128
CHARACTERS_AT_A_TIME = 64
MOST_BEGINNINGS = 100_000  # remembered, the last ones


class PrefixCache:
    """The beginnings of all texts so far."""

    def __init__(self) -> None:
        self._known: dict[bytes, None] = {}

    def cached_tokens(self, text: str) -> int:
        """Return the tokens with which an earlier text began in the same way, in whole steps, and remember this one."""
        beginning = hashlib.blake2b(digest_size=16)
        known = 0
        for end in range(CHARACTERS_AT_A_TIME, len(text) + 1, CHARACTERS_AT_A_TIME):
            beginning.update(text[end - CHARACTERS_AT_A_TIME : end].encode())
            # A token has a character at least.
            if end >= FEWEST_TOKENS:
                digest = beginning.digest()
                if digest in self._known:
                    known = end
                self._known[digest] = None
        while len(self._known) > MOST_BEGINNINGS:
            del self._known[next(iter(self._known))]
        tokens = count_tokens(text[:known])
        return 0 if tokens < FEWEST_TOKENS else tokens - tokens % TOKENS_AT_A_TIME
