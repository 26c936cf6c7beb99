"""Reads: facts out of sentences, steps out of a question, and the answer that the steps lead to through the facts.

It knows nothing but the words it is given: a fact that no sentence states is missing, and the question stays open.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache

from assets.code_qa.team import relations as team
from assets.deep_research.world import relations as fiction
from assets.llm.text import folded
from assets.memory_items.answers import read_date
from assets.memory_items.facts import RANK, Status
from assets.memory_items.world.relations import Relation
from pipelines.embedded.code_qa import sentences as notes
from pipelines.embedded.deep_research import sentences as documents_of_fiction
from pipelines.embedded.deep_research.manuals import manual_facts

SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
DAY = r"\d{1,2} [A-Z][a-z]+ \d{4}"
SLOT = {"subject": r"(?P<subject>.+?)", "value": r"(?P<value>.+?)"}
QUESTION_FRAMES = (
    *documents_of_fiction.QUESTION_FRAMES,
    *documents_of_fiction.WHO_FRAMES,
    *notes.QUESTION_FRAMES,
    *notes.WHO_FRAMES,
)
OPTIONS_FRAMES = (*documents_of_fiction.OPTIONS_FRAMES, *notes.OPTIONS_FRAMES)


@dataclass(frozen=True)
class KnownWorld:
    """How one invented world is told by this model: wordings of relations, frames around them, words for day and status."""

    relations: Sequence[Relation]
    clauses: Mapping[str, Sequence[str]]
    frames: Sequence[str]
    words: Sequence[tuple[str, Status]]

    @cached_property
    def source_patterns(self) -> Sequence[tuple[re.Pattern[str], Status]]:
        """What says from which day a statement is, and how sure."""
        return [
            (re.compile(re.escape(words).replace(re.escape("{day}"), f"({DAY})"), re.IGNORECASE), status)
            for words, status in self.words
        ]

    @cached_property
    def patterns(self) -> Sequence[tuple[str, re.Pattern[str]]]:
        """Relation and pattern of every wording, the most words first: a plain one may be a part of another."""
        found = [(one.name, clause) for one in self.relations for clause in (one.meaning, *self.clauses.get(one.name, ()))]
        found.sort(key=lambda one: -len(one[1]))
        return [(name, _pattern(clause)) for name, clause in found]


def _pattern(clause: str) -> re.Pattern[str]:
    parts = re.split(r"\{(subject|value)\}", clause)
    return re.compile("".join(SLOT.get(part, re.escape(part)) for part in parts), re.IGNORECASE)


WORLDS = (
    KnownWorld(
        fiction.RELATIONS,
        documents_of_fiction.CLAUSES,
        documents_of_fiction.FRAMES,
        [(words, status) for status, all_words in fiction.AS_OF.items() for words in all_words],
    ),
    KnownWorld(
        team.RELATIONS,
        notes.CLAUSES,
        notes.FRAMES,
        [
            *((words, status) for status, all_words in team.AS_OF.items() for words in all_words),
            *((words, "plain") for words in team.RUN_ON),
        ],
    ),
)


@dataclass(frozen=True)
class ReadFact:
    """What a sentence states; `weight` decides between sentences that contradict each other."""

    subject: str
    relation: str
    value: str
    weight: tuple[int, date]


def read_world_facts(text: str) -> Iterator[ReadFact]:
    """The facts that the sentences of a document of an invented world state."""
    for sentence in SENTENCE.split(text):
        if (fact := _fact_of(sentence)) is not None:
            yield fact


@lru_cache(maxsize=50_000)
def _fact_of(sentence: str) -> ReadFact | None:
    for world in WORLDS:
        for pattern, status in world.source_patterns:
            match = pattern.search(sentence)
            day = read_date(match[1]) if match else None
            if match and day:
                return _stated(sentence, world, words=match[0], weight=(RANK[status], day))
    return None


def _stated(sentence: str, world: KnownWorld, *, words: str, weight: tuple[int, date]) -> ReadFact | None:
    """What is left of a sentence without its frame, read by the world's wordings."""
    for frame in world.frames:
        before, after = frame.format(clause="\0").replace("{as_of}", words).split("\0")
        if sentence.lower().startswith(before.lower()) and sentence.endswith(after):
            clause = sentence[len(before) : len(sentence) - len(after)]
            for relation, pattern in world.patterns:
                if match := pattern.fullmatch(clause):
                    return ReadFact(folded(match["subject"]), relation, match["value"], weight)
    return None


@dataclass(frozen=True)
class Step:
    """One step of a question: a noun phrase with {x}, and the name of its relation."""

    relation: str
    phrase: str


WORLD_STEPS = tuple(Step(relation.name, relation.phrase) for world in WORLDS for relation in world.relations)


def read_steps(question: str, steps: Sequence[Step]) -> tuple[str, list[Step]] | None:
    """The name that a question starts from and its steps in order; None where its words do not say."""
    for wanted in _wanted(question):
        if found := _unnested(wanted, steps):
            return found
    return None


def _wanted(question: str) -> Iterator[str]:
    """The noun phrase in a question of the frames that this model words; what follows the question mark is no part of it."""
    asked = question.partition("? ")[0].removesuffix("?") + "?"
    for pattern in QUESTION_PATTERNS:
        if match := pattern.fullmatch(asked):
            yield match["wanted"]


def _question_pattern(frame: str) -> re.Pattern[str]:
    # What is wanted may be of a call with a colon in it, but where options follow one.
    slots = {"wanted": "(?P<wanted>[^:]+)" if "{options}" in frame else "(?P<wanted>.+)", "options": "[^:]+"}
    return re.compile("".join(slots.get(part, re.escape(part)) for part in re.split(r"\{(wanted|options)\}", frame)))


QUESTION_PATTERNS = tuple(map(_question_pattern, (*OPTIONS_FRAMES, *QUESTION_FRAMES)))


def _unnested(phrase: str, steps: Sequence[Step]) -> tuple[str, list[Step]] | None:
    """Peel the outermost step off, as long as there is one."""
    for step in steps:
        before, after = step.phrase.split("{x}")
        if phrase.startswith(before) and phrase.endswith(after) and len(phrase) > len(before) + len(after):
            inner = phrase[len(before) : len(phrase) - len(after)]
            start, first = _unnested(inner, steps) or (inner, [])
            if first or start[:1].isupper() or not start.startswith("the "):
                return start, [*first, step]
    return None


def answer_from(documents: Sequence[str], question: str) -> str | None:
    """The answer that these texts settle; None where they leave the question open."""
    facts: dict[tuple[str, str], list[ReadFact]] = {}
    manual: list[Step] = []
    for text in documents:
        for fact in read_world_facts(text):
            facts.setdefault((fact.subject, fact.relation), []).append(fact)
        for found in manual_facts(text):
            manual.append(Step(found.relation, found.phrase))
            read = ReadFact(folded(found.subject), found.relation, found.value, (RANK["plain"], date.min))
            facts.setdefault((read.subject, read.relation), []).append(read)
    read = read_steps(question, (*WORLD_STEPS, *dict.fromkeys(manual)))
    if read is None:
        return None
    subject, steps = read
    for step in steps:
        value = _settled(facts.get((folded(subject), step.relation), []))
        if value is None:
            return None
        subject = value
    return subject


def _settled(facts: Sequence[ReadFact]) -> str | None:
    """The value of the facts that count most; None where none does, or they disagree."""
    best = max((fact.weight for fact in facts), default=None)
    values = {folded(fact.value): fact.value for fact in facts if fact.weight == best}
    return next(iter(values.values())) if len(values) == 1 else None
