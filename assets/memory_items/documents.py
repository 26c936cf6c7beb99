"""Documents as a memory receives them, in turns, and one task at one length."""

import hashlib
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from assets.records.answers import TypedAnswer
from assets.records.base import Name, Record, Text
from assets.text.words import count_tokens

Role = Literal["support", "sibling", "near_miss", "superseded", "filler", "code"]
# The tokenizer of all lengths: the pattern PIECE of `assets/text/words.py`, runs of up to eight Latin letters, of up to three
# digits, and other signs. It needs no network and no file. Another pattern gets another name, lest a length be of both.
TOKENIZER = "amemgym-pieces-3"

# Words by which other benchmarks' documents give away what they are there for.
LABEL_WORDS = frozenset(
    (
        *("adversarial", "contradiction", "contradictory", "decoy", "distractor", "filler"),
        *("irrelevant", "miscellaneous", "superseded", "unrelated"),
    )
)


PARAGRAPHS = "\n\n"  # between two paragraphs of a text
SENTENCE_END = re.compile(r"[.!?]\s+|\n+")
MOST_GREETING_WORDS = 8  # a paragraph of no more is a greeting, a place or a heading
PROMPT = ">>> "  # of an interpreter, before what is typed


def told_around(text: str, place: int) -> str:
    """Return the paragraph at this place; of a session with an interpreter, also the paragraph that leads up to it."""
    start = _start_of_paragraph(text, place)
    if text.startswith(PROMPT, start):
        start = _start_of_paragraph(text, start - len(PARAGRAPHS))
    end = text.find(PARAGRAPHS, place)
    return text[start : end if end >= 0 else len(text)].strip()


def opening_and(told: str, text: str) -> str:
    """Return the opening of a text, whose names the others take up as "it", and what it tells elsewhere.

    The opening is the first paragraph of more than a few words, with what stands above it: a place, a greeting.
    """
    paragraphs = text.split(PARAGRAPHS)
    above = itertools.takewhile(lambda paragraph: len(paragraph.split()) <= MOST_GREETING_WORDS, paragraphs)
    opening = 1 + len(list(above))
    kept = told.split(PARAGRAPHS)
    return PARAGRAPHS.join(own for place, own in enumerate(paragraphs) if place < opening or own.strip() in kept)


def sentence_around(text: str, place: int) -> str:
    """Return the sentence at this place."""
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    return text[max((end for end in ends if end <= place), default=0) : min((end for end in ends if end > place), default=None)]


def _start_of_paragraph(text: str, place: int) -> int:
    before = text.rfind(PARAGRAPHS, 0, max(0, place))
    return before + len(PARAGRAPHS) if before >= 0 else 0


class ItemDocument(Record):
    """One document. A memory receives `perceived` and nothing else; `role` and `facts` are labels for evaluation.

    `facts`: ids of the facts that the answer needs and that stand in it.
    """

    document_id: Name = Field(description="the document's id")
    title: Text = Field(description="its title")
    text: Text = Field(description="its text")
    role: Role = Field(description="what it is there for, which no memory sees")
    facts: tuple[Name, ...] = Field(default=(), description="ids of the facts in it that the answer needs")
    source: str = Field(default="", description="where a real document is from; empty for an invented one")
    license: str = Field(default="", description="the license of a real document")

    @property
    def text_with_title(self) -> str:
        """The text that a memory receives."""
        return f"{self.title}\n\n{self.text}"

    @property
    def tokens(self) -> int:
        """The length of what a memory receives."""
        return count_tokens(self.text_with_title)


class Turn(Record):
    """Documents that arrive together; they leave the window at the next turn, or after as many as the eviction says."""

    documents: tuple[ItemDocument, ...] = Field(description="in the order in which they arrive")


class SizedItem(Record):
    """A task's documents at one length. `tokens` is the length of all that a memory receives, by `TOKENIZER`."""

    target_tokens: int = Field(description="the length that was wanted")
    tokens: int = Field(description="the length of what a memory receives")
    turns: tuple[Turn, ...] = Field(description="the documents by turn")

    @property
    def documents(self) -> Iterator[ItemDocument]:
        for turn in self.turns:
            yield from turn.documents

    def digest(self, *, question: str, answer: TypedAnswer, shown: Sequence[ItemDocument] = (), also: str = "") -> str:
        """Return the sha256 of all that a certificate covers: documents, question, answer, what is shown with it.

        `also`: what a benchmark adds, such as the rows of a company.
        """
        lines = [self.model_dump_json(), question, answer.model_dump_json()]
        lines += [document.model_dump_json() for document in shown]
        lines += [also] if also else []
        return hashlib.sha256("\x1e".join(lines).encode()).hexdigest()


def tokens_of(turns: Sequence[Turn]) -> int:
    """Return the length of what a memory receives of these turns."""
    tokens = 0
    for turn in turns:
        for document in turn.documents:
            tokens += document.tokens
    return tokens
