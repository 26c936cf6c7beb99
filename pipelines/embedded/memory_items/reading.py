"""Reads: facts out of sentences, steps out of a question, and the answer that the steps lead to through the facts.

It knows nothing but the words it is given: a fact that no sentence states is missing, and the question stays open.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache

from assets.code_qa.team import relations as team
from assets.code_repair.questions import AskedRule, read_session_question
from assets.deep_research import fiction
from assets.memory_items.facts import RANK, Status
from assets.memory_items.world.relations import Relation, comparable
from assets.recipe.document_tasks import Operation
from assets.records.answers import read_date
from assets.text.words import folded
from assets.tool_dialogue import desk
from assets.tool_dialogue.domains import all_domains
from pipelines.embedded.code_qa import sentences as notes
from pipelines.embedded.deep_research import sentences as documents_of_fiction
from pipelines.embedded.deep_research.manuals import manual_facts
from pipelines.embedded.memory_items.transcripts import DAY, shown_calls_of
from pipelines.embedded.tool_dialogue import sentences as sessions

SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
HEADING = re.compile(r"[A-Z][^:.!?]*: (?=[A-Z])")
CELL = " | "  # between the cells of a table's row
# A row begins with its line, or where the row before it ended: tried at every letter, a long text takes its length squared.
ROW = re.compile(r"(?:(?<![^|\n])|(?<=\| ))([^|\n]+) \| ([^|\n]+) \| (?=([^|\n]+))")
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


def _all_frames(by_kind: Mapping[str, Sequence[str]]) -> list[str]:
    frames: list[str] = []
    for of_kind in by_kind.values():
        frames += of_kind
    return frames


def _clauses_of_matters() -> Mapping[str, Sequence[str]]:
    return {name: matter.clauses for domain in all_domains().values() for name, matter in domain.matters.items()}


MATTERS = [relation for domain in all_domains().values() for relation in domain.relations]
TEAM_RELATIONS = (*team.RELATIONS, team.RULING)
WORLDS = (
    KnownWorld(fiction.RELATIONS, documents_of_fiction.CLAUSES, _all_frames(documents_of_fiction.FRAMES), fiction.AS_OF),
    KnownWorld(TEAM_RELATIONS, notes.CLAUSES, _all_frames(notes.FRAMES), team.AS_OF),
    KnownWorld(MATTERS, _clauses_of_matters(), _all_frames(sessions.FRAMES), desk.AS_OF),
)


@dataclass(frozen=True)
class ReadFact:
    """A fact that a sentence states; `weight` decides between sentences that contradict each other."""

    subject: str
    relation: str
    value: str
    weight: tuple[int, date]


def read_world_facts(text: str) -> Iterator[ReadFact]:
    """Yield the facts that the sentences of a document of an invented world state, and those that its transcripts show."""
    for shown in shown_calls_of(text):
        relation = team.WRONG_RESULT if shown.patch else team.OUTCOME
        yield ReadFact(folded(shown.patch or shown.call), relation, shown.result, (RANK["plain"], shown.day))
    yield from _rows(text)
    for sentence in SENTENCE.split(text):
        # Where lines were joined, the heading of a list stands before its first sentence, and would be read as a part of it.
        heading = HEADING.match(sentence)
        fact = (_fact_of(sentence[heading.end() :]) if heading else None) or _fact_of(sentence)
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
    for frame in sorted(world.frames, key=len, reverse=True):
        before, after = frame.replace("{as_of}", words).split("{clause}")
        if sentence.lower().startswith(before.lower()) and sentence.endswith(after):
            clause = sentence[len(before) : len(sentence) - len(after)]
            for relation, pattern in world.patterns:
                match = pattern.fullmatch(clause)
                if match:
                    return ReadFact(folded(match["subject"]), relation, match["value"], weight)
    return None


def _rows(text: str) -> Iterator[ReadFact]:
    """Yield the facts of tables: a relation's phrase about its subject, the value, and the source. Lines may be joined."""
    for world in WORLDS:
        for row in ROW.finditer(text):
            phrase, value, source = row.groups()
            for pattern, status in world.source_patterns:
                match = pattern.match(source)
                day = read_date(match[1]) if match else None
                if day is not None:
                    fact = _row_fact(phrase, value, world, weight=(RANK[status], day))
                    if fact is not None:
                        yield fact


