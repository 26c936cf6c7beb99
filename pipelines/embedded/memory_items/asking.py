"""Questions in short sentences, as this model words them and reads them again: at most two steps a sentence, from a name on."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assets.memory_items.questions import MOST_WORDS, num_words
from assets.memory_items.world.relations import Relation
from assets.recipe.document_tasks import Operation
from pipelines.embedded.memory_items.known_world import KnownWorld, Step

SPOKEN_OF = re.compile(r"it|that \w+", re.IGNORECASE)
BETWEEN_PARTS = re.compile(r", | and ")
ASKED_APART = ("count", "weigh")  # operations whose question has no room for two steps before it
WHAT_IS = re.compile(r"(?:What|Who) is (?P<wanted>.+)\?")
# What follows on the question for a fact that is so for a while.
ASKED_OF_TIME: Mapping[Operation, str] = {
    "since_when": "Only tell me since when?",
    "still_so": "Is the first note on it still right?",
}
TAKE = re.compile(r"Take (?P<wanted>.+?)\. (?P<rest>.+)")


def word_question(world: KnownWorld, wanted: Mapping[str, Any], options: Sequence[str]) -> str:
    """Return the question for what is wanted, as the task gives it; in the shorter sentences where it would be long."""
    question = _QuestionWording(world, 0).word(wanted)
    if num_words(question, ()) > MOST_WORDS:
        question = _QuestionWording(world, 1).word(wanted)
    return f"{question.removesuffix('?')}: {', '.join(options)}?" if options else question


@dataclass(frozen=True)
class _QuestionWording:
    """Words questions of a world; `length`: which of a relation's sentences that lead on is taken."""

    world: KnownWorld
    length: int

    def word(self, wanted: Mapping[str, Any]) -> str:
        operation = wanted["operation"]
        parts = wanted["parts"]
        last = self._relation(parts[0]["steps"][-1])
        if operation in ("follow", "since_when", "still_so") or last is None:
            sentences, about = self._lead_on(parts[0]["name"], parts[0]["steps"][:-1], kept=1)
            asked = self._ask(parts[0]["steps"][-1], about)
            of_time = [ASKED_OF_TIME[operation]] if operation in ASKED_OF_TIME else []
            return " ".join((*sentences, asked, *of_time))
        if operation in ASKED_APART:
            leading = parts[0]["steps"][:-1]
            sentences, about = self._lead_on(parts[0]["name"], leading, kept=int(len(leading) == 1))
            return " ".join((*sentences, self.world.operation_frames[operation][last.name].format(parts=about)))
        listed = _list_parts([self._refer_to(part["name"], part["steps"][:-1]) for part in parts])
        if operation == "most":
            taken = self.world.greatest[last.name].format(parts=listed)
            return f"{taken}. {self._ask(wanted['then'][0], self.world.noun(last.subject))}"
        return self.world.operation_frames[operation][last.name].format(parts=listed)

    def _lead_on(self, name: str, steps: Sequence[str], *, kept: int) -> tuple[list[str], str]:
        """Return sentences over all steps but the last `kept`, one or two in each, and what is then spoken of."""
        one_each = self.world.steps_apart and self.length == 0
        told = steps[: len(steps) - (0 if one_each else kept)]
        sentences: list[str] = []
        place = 0
        while place < len(told):
            taken = told[place : place + (1 if one_each or (len(told) - place) % 2 else 2)]
            about = self._refer_to(name, taken[:-1])
            relation = self._relation(taken[-1])
            if relation is None:
                sentences.append(f"Take {taken[-1].replace('{x}', about)}.")
                name = "it"
            else:
                event = self.world.ask_words[relation.name].events[self.length].replace("{x}", about)
                # A name of code keeps its case.
                sentences.append(f"{event if event.startswith(name) and not sentences else event[:1].upper() + event[1:]}.")
                name = self.world.noun(relation.value)
            place += len(taken)
        return sentences, self._refer_to(name, steps[len(told) :])

    def _refer_to(self, name: str, steps: Sequence[str]) -> str:
        """Return what these steps lead to from a name: its role, or the role of a role."""
        about = name
        for number, step in enumerate(steps):
            relation = self._relation(step)
            if relation is None:
                about = step.replace("{x}", about)
                continue
            role = self.world.ask_words[relation.name].role
            about = f"the {role} of {about}" if number else f"{about}'{'' if about.endswith('s') else 's'} {role}"
        return about

    def _ask(self, step: str, about: str) -> str:
        relation = self._relation(step)
        asked = f"What is {step}?" if relation is None else self.world.ask_words[relation.name].ask
        return asked.replace("{x}", about)

    def _relation(self, phrase: str) -> Relation | None:
        return next((relation for relation in self.world.relations if relation.phrase == phrase), None)


