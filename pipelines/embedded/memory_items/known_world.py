"""An invented world as the embedded model tells it: the wordings by which its facts and its questions are read again."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING

from assets.memory_items.facts import Status
from assets.memory_items.world.relations import Relation
from assets.recipe.document_tasks import Operation
from pipelines.embedded.memory_items.transcripts import DAY

if TYPE_CHECKING:
    from pipelines.embedded.memory_items.reading import FactsRead

ASK_SLOTS = {
    "x": r"(?P<x>(?:(?!\. ).)+?)",
    "parts": r"(?P<parts>(?:(?!\. ).)+)",
    "options": r"(?:: [\w ,-]+)?",
    "rest": "(?P<rest>.+)",
}
PERSON = r"[A-Z]\w+ [A-Z]\w+"
NUMBER = r"\d+(?:,\d{3})*"


@dataclass(frozen=True)
class ReadClause:
    """What a sentence says, without its day and how sure it is."""

    subject: str
    relation: str
    value: str


@dataclass(frozen=True)
class ClausePattern:
    """A wording of a relation: its pattern, and words without which it is not there, which are looked for first."""

    relation: str
    words: str
    pattern: re.Pattern[str]

    def read_clause(self, sentence: str, lowered: str) -> ReadClause | None:
        """Return what the sentence says in this wording, if anything."""
        match = self.pattern.search(sentence) if self.words in lowered else None
        return ReadClause(match["subject"], self.relation, match["value"]) if match else None


@dataclass(frozen=True)
class ReadFact:
    """A fact that a sentence states; `weight` decides between sentences that contradict each other."""

    subject: str
    relation: str
    value: str
    weight: tuple[int, date]


@dataclass(frozen=True)
class Step:
    """One step of a question: a noun phrase with {x}, and the name of its relation."""

    relation: str
    phrase: str


@dataclass(frozen=True)
class AskWords:
    """Words of a relation: a question about {x}, a sentence that leads on from {x}, and what the value is to {x}."""

    ask: str
    event: str = ""
    role: str = ""

    @property
    def events(self) -> Sequence[str]:
        """The sentences that lead on, the shorter one last."""
        article = "an" if self.role.startswith(("a", "e", "i", "o", "u")) else "a"
        return (self.event, f"{{x}} has {article} {self.role}") if self.role else ()


# How a question of a benchmark's own is answered from the facts that were read.
AnswerOwn = Callable[["FactsRead"], str | None]


def _no_facts(_: str) -> tuple[()]:
    return ()


def _no_own_question(_: str) -> AnswerOwn | None:
    return None


@dataclass(frozen=True)
class KnownWorld:
    """An invented world as this model tells it: relations, their wordings by name, patterns of names, words for a day.

    `names`: by kind of entity the pattern of its names. `as_of`: by status the words that say from which {day} a statement is,
    a closed list, by which they are read again. `ask_words`: by relation those of questions, and `nouns` what values of a kind
    are called, where not as the kind; `steps_apart`: where there is room, each step of a question has a sentence of its own.
    `operation_frames`: by operation and relation the question that works something out, `greatest` by relation the sentence
    that takes the one with the most. `shown_facts` are facts that
    a document shows in other forms than sentences, `named_facts` those of relations of its own, each with its step.
    `own_question` gives what answers a question of a form of its own; None for any other question.
    """

    relations: Sequence[Relation] = ()
    clauses: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    as_of: Mapping[Status, Sequence[str]] = field(default_factory=dict[Status, Sequence[str]])
    ask_words: Mapping[str, AskWords] = field(default_factory=dict[str, AskWords])
    nouns: Mapping[str, str] = field(default_factory=dict[str, str])
    steps_apart: bool = False
    operation_frames: Mapping[Operation, Mapping[str, str]] = field(default_factory=dict[Operation, Mapping[str, str]])
    greatest: Mapping[str, str] = field(default_factory=dict[str, str])
    shown_facts: Callable[[str], Iterable[ReadFact]] = _no_facts
    named_facts: Callable[[str], Iterable[tuple[Step, ReadFact]]] = _no_facts
    own_question: Callable[[str], AnswerOwn | None] = _no_own_question

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
    def patterns(self) -> Sequence[ClausePattern]:
        """The pattern of every wording, the longest first: a plain wording may be a part of another."""
        wordings: list[tuple[Relation, str]] = []
        for relation in self.relations:
            for clause in (relation.meaning, *self.clauses.get(relation.name, ())):
                wordings.append((relation, clause))
        wordings.sort(key=lambda wording: -len(wording[1]))
        return [self._clause_pattern(relation, clause) for relation, clause in wordings]

    def _clause_pattern(self, relation: Relation, clause: str) -> ClausePattern:
        plain = {"number": NUMBER, "date": DAY, "option": "|".join(sorted(map(re.escape, relation.options), reverse=True))}
        slots = {
            "subject": f"(?P<subject>{self.names[relation.subject]})",
            "value": f"(?P<value>{plain.get(relation.value) or self.names[relation.value]})",
        }
        parts = re.split(r"\{(\w+)\}", clause)
        words = max(parts[::2], key=len).lower()
        whole = "".join(slots.get(part) or f"(?i:{re.escape(part)})" for part in parts)
        return ClausePattern(relation.name, words, re.compile(rf"(?<!\w){whole}(?!\w)"))

    @cached_property
    def steps(self) -> Sequence[Step]:
        """The step of every relation."""
        return [Step(relation.name, relation.phrase) for relation in self.relations]

    @cached_property
    def ask_patterns(self) -> Sequence[tuple[Step, re.Pattern[str]]]:
        """The pattern of each relation's question, with its options where it has some."""
        patterns: list[tuple[Step, re.Pattern[str]]] = []
        for name, words in self.ask_words.items():
            options = "{options}" if self.relation(name).options else ""
            patterns.append((self.step(name), _pattern(f"{words.ask.removesuffix('?')}{options}?", ASK_SLOTS)))
        return patterns

    @cached_property
    def event_patterns(self) -> Sequence[tuple[Step, re.Pattern[str]]]:
        """The patterns of each relation's sentences that lead on, with what follows."""
        patterns: list[tuple[Step, re.Pattern[str]]] = []
        for name, words in self.ask_words.items():
            for event in words.events:
                patterns.append((self.step(name), _pattern(f"{event}. {{rest}}", ASK_SLOTS, re.IGNORECASE)))
        return patterns

    @cached_property
    def operation_patterns(self) -> Sequence[tuple[Operation, Step, re.Pattern[str]]]:
        """The pattern of every question that works something out, with its operation and the step of its parts."""
        patterns: list[tuple[Operation, Step, re.Pattern[str]]] = []
        for operation, frames in self.operation_frames.items():
            for name, frame in frames.items():
                patterns.append((operation, self.step(name), _pattern(frame, ASK_SLOTS)))
        return patterns

    @cached_property
    def greatest_patterns(self) -> Sequence[tuple[Step, re.Pattern[str]]]:
        """The pattern of every sentence that takes the one with the most, with the step that is compared and what follows."""
        return [(self.step(name), _pattern(f"{words}. {{rest}}", ASK_SLOTS)) for name, words in self.greatest.items()]

    def relation(self, name: str) -> Relation:
        """Return the relation of this name."""
        return next(relation for relation in self.relations if relation.name == name)

    def step(self, name: str) -> Step:
        return Step(name, self.relation(name).phrase)

    def noun(self, kind: str) -> str:
        """Return what something of this kind is called, once it was spoken of."""
        return f"that {self.nouns.get(kind, kind)}"


def _pattern(frame: str, slots: Mapping[str, str], flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Return the pattern of a frame: its words as they are, and for {name} the pattern of the slot of that name."""
    parts = re.split(r"\{(\w+)\}", frame)
    return re.compile("".join(slots.get(part, re.escape(part)) for part in parts), flags)
