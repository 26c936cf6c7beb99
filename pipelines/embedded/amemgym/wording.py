"""Joints between hand-written lines: capitals, first person, and the ways to put a request beside its circumstances."""

import itertools
import re
from collections.abc import Sequence

from assets.engine.seeded_random import SeededRandom

# How events stand side by side in a list, and the same told in the first person.
EVENT_JOINTS = {"; around the same time, ": ". Around the same time I ", "; a little later, ": ". A little later I "}
OPENERS = (
    "I could use some advice on {title}.",
    "I have a question about {title}.",
    "I've been thinking about {title}.",
    "Here is where things stand with {title}.",
)
ASKED_AFTER = ("So, {}", "With that in mind, {}", "Given that, {}", "Now I wonder: {}", "My question: {}")
ABOUT = ("About {title}: {request}", "A question about {title}: {request}", "On the subject of {title}: {request}")
TOLD_FIRST = (
    *("{told}",) * 3,
    *("Recently {told}", "A little while ago {told}", "Not long ago {told}", "Some news from me: {told}"),
)
TOLD_LAST = ("I ask because {told}", "Some background: {told}", "I'm asking because {told}")


def lowered(sentence: str) -> str:
    """The sentence without its capital, for use after a comma or colon; "I" keeps its own."""
    first = sentence.split(" ", 1)[0]
    return sentence if first.partition("'")[0] == "I" else sentence[0].lower() + sentence[1:]


def word_set(words: str) -> frozenset[str]:
    """A set of words written as running text."""
    return frozenset(words.split())


def said(name: str) -> str:
    """A snake_case name as words."""
    return name.replace("_", " ")


def closed(sentence: str) -> str:
    """The sentence with a mark at its end."""
    return sentence if sentence.endswith((".", "?", "!")) else sentence + "."


def first_person(event: str) -> str:
    """An event of the bank (a fragment that begins with a verb, or several) told by the person."""
    told = f"I {lowered(event)}"
    for listed, spoken in EVENT_JOINTS.items():
        told = told.replace(listed, spoken)
    return closed(told)


def joined_events(fragments: Sequence[str]) -> str:
    """Fragments as one text that reads well in a list and can be told in the first person."""
    joints = [joint for joint, _ in zip(itertools.cycle(EVENT_JOINTS), fragments[1:], strict=False)]
    return fragments[0] + "".join(joint + lowered(text) for joint, text in zip(joints, fragments[1:], strict=True))


def event_parts(event: str) -> list[str]:
    """The fragments that an event was joined from."""
    return re.split("|".join(map(re.escape, EVENT_JOINTS)), event)


def about(request: str, *, title: str, rng: SeededRandom) -> str:
    """The request with its subject named, for one that could be about anything."""
    return rng.choice(ABOUT).format(title=title, request=lowered(request))


def told_query(told: str, request: str, *, rng: SeededRandom) -> str:
    """What happened, beside the request."""
    shape = rng.integer_below(10)
    if shape < 5:
        return f"{rng.choice(TOLD_FIRST).format(told=told)} {request}"
    if shape < 8:
        return f"{told} {_after(request, rng)}"
    return f"{request} {rng.choice(TOLD_LAST).format(told=told)}"


def cue_query(cues: Sequence[str], request: str, *, rng: SeededRandom) -> str:
    """How things are, beside the request."""
    told = " ".join(cues)
    shape = rng.integer_below(10)
    if shape < 5:
        return f"{told} {request}"
    if shape < 8:
        return f"{told} {_after(request, rng)}"
    return f"{request} {told}"


def _after(request: str, rng: SeededRandom) -> str:
    return request if ":" in request else rng.choice(ASKED_AFTER).format(lowered(request))
