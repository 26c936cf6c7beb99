"""Embeddings without a model: hashed bags of stems, so that texts with common words lie close."""

import base64
import hashlib
import math
import struct
from functools import lru_cache

from pipelines.embedded.reader import stems

DIMENSIONS = 256


@lru_cache(maxsize=50_000)
def _place(stem: str) -> tuple[int, float]:
    digest = hashlib.sha256(stem.encode()).digest()
    return int.from_bytes(digest[:4], "big") % DIMENSIONS, 1.0 if digest[4] % 2 else -1.0


def embedding(text: str) -> list[float]:
    """A vector of length 1; a text without telling words gets a fixed one."""
    vector = [0.0] * DIMENSIONS
    for stem in sorted(stems(text)):
        place, sign = _place(stem)
        vector[place] += sign
    length = math.sqrt(sum(value * value for value in vector))
    if not length:
        return [1.0] + [0.0] * (DIMENSIONS - 1)
    return [round(value / length, 8) for value in vector]


def encoded(text: str, *, as_base64: bool) -> list[float] | str:
    """The vector as the OpenAI API sends it: numbers, or little-endian 32-bit floats in base64."""
    vector = embedding(text)
    return base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *vector)).decode() if as_base64 else vector
