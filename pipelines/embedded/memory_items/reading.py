"""Reads: facts out of sentences, steps out of a question, and the answer that the steps lead to through the facts.

It knows nothing but the words it is given: a fact that no sentence states is missing, and the question stays open.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache

from assets.code_qa.team import relations as team
from assets.deep_research import fiction
from assets.memory_items.facts import RANK, Status
from assets.memory_items.world.relations import Relation
from assets.records.answers import read_date
from assets.text.words import folded
from pipelines.embedded.code_qa import sentences as notes
from pipelines.embedded.deep_research import sentences as documents_of_fiction
from pipelines.embedded.deep_research.manuals import manual_facts

SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
CELL = " | "  # between the cells of a table's row
DAY = r"\d{1,2} [A-Z][a-z]+ \d{4}"
SLOTS = {"subject": r"(?P<subject>.+?)", "value": r"(?P<value>.+?)"}
QUESTION_FRAMES = (
    *documents_of_fiction.QUESTION_FRAMES,
    *documents_of_fiction.WHO_FRAMES,
    *notes.QUESTION_FRAMES,
    *notes.WHO_FRAMES,
)
OPTIONS_FRAMES = (*documents_of_fiction.OPTIONS_FRAMES, *notes.OPTIONS_FRAMES)


@dataclass(frozen=True)
class KnownWorld:
    """An invented world as this model tells it: relations, their wordings by name, frames around them, words for their day.

    `as_of`: by status the words that say from which {day} a statement is.
    """

    relations: Sequence[Relation]
    clauses: Mapping[str, Sequence[str]]
    frames: Sequence[str]
    as_of: Mapping[Status, Sequence[str]]

    @cached_property
    def source_patterns(self) -> Sequence[tuple[re.Pattern[str], Status]]:
        """The patterns of all words for a day, each with its status."""
        patterns: list[tuple[re.Pattern[str], Status]] = []
        for status, all_words in self.as_of.items():
            for words in all_words:
                pattern = re.escape(words).replace(re.escape("{day}"), f"({DAY})")
                patterns.append((re.compile(pattern, re.IGNORECASE), status))
        return patterns

    @cached_property
    def patterns(self) -> Sequence[tuple[str, re.Pattern[str]]]:
        """The pattern of every wording with its relation, the longest first: a plain wording may be a part of another."""
        wordings: list[tuple[str, str]] = []
        for relation in self.relations:
            for clause in (relation.meaning, *self.clauses.get(relation.name, ())):
                wordings.append((relation.name, clause))
        wordings.sort(key=lambda wording: -len(wording[1]))
        return [(name, _pattern(clause, SLOTS, re.IGNORECASE)) for name, clause in wordings]


def _pattern(frame: str, slots: Mapping[str, str], flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Return the pattern of a frame: its words as they are, and for {name} the pattern of the slot of that name."""
    parts = re.split(r"\{(\w+)\}", frame)
    return re.compile("".join(slots.get(part, re.escape(part)) for part in parts), flags)


def _frames_of_documents() -> list[str]:
    frames: list[str] = []
    for of_form in documents_of_fiction.FRAMES.values():
        frames += of_form
    return frames


def _frames_of_notes() -> list[str]:
    return [frame.format(clause="{clause}") for frame in notes.FRAMES]


WORLDS = (
    KnownWorld(fiction.RELATIONS, documents_of_fiction.CLAUSES, _frames_of_documents(), fiction.AS_OF),
    KnownWorld(
        team.RELATIONS, notes.CLAUSES, _frames_of_notes(), {**team.AS_OF, "plain": (*team.AS_OF["plain"], *team.RUN_ON)}
    ),
)


@dataclass(frozen=True)
class ReadFact:
    """A fact that a sentence states; `weight` decides between sentences that contradict each other."""

    subject: str
    relation: str
    value: str
    weight: tuple[int, date]


