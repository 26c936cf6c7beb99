"""Real documents cut into sections of 200 to 800 tokens, at headings where there are any."""

import hashlib
import re
from collections.abc import Iterator

from assets.deep_research.corpus.reading import Line, RealDocument
from assets.deep_research.records import Section
from assets.text.words import count_tokens

FEWEST_TOKENS = 200
MOST_TOKENS = 800
MOST_LETTERS = 2000  # of a piece of a sentence that is longer than a section, such as a table
SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+")


def sections_of(document: RealDocument) -> Iterator[Section]:
    """Yield the document's sections in order; what is left over and too short joins the one before, or is left out."""
    pieces = list(_pieces(document.lines))
    for number, (heading, lines) in enumerate(pieces):
        text = "\n".join(lines)
        if count_tokens(text) < FEWEST_TOKENS // 2 and len(pieces) > 1:
            continue
        title = document.title if heading in ("", document.title) else f"{document.title}: {heading}"
        yield Section(
            document_id=hashlib.sha256(f"{document.document_id}\x1f{number}".encode()).hexdigest()[:12],
            title=title,
            text=text,
            source=document.document_id,
            license=document.license,
        )


def _pieces(lines: tuple[Line, ...]) -> Iterator[tuple[str, list[str]]]:
    """Yield heading and lines of each section."""
    heading = ""
    current: list[str] = []
    tokens = 0
    for line in lines:
        for part in _parts(line.text):
            size = count_tokens(part)
            full = tokens + size > MOST_TOKENS or (line.heading and tokens >= FEWEST_TOKENS)
            if current and full:
                yield heading, current
                current = []
                tokens = 0
            if line.heading and not current:
                heading = part
            current.append(part)
            tokens += size
    if current:
        yield heading, current


def _parts(text: str) -> Iterator[str]:
    """Yield the line, in pieces where it is longer than a section."""
    if count_tokens(text) <= MOST_TOKENS:
        yield text
        return
    part = ""
    for sentence in SENTENCE_END.split(text):
        while count_tokens(sentence) > MOST_TOKENS:
            yield sentence[:MOST_LETTERS]
            sentence = sentence[MOST_LETTERS:]
        if part and count_tokens(f"{part} {sentence}") > MOST_TOKENS:
            yield part
            part = sentence
        else:
            part = f"{part} {sentence}".strip()
    if part:
        yield part
