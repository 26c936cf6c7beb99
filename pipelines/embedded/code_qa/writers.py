"""A software team and its code, as this model reads their notes, and the function that answers each prompt about them."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from assets.code_qa.team.relations import OUTCOME, RELATIONS, RULING, STANDINGS, WRONG_RESULT
from assets.code_qa.team.world import TeamWorld
from assets.memory_items.facts import RANK
from assets.text.words import folded
from pipelines.embedded.code_qa import sentences
from pipelines.embedded.memory_items import questions
from pipelines.embedded.memory_items.composing import Speech, read_grammar, sources_of
from pipelines.embedded.memory_items.known_world import KnownWorld, ReadFact
from pipelines.embedded.memory_items.transcripts import shown_calls_of
from pipelines.embedded.task import PromptTask


def read_transcripts(text: str) -> Iterator[ReadFact]:
    """Yield what the calls that a note shows came to."""
    for shown in shown_calls_of(text):
        relation = WRONG_RESULT if shown.patch else OUTCOME
        yield ReadFact(folded(shown.patch or shown.call), relation, shown.result, (RANK["plain"], shown.day))


RULES = read_grammar(Path(__file__).with_name("grammar.yaml"))
SPEECH = Speech((*RELATIONS, RULING), sentences.CLAUSES, STANDINGS, RULES)
KNOWN = KnownWorld(
    (*RELATIONS, RULING),
    sentences.CLAUSES,
    {
        "person": r"[A-Z]\w+",
        "service": r"[a-z]+-[a-z]+(?:-[a-z]+)?",
        "ticket": r"[A-Z]+-\d+",
        "patch": r"patch-\d+",
        "function": r"[\w.]+",
        "wrapper": r"\w+",
        "call": "[^`]+",
        "code": "[^`]+",
    },
    sources_of(RULES),
    ask_words=sentences.ASK_WORDS,
    operation_frames=sentences.OPERATION_FRAMES,
    steps_apart=True,
    shown_facts=read_transcripts,
)
WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    **questions.WRITERS,
    TeamWorld.write_prompt: SPEECH.compose,
    "code_questions/word": partial(questions.word_in_world, KNOWN),
}