def _row_fact(phrase: str, value: str, world: KnownWorld, *, weight: tuple[int, date]) -> ReadFact | None:
    """Read a row's first cell, before which the end of the line above may stand."""
    for relation in world.relations:
        _, found, subject = phrase.lower().rpartition(relation.phrase.removesuffix("{x}"))
        if found:
            return ReadFact(folded(phrase[len(phrase) - len(subject) :]), relation.name, value, weight)
    return None


@dataclass(frozen=True)
class Step:
    """One step of a question: a noun phrase with {x}, and the name of its relation."""

    relation: str
    phrase: str


@dataclass(frozen=True)
class ReadPart:
    """A part of a question as it was understood: the name that it starts from, and its steps in order."""

    name: str
    steps: Sequence[Step]


@dataclass(frozen=True)
class ReadQuestion:
    """A question as it was understood: what it does with its parts, and the step that asks about the one with the most."""

    operation: Operation
    parts: Sequence[ReadPart]
    then: Sequence[Step] = ()


def _known_step(relation: str) -> Step:
    return Step(relation, fiction.WORLD.relation(relation).phrase)


WORLD_STEPS = tuple(Step(relation.name, relation.phrase) for relation in (*fiction.RELATIONS, *TEAM_RELATIONS, *MATTERS))


def read_question(question: str, steps: Sequence[Step]) -> ReadQuestion | None:
    """Return what a question asks; None where its words do not say."""
    asked = _without_rules(question)
    for operation, step, pattern in OPERATION_PATTERNS:
        match = pattern.fullmatch(asked)
        if match:
            return ReadQuestion(operation, _parts(match["parts"], step, steps))
    part = read_steps(question, steps)
    if part is None:
        return None
    for step, pattern in GREATEST_PATTERNS:
        match = pattern.fullmatch(part.name)
        if match:
            return ReadQuestion("most", _parts(match["parts"], step, steps), part.steps)
    return ReadQuestion("follow", [part])


def _without_rules(question: str) -> str:
    """Return the question alone: what follows the question mark is no part of it."""
    return question.partition("? ")[0].removesuffix("?") + "?"


def _parts(listed: str, step: Step, steps: Sequence[Step]) -> list[ReadPart]:
    """Return the parts that a list of names and noun phrases tells, each of which ends in the same step."""
    parts: list[ReadPart] = []
    for phrase in BETWEEN_PARTS.split(listed):
        inner = _unnested(phrase, steps) or ReadPart(phrase, [])
        parts.append(ReadPart(inner.name, [*inner.steps, step]))
    return parts


def read_steps(question: str, steps: Sequence[Step]) -> ReadPart | None:
    """Return the name that a question starts from and its steps in order; None where its words do not say."""
    asked = _without_rules(question)
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
    return _pattern(frame, {"wanted": f"(?P<wanted>{wanted})", "options": r"[\w ,-]+"})


def _parts_pattern(frame: str) -> re.Pattern[str]:
    return _pattern(frame, {"parts": "(?P<parts>.+)"})


def _operation_patterns() -> Iterator[tuple[Operation, Step, re.Pattern[str]]]:
    for operation, by_relation in documents_of_fiction.OPERATION_FRAMES.items():
        for relation, frames in by_relation.items():
            for frame in frames:
                yield operation, _known_step(relation), _parts_pattern(frame)


BETWEEN_PARTS = re.compile(r", | and ")
QUESTION_PATTERNS = tuple(map(_question_pattern, (*OPTIONS_FRAMES, *QUESTION_FRAMES)))
OPERATION_PATTERNS = tuple(_operation_patterns())
GREATEST_PATTERNS = tuple(
    (_known_step(relation), _parts_pattern(words)) for relation, words in documents_of_fiction.GREATEST.items()
)


