"""An invented world as the embedded model tells it: the wordings by which its facts and its questions are read again."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Protocol

from assets.memory_items.facts import Status
from assets.memory_items.world.relations import Relation
from assets.recipe.document_tasks import Operation
from pipelines.embedded.memory_items.transcripts import DAY

SLOTS = {"subject": r"(?P<subject>.+?)", "value": r"(?P<value>.+?)"}


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


class Settles(Protocol):
    """The facts that were read; what they settle."""

    @property
    def facts(self) -> Sequence[ReadFact]: ...

    def settled_value(self, subject: str | None, relation: str) -> str | None:
        """Return the value of the facts that count most; None where there is none, or they disagree."""
        ...


AnswerOwn = Callable[[Settles], str | None]


def _no_facts(_: str) -> Iterable[ReadFact]:
    return ()


def _no_named_facts(_: str) -> Iterable[tuple[Step, ReadFact]]:
    return ()


def _no_own_question(_: str) -> AnswerOwn | None:
    return None


@dataclass(frozen=True)
class KnownWorld:
    """An invented world as this model tells it: relations, their wordings by name, frames around them, words for their day.

    `as_of`: by status the words that say from which {day} a statement is. `operation_frames`: by operation and relation the
    questions that work something out, `greatest` by relation the phrase for the one with the most. `shown_facts` are facts that
    a document shows in other forms than sentences, `named_facts` those of relations of its own, each with its step.
    `own_question` gives what answers a question of a form of its own; None for any other question.
    """

    relations: Sequence[Relation] = ()
    clauses: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    frames: Sequence[str] = ()
    as_of: Mapping[Status, Sequence[str]] = field(default_factory=dict[Status, Sequence[str]])
    question_frames: Sequence[str] = ()
    options_frames: Sequence[str] = ()
    operation_frames: Mapping[Operation, Mapping[str, Sequence[str]]] = field(
        default_factory=dict[Operation, Mapping[str, Sequence[str]]]
    )
    greatest: Mapping[str, str] = field(default_factory=dict[str, str])
    shown_facts: Callable[[str], Iterable[ReadFact]] = _no_facts
    named_facts: Callable[[str], Iterable[tuple[Step, ReadFact]]] = _no_named_facts
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
    def patterns(self) -> Sequence[tuple[str, re.Pattern[str]]]:
        """The pattern of every wording with its relation, the longest first: a plain wording may be a part of another."""
        wordings: list[tuple[str, str]] = []
        for relation in self.relations:
            for clause in (relation.meaning, *self.clauses.get(relation.name, ())):
                wordings.append((relation.name, clause))
        wordings.sort(key=lambda wording: -len(wording[1]))
        return [(name, _pattern(clause, SLOTS, re.IGNORECASE)) for name, clause in wordings]

    @cached_property
    def steps(self) -> Sequence[Step]:
        """The step of every relation."""
        return [Step(relation.name, relation.phrase) for relation in self.relations]

    @cached_property
    def options_patterns(self) -> Sequence[re.Pattern[str]]:
        """The patterns of questions with options."""
        return list(map(_question_pattern, self.options_frames))

    @cached_property
    def question_patterns(self) -> Sequence[re.Pattern[str]]:
        """The patterns of questions without options."""
        return list(map(_question_pattern, self.question_frames))

    @cached_property
    def operation_patterns(self) -> Sequence[tuple[Operation, Step, re.Pattern[str]]]:
        """The pattern of every question that works something out, with its operation and the step of its parts."""
        return list(self._operation_patterns())

    @cached_property
    def greatest_patterns(self) -> Sequence[tuple[Step, re.Pattern[str]]]:
        """The pattern of every phrase for the one with the most, with the step that is compared."""
        return [(self._step(relation), _parts_pattern(words)) for relation, words in self.greatest.items()]

    def _operation_patterns(self) -> Iterator[tuple[Operation, Step, re.Pattern[str]]]:
        for operation, by_relation in self.operation_frames.items():
            for relation, frames in by_relation.items():
                for frame in frames:
                    yield operation, self._step(relation), _parts_pattern(frame)

    def _step(self, relation: str) -> Step:
        return next(step for step in self.steps if step.relation == relation)


def _pattern(frame: str, slots: Mapping[str, str], flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Return the pattern of a frame: its words as they are, and for {name} the pattern of the slot of that name."""
    parts = re.split(r"\{(\w+)\}", frame)
    return re.compile("".join(slots.get(part, re.escape(part)) for part in parts), flags)


def _question_pattern(frame: str) -> re.Pattern[str]:
    # What is wanted may be of a call with a colon in it, but where options follow one.
    wanted = "[^:]+" if "{options}" in frame else ".+"
    return _pattern(frame, {"wanted": f"(?P<wanted>{wanted})", "options": r"[\w ,-]+"})


def _parts_pattern(frame: str) -> re.Pattern[str]:
    return _pattern(frame, {"parts": "(?P<parts>.+)"})


def all_frames(by_kind: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the frames of all kinds of documents."""
    frames: list[str] = []
    for of_kind in by_kind.values():
        frames += of_kind
    return frames
