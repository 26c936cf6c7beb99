"""The text of a session query: whose topic it speaks of, which request it makes, and how its sentences stand together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.wording import OPENERS, about, cue_query, told_query
from pipelines.embedded.bank import Topic, Variable, load_bank
from pipelines.embedded.reader import stems

PLAIN_REQUEST = "What would you suggest I do next?"
NAMING, JOINTS = 32, 28  # words up to which there is room to name the subject, and for joints between sentences
SUBJECT_NAMED = 0.8  # where the sentences do not say what they are about


@dataclass(frozen=True)
class Item:
    """The sentences of one query; `told` is what happened, in the first person, where something did."""

    topic: Topic | None
    request: str
    cues: tuple[str, ...]
    told: str = ""


def subject_of(names: Sequence[str], topics: Sequence[Topic], *, profile: str) -> Topic | None:
    """The topic of the person that has most of the variables; among equals by the person alone, whatever the attempt."""
    homes = [topic for name in names for topic in load_bank().homes.get(name, ())]
    near = [topic for topic in homes if topic in topics] or homes
    most = max((near.count(topic) for topic in near), default=0)
    best = sorted({topic.topic: topic for topic in near if near.count(topic) == most}.items())
    return SeededRandom("subject", profile, *sorted(names)).choice(best)[1] if best else None


def request_for(topic: Topic | None, exposed: Mapping[str, str], *, profile: str) -> str:
    """The request that goes with these values; another attempt at the same item asks for the same."""
    if topic is None:
        return PLAIN_REQUEST
    return SeededRandom("request", profile, *sorted(exposed.items())).choice(topic.requests)


def find_request(text: str, subject: Topic | None, names: Sequence[str]) -> tuple[Topic | None, str]:
    """The request that a text makes, with its topic; for an unknown one its own question."""
    homes = [topic for name in names for topic in load_bank().homes.get(name, ())]
    for topic in homes:
        for request in topic.requests:
            if request[1:] in text:
                return topic, request
    asked = [sentence.strip() for sentence in text.replace("?", "?\n").replace(". ", ".\n").splitlines()]
    own = [sentence for sentence in asked if sentence.endswith("?")]
    return subject, own[-1] if own else PLAIN_REQUEST


def vague_line(variable: Variable, *, avoid: str, rng: SeededRandom) -> str:
    """A line that touches the variable and settles nothing."""
    return rng.choice([line for line in variable.vague if line not in avoid] or list(variable.vague))


def written(item: Item, *, rng: SeededRandom) -> str:
    """The sentences as one message."""
    sentences = [*([item.told] if item.told else []), *item.cues]
    request = item.request
    if item.topic and not _evident(item) and rng.bernoulli(SUBJECT_NAMED):
        has_room = _words(*sentences, request, item.topic.title) < NAMING
        if has_room and not item.told and rng.bernoulli(0.5):
            return " ".join([rng.choice(OPENERS).format(title=item.topic.title), *sentences, request])
        request = about(request, title=item.topic.title, rng=rng) if has_room else request
    if _words(*sentences, request) > JOINTS:
        return " ".join([*sentences, request])
    if item.told:
        return told_query(" ".join(sentences), request, rng=rng)
    return cue_query(sentences, request, rng=rng)


def _words(*sentences: str) -> int:
    return sum(len(sentence.split()) for sentence in sentences)


def _evident(item: Item) -> bool:
    """Whether the sentences themselves say what they are about."""
    assert item.topic is not None
    subject = stems(f"{item.topic.title} {' '.join(item.topic.fits.hobbies)}")
    return bool(subject & stems(" ".join((item.request, item.told, *item.cues))))