def _unnested(phrase: str, steps: Sequence[Step]) -> ReadPart | None:
    """Peel the outermost step off, as long as there is one."""
    for step in steps:
        before, after = step.phrase.split("{x}")
        if phrase.startswith(before) and phrase.endswith(after) and len(phrase) > len(before) + len(after):
            inner = phrase[len(before) : len(phrase) - len(after)]
            read = _unnested(inner, steps) or ReadPart(inner, [])
            # Without a step of its own, what is left must be a name, and no noun phrase of another relation.
            if read.steps or read.name[:1].isupper() or not read.name.startswith("the "):
                return ReadPart(read.name, [*read.steps, step])
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
    rule = read_session_question(question)
    if rule is not None:
        return _Answering(facts).about_rule(rule)
    read = read_question(question, (*WORLD_STEPS, *dict.fromkeys(manual)))
    if read is None:
        return None
    return _Answering(facts).answer(read)


@lru_cache(maxsize=200)  # an agent reads the same texts before each action
def settled_facts(text: str, subject: str, relations: tuple[str, ...]) -> Mapping[str, str]:
    """Return the value of each of the subject's relations that the text settles."""
    answering = _Answering(list(read_world_facts(text)))
    values = {relation: answering.settled(subject, relation) for relation in relations}
    return {relation: value for relation, value in values.items() if value is not None}


@dataclass(frozen=True)
class _Answering:
    """Works out what the facts that were read come to."""

    facts: Sequence[ReadFact]

    def answer(self, read: ReadQuestion) -> str | None:
        first = read.parts[0]
        if read.operation == "follow":
            return self._followed(first.name, first.steps)
        if read.operation == "count":
            return self._counted(first)
        ends: dict[str, int] = {}
        for part in read.parts:
            subject = self._followed(part.name, part.steps[:-1])
            relation = part.steps[-1].relation
            value = self.settled(subject, relation)
            if subject is None or value is None:
                return None
            ends[subject] = comparable(value)
            if read.operation == "weigh":
                doubted = self.settled(subject, relation, rank=RANK["unconfirmed"])
                return None if doubted is None else str(abs(ends[subject] - comparable(doubted)))
        if read.operation == "sum":
            return str(sum(ends.values()))
        in_order = sorted(ends, key=lambda name: ends[name])
        if read.operation == "difference":
            return str(ends[in_order[-1]] - ends[in_order[0]])
        if read.operation == "order":
            return ", ".join(in_order)
        return self._followed(in_order[-1], read.then)

    def about_rule(self, asked: AskedRule) -> str | None:
        """Return whether the rule counts, or the one rule of the ticket that does not."""
        counts = self.settled(asked.ticket, team.RULING.name)
        if counts is None:
            return None
        if asked.rule:
            return "yes" if counts == asked.rule else "no"
        others: set[str] = set()
        for fact in self.facts:
            if (fact.subject, fact.relation) == (folded(asked.ticket), team.RULING.name) and fact.value != counts:
                others.add(fact.value)
        return others.pop() if len(others) == 1 else None

    def _followed(self, name: str, steps: Sequence[Step]) -> str | None:
        known: str | None = name
        for step in steps:
            known = self.settled(known, step.relation)
        return known

    def _counted(self, part: ReadPart) -> str | None:
        """Return how many subjects have what the part leads to; None where none has."""
        *leading, last = part.steps
        wanted = self._followed(part.name, leading)
        if wanted is None:
            return None
        subjects = dict.fromkeys(fact.subject for fact in self.facts if fact.relation == last.relation)
        members = 0
        for subject in subjects:
            value = self.settled(subject, last.relation)
            members += value is not None and folded(value) == folded(wanted)
        return str(members) if members else None

    def settled(self, subject: str | None, relation: str, *, rank: int | None = None) -> str | None:
        """Return the value of the facts that count most, of this rank if given; None where there is none, or they disagree."""
        if subject is None:
            return None
        best: tuple[int, date] | None = None
        values: dict[str, str] = {}
        for fact in self.facts:
            if fact.subject != folded(subject) or fact.relation != relation or rank not in (None, fact.weight[0]):
                continue
            if best is None or fact.weight > best:
                best = fact.weight
                values = {}
            if fact.weight == best:
                values[folded(fact.value)] = fact.value
        return next(iter(values.values())) if len(values) == 1 else None
