"""Real documents cut into sections of 200 to 800 tokens, at headings where there are any."""

import hashlib
import re
from collections.abc import Iterator

from assets.deep_research.corpus.reading import Line, RealDocument
from assets.deep_research.records.world import Section
from assets.llm.text import count_tokens

FEWEST_TOKENS, MOST_TOKENS = 200, 800
SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+")


def sections_of(document: RealDocument) -> Iterator[Section]:
    """The document's sections in order; what is left over and too short joins the one before, or is left out."""
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
    """Heading and lines of each section."""
    heading, current, tokens = "", list[str](), 0
    for line in lines:
        for part in _parts(line.text):
            size = count_tokens(part)
            full = tokens + size > MOST_TOKENS or (line.heading and tokens >= FEWEST_TOKENS)
            if current and full:
                yield heading, current
                current, tokens = [], 0
            if line.heading and not current:
                heading = part
            current.append(part)
            tokens += size
    if current:
        yield heading, current


def _parts(text: str) -> Iterator[str]:
    """The line, in pieces where it is longer than a section."""
    if count_tokens(text) <= MOST_TOKENS:
        yield text
        return
    part = ""
    for sentence in SENTENCE_END.split(text):
        while count_tokens(sentence) > MOST_TOKENS:
            yield sentence[:2000]
            sentence = sentence[2000:]
        if part and count_tokens(f"{part} {sentence}") > MOST_TOKENS:
            yield part
            part = sentence
        else:
            part = f"{part} {sentence}".strip()
    if part:
        yield part
