"""Reads: facts out of sentences, steps out of a question, and the answer that the steps lead to through the facts.

It knows nothing but the words it is given: a fact that no sentence states is missing, and the question stays open.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache

from assets.deep_research.world.relations import AS_OF, RELATIONS
from assets.llm.text import folded
from assets.memory_items.answers import read_date
from assets.memory_items.facts import RANK, Status
from pipelines.embedded.deep_research.manuals import manual_facts
from pipelines.embedded.deep_research.sentences import FRAMES, OPTIONS_FRAMES, QUESTION_FRAMES, WHO_FRAMES
from pipelines.embedded.deep_research.telling import clauses

SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
DAY = r"\d{1,2} [A-Z][a-z]+ \d{4}"
WEIGHTS: dict[str, Status] = {
    re.escape(words).replace(re.escape("{day}"), f"({DAY})"): status
    for status, all_words in AS_OF.items()
    for words in all_words
}
SLOT = {"subject": r"(?P<subject>.+?)", "value": r"(?P<value>.+?)"}


@dataclass(frozen=True)
class ReadFact:
    """What a sentence states; `weight` decides between sentences that contradict each other."""

    subject: str
    relation: str
    value: str
    weight: tuple[int, date]


def read_world_facts(text: str) -> Iterator[ReadFact]:
    """The facts that the sentences of a document of the invented world state."""
    for sentence in SENTENCE.split(text):
        yield from _facts_of(sentence)


@lru_cache(maxsize=50_000)
def _facts_of(sentence: str) -> tuple[ReadFact, ...]:
    source = _source(sentence)
    if source is None:
        return ()
    words, status, day = source
    for clause in _clauses(sentence, words):
        if (fact := _fact(clause, status, day)) is not None:
            return (fact,)
    return ()


def _source(sentence: str) -> tuple[str, Status, date] | None:
    """The words that say from when and how sure a statement is, and what they say."""
    for pattern, status in WEIGHTS.items():
        match = re.search(pattern, sentence, re.IGNORECASE)
        day = read_date(match[1]) if match else None
        if match and day:
            return match[0], status, day
    return None


def _clauses(sentence: str, words: str) -> Iterator[str]:
    """What is left of a sentence without its frame."""
    for frame in FRAMES:
        before, after = frame.format(clause="\0").replace("{as_of}", words).split("\0")
        if sentence.lower().startswith(before.lower()) and sentence.endswith(after):
            yield sentence[len(before) : len(sentence) - len(after)]


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Relation and pattern of every wording, the most words first: a plain one may be a part of another."""
    found: list[tuple[str, str]] = [
        (relation.name, clause) for relation in RELATIONS for clause in clauses(relation.name, relation.meaning)
    ]
    found.sort(key=lambda one: -len(one[1]))
    return tuple((name, _pattern(clause)) for name, clause in found)


def _pattern(clause: str) -> re.Pattern[str]:
    parts = re.split(r"\{(subject|value)\}", clause)
    return re.compile("".join(SLOT.get(part, re.escape(part)) for part in parts), re.IGNORECASE)


def _fact(clause: str, status: Status, day: date) -> ReadFact | None:
    for relation, pattern in _patterns():
        if match := pattern.fullmatch(clause):
            return ReadFact(folded(match["subject"]), relation, match["value"], (RANK[status], day))
    return None


@dataclass(frozen=True)
class Step:
    """One step of a question: a noun phrase with {x}, and the name of its relation."""

    relation: str
    phrase: str


@cache
def _world_steps() -> tuple[Step, ...]:
    return tuple(Step(relation.name, relation.phrase) for relation in RELATIONS)


def read_steps(question: str, steps: Sequence[Step]) -> tuple[str, list[Step]] | None:
    """The name that a question starts from and its steps in order; None where its words do not say."""
    for wanted in _wanted(question):
        if found := _unnested(wanted, steps):
            return found
    return None


def _wanted(question: str) -> Iterator[str]:
    """The noun phrase in a question of the frames that this model words; what follows the question mark is no part of it."""
    asked = question.partition("? ")[0].removesuffix("?") + "?"
    for pattern in _question_patterns():
        if match := pattern.fullmatch(asked):
            yield match["wanted"]


@cache
def _question_patterns() -> tuple[re.Pattern[str], ...]:
    slots = {"wanted": "(?P<wanted>[^:]+)", "options": "[^:]+"}
    return tuple(
        re.compile("".join(slots.get(part, re.escape(part)) for part in re.split(r"\{(wanted|options)\}", frame)))
        for frame in (*OPTIONS_FRAMES, *QUESTION_FRAMES, *WHO_FRAMES)
    )


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
    read = read_steps(question, (*_world_steps(), *dict.fromkeys(manual)))
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