def _list_parts(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


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


def read_question(question: str, worlds: Sequence[KnownWorld], steps: Sequence[Step]) -> ReadQuestion | None:
    """Return what a question asks, by the words of these worlds or by the phrases of these steps; None where none says."""
    asked = question.rpartition("\n\n")[2]  # behind its introduction
    for operation, words in ASKED_OF_TIME.items():
        of_fact, of_time, _ = asked.partition(f" {words.removesuffix('?')}")
        read = read_question(of_fact, worlds, steps) if of_time else None
        if read:
            return replace(read, operation=operation)
    for world in worlds:
        read = _Reading(world).read(asked)
        if read is not None:
            return read
    part = _read_phrases(asked, steps)
    return None if part is None else ReadQuestion("follow", [part])


@dataclass
class _Reading:
    """Reads a question in the words of a world; `before` is what its sentences have led to so far."""

    world: KnownWorld
    before: ReadPart | None = None

    def read(self, text: str) -> ReadQuestion | None:
        for compared, pattern in self.world.greatest_patterns:
            match = pattern.fullmatch(text)
            then = self._read_asked(match["rest"]) if match else None
            if match and then is not None:
                return ReadQuestion("most", self._read_parts(match["parts"], compared), then.steps)
        for step, pattern in self.world.event_patterns:
            match = pattern.fullmatch(text)
            if match:
                self.before = self._peel(match["x"], step)
                return self.read(match["rest"])
        for operation, compared, pattern in self.world.operation_patterns:
            match = pattern.fullmatch(text)
            if match:
                return ReadQuestion(operation, self._read_parts(match["parts"], compared))
        part = self._read_asked(text)
        return None if part is None else ReadQuestion("follow", [part])

    def _read_asked(self, text: str) -> ReadPart | None:
        for step, pattern in self.world.ask_patterns:
            match = pattern.fullmatch(text)
            if match:
                return self._peel(match["x"], step)
        return None

    def _read_parts(self, listed: str, step: Step) -> list[ReadPart]:
        return [self._peel(part, step) for part in BETWEEN_PARTS.split(listed)]

    def _peel(self, about: str, last: Step) -> ReadPart:
        """Return the name and the steps that lead to what is spoken of, and the last one."""
        part = next(self._inner_parts(about), None)
        if part is None and self.before is not None and SPOKEN_OF.fullmatch(about):
            part = self.before
        if part is None:
            part = ReadPart(about, [])
        return ReadPart(part.name, [*part.steps, last])

    def _inner_parts(self, about: str) -> Iterator[ReadPart]:
        """Yield what a role is of: first of a role that is named before it, as that one is the outer one."""
        roles = [(words.role, self.world.step(name)) for name, words in self.world.ask_words.items() if words.role]
        for role, step in roles:
            owned = about.removeprefix(f"the {role} of ")
            if owned != about:
                yield self._peel(owned, step)
        for role, step in roles:
            owner = about.removesuffix(f" {role}")
            if owner != about and owner.endswith(("'s", "s'")):
                yield self._peel(owner.removesuffix("'s").removesuffix("'"), step)


def _read_phrases(text: str, steps: Sequence[Step]) -> ReadPart | None:
    """Return the name and the steps of a question made of noun phrases, nested or one after the other."""
    before: ReadPart | None = None
    taken = TAKE.fullmatch(text)
    while taken:
        before = _peel_phrases(taken["wanted"], steps, before)
        text = taken["rest"]
        taken = TAKE.fullmatch(text)
    asked = WHAT_IS.fullmatch(text)
    return _peel_phrases(asked["wanted"], steps, before) if asked else None


def _peel_phrases(phrase: str, steps: Sequence[Step], before: ReadPart | None) -> ReadPart | None:
    """Peel the outermost step off, as long as there is one."""
    for step in steps:
        start, end = step.phrase.split("{x}")
        if phrase.startswith(start) and phrase.endswith(end) and len(phrase) > len(start) + len(end):
            inner = phrase[len(start) : len(phrase) - len(end)]
            part = before if inner == "it" else _peel_phrases(inner, steps, before)
            part = part or ReadPart(inner, [])
            # Without a step of its own, what is left must be a name, and no noun phrase of another relation.
            if part.steps or part.name[:1].isupper() or not part.name.startswith("the "):
                return ReadPart(part.name, [*part.steps, step])
    return None
