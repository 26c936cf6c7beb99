"""Choosing and joining hand-written phrases: which one conveys a value, and how phrases become a message."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.bank import Topic, Variable, load_bank
from pipelines.embedded.reader import read_value, read_values

# How events are joined in a list, and the same joint in the first person.
EVENT_JOINTS = {"; around the same time, ": ". Around the same time I ", "; a little later, ": ". A little later I "}
# How a message may begin that tells of an event.
EVENT_OPENINGS = (*("{event}",) * 9, "Recently {event}", "A little while ago {event}", "Not long ago {event}")
REQUEST_FIRST_RATE = 0.2  # of messages begin with what they ask


@dataclass(frozen=True)
class TargetValue:
    """A value that a text is to convey: of this variable, among these values."""

    name: str
    value: str
    values: tuple[str, ...]

    def is_conveyed_by(self, text: str) -> bool:
        """Return True when the reader finds the value in the text."""
        return read_value(text, name=self.name, values=self.values) == self.value


def choose_phrase(
    phrases: Sequence[str], target: TargetValue, *, others: Mapping[str, Sequence[str]], rng: SeededRandom
) -> str:
    """Choose a phrase that conveys its value and none of the `others`; conveying its own matters more."""
    order = rng.shuffled(phrases)
    clear = [phrase for phrase in order if target.is_conveyed_by(phrase)] or order
    # A phrase that says too much is better than none: the gate refuses it, and a later try draws another.
    for phrase in clear:
        if not read_values(phrase, others):
            return phrase
    return clear[0]


def choose_unclear(names: Iterable[str], *, rate: float, rng: SeededRandom) -> str | None:
    """Choose the variable that a text will touch without settling it, as a real model's texts do; mostly none."""
    return rng.choice(list(names)) if rng.bernoulli(rate) else None


def find_variable(name: str, topic: Topic | None) -> Variable | None:
    """Return the topic's variable of this name, else the one of the first topic that has it."""
    own = topic.variable(name) if topic else None
    topics = load_bank().topics_with.get(name, ())
    if own is not None or not topics:
        return own
    return topics[0].variable(name)


def lower_first(sentence: str) -> str:
    """Return the sentence without its capital, for use after a comma or colon; "I" keeps its own."""
    first = sentence.split(" ", 1)[0]
    return sentence if first.partition("'")[0] == "I" else sentence[0].lower() + sentence[1:]


def first_person(event: str) -> str:
    """Return an event of the bank (a fragment that begins with a verb, or several) as sentences that begin with "I"."""
    text = f"I {lower_first(event)}"
    for listed, spoken in EVENT_JOINTS.items():
        text = text.replace(listed, spoken)
    return text if text.endswith((".", "?", "!")) else f"{text}."


def join_events(fragments: Sequence[str]) -> str:
    """Join fragments to one text that reads well in a list and can be put into the first person."""
    joints = itertools.cycle(EVENT_JOINTS)
    text = fragments[0]
    for fragment in fragments[1:]:
        text += next(joints) + lower_first(fragment)
    return text


def split_event(event: str) -> list[str]:
    """Return the fragments that an event was joined from, each with its capital again."""
    fragments = re.split("|".join(map(re.escape, EVENT_JOINTS)), event)
    return [fragment[:1].upper() + fragment[1:] for fragment in fragments]


def compose_message(event: str, circumstances: Sequence[str], request: str, *, rng: SeededRandom) -> str:
    """Write one message of what happened ("" for nothing), how things are, and what is asked: sentences that need no joints."""
    told = list(circumstances)
    if event:
        told.insert(0, rng.choice(EVENT_OPENINGS).format(event=event))
    if rng.bernoulli(REQUEST_FIRST_RATE):
        return " ".join([request, *told])
    return " ".join([*told, request])
