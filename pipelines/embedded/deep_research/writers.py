"""The invented world of deep research, and manuals, as this model reads them, and the function that answers each prompt."""

from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from typing import Any

from assets.deep_research.fiction import RELATIONS, STANDINGS, WORLD
from assets.deep_research.names import FIRM_ENDS, STUDY_STARTS
from assets.memory_items.facts import RANK
from assets.text.words import folded
from pipelines.embedded.bank import GRAMMAR
from pipelines.embedded.deep_research import manuals, sentences
from pipelines.embedded.memory_items import questions
from pipelines.embedded.memory_items.composing import Speech, read_grammar, sources_of
from pipelines.embedded.memory_items.known_world import PERSON, KnownWorld, ReadFact, Step
from pipelines.embedded.task import PromptTask

NAMES = {
    "person": PERSON,
    "place": r"[A-Z]\w+",
    "firm": rf"[A-Z]\w+ (?:{'|'.join(FIRM_ENDS)})",
    "device": r"[A-Z]\w+ \d\d",
    "study": rf"(?:{'|'.join(STUDY_STARTS)}) [A-Z]\w+",
}


def read_manual(text: str) -> Iterator[tuple[Step, ReadFact]]:
    """Yield the facts of a manual's section; nothing says from which day they are."""
    for found in manuals.manual_facts(text):
        fact = ReadFact(folded(found.subject), found.relation, found.value, (RANK["plain"], date.min))
        yield Step(found.relation, found.phrase), fact


RULES = read_grammar(GRAMMAR)
SPEECH = Speech(RELATIONS, sentences.CLAUSES, STANDINGS, RULES)
KNOWN = KnownWorld(
    RELATIONS,
    sentences.CLAUSES,
    NAMES,
    sources_of(RULES),
    ask_words=sentences.ASK_WORDS,
    nouns=sentences.NOUNS,
    operation_frames=sentences.OPERATION_FRAMES,
    greatest=sentences.GREATEST,
    named_facts=read_manual,
)
WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    **questions.WRITERS,
    WORLD.write_prompt: SPEECH.compose,
    "dr_facts/extract": manuals.extract_manual_facts,
    "dr_questions/word": partial(questions.word_in_world, KNOWN),
}