def read_world_facts(text: str) -> Iterator[ReadFact]:
    """Yield the facts that the sentences of a document of an invented world state."""
    for sentence in SENTENCE.split(text):
        fact = _fact_of(sentence)
        if fact is not None:
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
    """Read what is left of a sentence without its frame by the world's wordings."""
    if sentence.count(CELL) == 2:
        return _row(sentence, world, weight=weight)
    for frame in sorted(world.frames, key=len, reverse=True):
        before, after = frame.replace("{as_of}", words).split("{clause}")
        if sentence.lower().startswith(before.lower()) and sentence.endswith(after):
            clause = sentence[len(before) : len(sentence) - len(after)]
            for relation, pattern in world.patterns:
                match = pattern.fullmatch(clause)
                if match:
                    return ReadFact(folded(match["subject"]), relation, match["value"], weight)
    return None


def _row(line: str, world: KnownWorld, *, weight: tuple[int, date]) -> ReadFact | None:
    """Read a row of a table: a relation's phrase about its subject, the value, and the source."""
    phrase, value, _ = line.split(CELL)
    for relation in world.relations:
        before = relation.phrase.removesuffix("{x}")
        if phrase.lower().startswith(before):
            return ReadFact(folded(phrase[len(before) :]), relation.name, value, weight)
    return None


@dataclass(frozen=True)
class Step:
    """One step of a question: a noun phrase with {x}, and the name of its relation."""

    relation: str
    phrase: str


@dataclass(frozen=True)
class ReadQuestion:
    """A question as it was understood: the name that it starts from, and its steps in order."""

    name: str
    steps: Sequence[Step]


WORLD_STEPS = tuple(Step(relation.name, relation.phrase) for relation in (*fiction.RELATIONS, *team.RELATIONS))


def read_steps(question: str, steps: Sequence[Step]) -> ReadQuestion | None:
    """Return the name that a question starts from and its steps in order; None where its words do not say."""
    # What follows the question mark is no part of the question.
    asked = question.partition("? ")[0].removesuffix("?") + "?"
    for pattern in QUESTION_PATTERNS:
        match = pattern.fullmatch(asked)
        if match:
            read = _unnested(match["wanted"], steps)
            if read is not None:
                return read
    return None


def _question_pattern(frame: str) -> re.Pattern[str]:
    # What is wanted may be of a call with a colon in it, but where options follow one.
    wanted = "[^:]+" if "{options}" in frame else ".+"
    return _pattern(frame, {"wanted": f"(?P<wanted>{wanted})", "options": "[^:]+"})


QUESTION_PATTERNS = tuple(map(_question_pattern, (*OPTIONS_FRAMES, *QUESTION_FRAMES)))


def _unnested(phrase: str, steps: Sequence[Step]) -> ReadQuestion | None:
    """Peel the outermost step off, as long as there is one."""
    for step in steps:
        before, after = step.phrase.split("{x}")
        if phrase.startswith(before) and phrase.endswith(after) and len(phrase) > len(before) + len(after):
            inner = phrase[len(before) : len(phrase) - len(after)]
            read = _unnested(inner, steps) or ReadQuestion(inner, [])
            # Without a step of its own, what is left must be a name, and no noun phrase of another relation.
            if read.steps or read.name[:1].isupper() or not read.name.startswith("the "):
                return ReadQuestion(read.name, [*read.steps, step])
    return None


def answer_by_reading(documents: Sequence[str], question: str) -> str | None:
    """Return the answer that these texts settle; None where they leave the question open."""
    facts: list[ReadFact] = []
    manual: list[Step] = []
    for text in documents:
        facts.extend(read_world_facts(text))
        for found in manual_facts(text):
            manual.append(Step(found.relation, found.phrase))
            facts.append(ReadFact(folded(found.subject), found.relation, found.value, (RANK["plain"], date.min)))
    read = read_steps(question, (*WORLD_STEPS, *dict.fromkeys(manual)))
    if read is None:
        return None
    known: str | None = read.name
    for step in read.steps:
        known = _settled(facts, subject=folded(known), relation=step.relation)
        if known is None:
            return None
    return known


def _settled(facts: Sequence[ReadFact], *, subject: str, relation: str) -> str | None:
    """Return the value of the facts that count most; None where none does, or they disagree."""
    best: tuple[int, date] | None = None
    values: dict[str, str] = {}
    for fact in facts:
        if fact.subject != subject or fact.relation != relation:
            continue
        if best is None or fact.weight > best:
            best = fact.weight
            values = {}
        if fact.weight == best:
            values[folded(fact.value)] = fact.value
    return next(iter(values.values())) if len(values) == 1 else None
