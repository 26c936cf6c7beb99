"""A software team and its code, as this model reads their notes."""

from collections.abc import Iterator

from assets.code_qa.team.relations import AS_OF, OUTCOME, RELATIONS, RULING, WRONG_RESULT
from assets.memory_items.facts import RANK
from assets.text.words import folded
from pipelines.embedded.code_qa import sentences
from pipelines.embedded.memory_items.known_world import KnownWorld, ReadFact, all_frames
from pipelines.embedded.memory_items.transcripts import shown_calls_of


def read_transcripts(text: str) -> Iterator[ReadFact]:
    """Yield what the calls that a note shows came to."""
    for shown in shown_calls_of(text):
        relation = WRONG_RESULT if shown.patch else OUTCOME
        yield ReadFact(folded(shown.patch or shown.call), relation, shown.result, (RANK["plain"], shown.day))


KNOWN = KnownWorld(
    (*RELATIONS, RULING),
    sentences.CLAUSES,
    all_frames(sentences.FRAMES),
    AS_OF,
    ask_words=sentences.ASK_WORDS,
    steps_apart=True,
    shown_facts=read_transcripts,
)
