"""Composes documents around the facts of a request by a grammar: sentences of pieces that are drawn one by one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.facts import Statement, Status
from assets.memory_items.world.relations import Relation
from assets.memory_items.world.writing import named_alone, said_plainly
from pipelines.embedded.task import PromptTask

SLOT = re.compile(r"\{([\w ]+)\}")
SENTENCE_START = re.compile(r"(?:^|(?<=[.!?] )|(?<=\n))[a-z]\S*")
STATUSES: tuple[Status, ...] = ("plain", "certified", "unconfirmed")
ROW = "{phrase} | {value} | {source}{note}"
# What remarks are about where a note is about no function.
NO_FUNCTION = {"function": "the script", "signature": "the command line", "line": "the first loop", "docstring": "a comment"}
Rules = Mapping[str, Sequence[str]]


def read_grammar(path: Path) -> Rules:
    """Return the rules of a file, each with its alternatives."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def sources_of(rules: Rules) -> dict[Status, Sequence[str]]:
    """Return by status the words for the source of a fact, which have its {day}."""
    return {status: rules[f"{status} source"] for status in STATUSES}


@dataclass(frozen=True)
class Speech:
    """How this model writes about a world: its relations, further wordings of each by name, its standings, its grammar."""

    relations: Sequence[Relation]
    clauses: Mapping[str, Sequence[str]]
    standings: Mapping[Status, str]
    rules: Rules

    def compose(self, task: PromptTask) -> dict[str, Any]:
        """Write the document that the request plans."""
        facts = task.data("facts")
        names = [fact[key] for fact in facts for key in ("name", "value") if key in fact]
        subject = task.text("subject")
        # Code stands between marks.
        code = f"`{subject}`"
        material = task.data("material")
        topic = code if "." in subject or material.get("function") == code else subject
        about = {**NO_FUNCTION, "subject": subject, "topic": topic, **material}
        return _DocumentDraft(self, task.rng("write"), task.text("kind"), about, tuple(names)).document(facts)

    def relation_of(self, fact: Mapping[str, str]) -> Relation:
        """Return the relation that a fact of a request states. Raises ValueError for one of another world."""
        for relation in self.relations:
            known = Statement(subject=fact["name"], relation=relation.name, value=fact["value"], as_of=date.min, status="plain")
            if fact["fact"] in (named_alone(relation), said_plainly(relation, known)):
                return relation
        raise ValueError(f"This model knows no relation by which {fact['fact']!r}.")


@dataclass(frozen=True)
class _DocumentDraft:
    """One document while it is written. `about`: its subject, and what it may name; `names`: those of its facts."""

    speech: Speech
    rng: SeededRandom
    kind: str
    about: Mapping[str, str]
    names: tuple[str, ...]
    used: set[str] = field(default_factory=set[str])

    def document(self, facts: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """Return title and text: a beginning, paragraphs with facts and with remarks, an end."""
        said = self.rng.shuffled([fact for fact in facts if "session" not in fact])
        shown = [fact for fact in facts if "session" in fact]
        things = self._things(said)
        title = self._expand(f"{self.kind} title", things)
        opening = self._capital(self._expand(f"{self.kind} opening", things))
        if self.kind == "certificate":
            rows = [self._row(fact) for fact in said]
            remarks = self._paragraph(self._remarks(2, things))
            paragraphs = ["\n".join([opening, *rows]), remarks]
        else:
            paragraphs = [opening, *self._body(said, shown, things)]
        closing = self._capital(self._expand(f"{self.kind} closing", things))
        return {"title": self._capital(title), "text": "\n\n".join([*paragraphs, closing])}

    def _paragraph(self, sentences: Sequence[str]) -> str:
        return " ".join(map(self._capital, sentences))

    def _body(
        self, said: Sequence[Mapping[str, str]], shown: Sequence[Mapping[str, str]], things: Mapping[str, str]
    ) -> list[str]:
        """Return paragraphs with all facts, parted by remarks in seeded order."""
        cut = self.rng.integer_below(len(said) + 1)
        # What only some documents show takes the room of remarks, so that no length tells it. Where all do, it has its own day.
        remarks = 0 if said and any("run_on" not in fact for fact in shown) else 1
        paragraphs: list[str] = []
        for part in (said[:cut], said[cut:]):
            sentences = list(map(self._told, part))
            for remark in self._remarks(remarks, things):
                sentences.insert(self.rng.integer_below(len(sentences) + 1), remark)
            if sentences:
                paragraphs.append(self._paragraph(sentences))
        for fact in shown:
            applied = f", with {fact['applied']} applied" if "applied" in fact else ""
            lead = self._capital(
                self._expand("session lead", {**things, **fact, "day": self._day_of(fact), "applied": applied})
            )
            paragraphs.insert(1, f"{lead}\n\n{fact['session']}")
        return paragraphs

    def _things(self, said: Sequence[Mapping[str, str]]) -> dict[str, str]:
        """Return by which rule remarks name what goes with the subject."""
        kinds = [self.speech.relation_of(fact).subject for fact in said if fact["name"] == self.about["subject"]]
        return {"thing": f"{{thing of {kinds[0] if kinds else 'anything'}}}"}

    def _remarks(self, count: int, things: Mapping[str, str]) -> list[str]:
        return [self._expand("remark", things) for _ in range(count)]

    def _told(self, fact: Mapping[str, str]) -> str:
        """Return the sentences that tell a fact, its source in one with it or before it."""
        inner = self._slots_of(fact)
        if self.rng.bernoulli(0.3):
            return self._expand("inline", inner)
        return f"{self._expand('lead', inner)} {self._expand('follow', inner)}"

    def _row(self, fact: Mapping[str, str]) -> str:
        phrase = self.speech.relation_of(fact).phrase.replace("{x}", fact["name"])
        return self._fill(ROW, {**self._slots_of(fact), "phrase": phrase, "value": fact["value"]})

    def _slots_of(self, fact: Mapping[str, str]) -> dict[str, str]:
        """Return the words for a fact: a clause and its source."""
        relation = self.speech.relation_of(fact)
        wording = self.rng.choice((relation.meaning, *self.speech.clauses.get(relation.name, ())))
        clause = wording.replace("{subject}", fact["name"]).replace("{value}", fact["value"])
        named = [status for status, words in self.speech.standings.items() if words == fact.get("standing")]
        status = named[0] if named else "plain"
        source = self.rng.choice(self.speech.rules[f"{status} source"]).replace("{day}", self._day_of(fact))
        own_opener = f"{self.kind} opener"
        slots = {"clause": clause, "source": source}
        return {**slots, "opener": f"{{{own_opener}}}"} if own_opener in self.speech.rules else slots

    def _day_of(self, fact: Mapping[str, str]) -> str:
        """Return the day as of which a fact holds or its call was run: its own, or else that of the document."""
        return fact.get("day") or fact.get("run_on") or self.about["written_on"]

    def _expand(self, rule: str, slots: Mapping[str, str]) -> str:
        """Return an alternative of the rule, filled in; none comes twice in a document where there is another."""
        alternatives = self.speech.rules[rule]
        fresh = [alternative for alternative in alternatives if f"{rule}: {alternative}" not in self.used]
        chosen = self.rng.choice(fresh or alternatives)
        self.used.add(f"{rule}: {chosen}")
        return self._fill(chosen, slots)

    def _fill(self, template: str, slots: Mapping[str, str]) -> str:
        """Return the template with its slots filled: from these, from the request, or by other rules."""
        known = {**self.about, **slots}

        def words(slot: re.Match[str]) -> str:
            filled = known.get(slot[1])
            if filled is None:
                return self._expand(slot[1], slots)
            return self._fill(filled, slots) if SLOT.fullmatch(filled) else filled

        return SLOT.sub(words, template)

    def _capital(self, text: str) -> str:
        """Return the text with a capital at the start of each sentence; names of facts stay as they are."""

        def begin(found: re.Match[str]) -> str:
            word = found[0]
            named = any(name.startswith(word.rstrip(".,:")) for name in self.names)
            return word if named else word[:1].upper() + word[1:]

        return SENTENCE_START.sub(begin, text)
