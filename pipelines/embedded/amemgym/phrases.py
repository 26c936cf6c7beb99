"""Choosing and joining hand-written phrases: which one conveys a value, and how phrases become a message."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.bank import Topic, Variable, load_bank
from pipelines.embedded.reader import read_value, word_set

BLIND_SPOT_RATE = 0.0005  # share of items whose text stays unclear whatever is tried
# How events are joined in a list, and the same joint in the first person.
EVENT_JOINTS = {"; around the same time, ": ". Around the same time I ", "; a little later, ": ". A little later I "}
# How a message may begin that tells of an event.
EVENT_OPENINGS = (*("{event}",) * 9, "Recently {event}", "A little while ago {event}", "Not long ago {event}")
REQUEST_FIRST_RATE = 0.2  # of messages begin with what they ask
# Closing sentences of answers, by the kind of topic. They suit any situation and say nothing about anybody's.
ACTIVE_TOPICS = word_set(
    """birdwatching camping cycling fishing recreational_team_sport running strength_training swimming weekend_hiking
    weekend_trips yoga_and_stretching commuting dog_care"""
)
CRAFT_TOPICS = word_set(
    """bread_baking healthy_eating home_repairs houseplant_care knitting_and_crafts painting_and_drawing photography
    vegetable_garden weeknight_cooking decluttering home_office_setup grocery_planning"""
)
LEARNING_TOPICS = word_set(
    """career_growth family_history language_learning learning_an_instrument online_courses public_speaking reading_habit
    time_management side_business team_leadership household_budgeting saving_for_a_goal"""
)
ACTIVE_CLOSINGS = (
    "Pay attention to how it feels, and adjust from there.",
    "Repeat what worked, and drop the rest without regret.",
    "Small steps add up sooner than you might expect.",
    "Do it twice before you judge it.",
    "Note down briefly how it went.",
)
CRAFT_CLOSINGS = (
    "Change one detail at a time, so you can see what helped.",
    "Write down what you did, and the second attempt will be easier.",
    "See how it turns out before you change anything else.",
    "Mistakes are cheap here, so experiment.",
    "Good enough is fine for a start.",
)
LEARNING_CLOSINGS = (
    "Review in a month what has improved.",
    "Steady effort will show before long.",
    "Judge it by the results after some weeks.",
    "Be patient with yourself while it becomes a habit.",
    "Once that feels natural, add the next step.",
)
OTHER_CLOSINGS = (
    "See what difference it makes, and build on that.",
    "Begin small, and let it grow.",
    "If it feels right, make it a habit.",
    "Nothing has to be perfect for this to help.",
    "Adjust it until it suits you.",
)


@dataclass(frozen=True)
class TargetValue:
    """What a text is to convey: this value of this variable, among these values."""

    name: str
    value: str
    values: tuple[str, ...]

    def is_conveyed_by(self, text: str) -> bool:
        """Whether the reader finds the value in the text."""
        return read_value(text, name=self.name, values=self.values) == self.value


def choose_phrase(
    phrases: Sequence[str], target: TargetValue, *, others: Mapping[str, Sequence[str]], rng: SeededRandom
) -> str:
    """A phrase that conveys its value and none of the other variables; conveying its own matters more."""
    order = rng.shuffled(phrases)
    clear = [phrase for phrase in order if target.is_conveyed_by(phrase)] or order
    return next((phrase for phrase in clear if not _reveals_other(phrase, target.name, others)), clear[0])


def _reveals_other(phrase: str, name: str, others: Mapping[str, Sequence[str]]) -> bool:
    return any(other != name and read_value(phrase, name=other, values=values) is not None for other, values in others.items())


def is_blind_spot(*item: object) -> bool:
    """Whether an item stays unclear whatever is tried: by its content alone, so that another attempt meets the same.

    A real model has such blind spots, and a pipeline has to replace the user then.
    """
    return SeededRandom("blind spot", *item).bernoulli(BLIND_SPOT_RATE)


def find_variable(name: str, topic: Topic | None) -> Variable | None:
    """The topic's variable of this name, else the one of the first topic that has it."""
    topics = load_bank().topics_with.get(name, ())
    return (topic.variable(name) if topic else None) or (topics[0].variable(name) if topics else None)


def as_words(name: str) -> str:
    """A snake_case name with spaces for its underscores."""
    return name.replace("_", " ")


def lower_first(sentence: str) -> str:
    """The sentence without its capital, for use after a comma or colon; "I" keeps its own."""
    first = sentence.split(" ", 1)[0]
    return sentence if first.partition("'")[0] == "I" else sentence[0].lower() + sentence[1:]


def first_person(event: str) -> str:
    """An event of the bank (a fragment that begins with a verb, or several) as sentences that begin with "I"."""
    text = f"I {lower_first(event)}"
    for listed, spoken in EVENT_JOINTS.items():
        text = text.replace(listed, spoken)
    return text if text.endswith((".", "?", "!")) else f"{text}."


def join_events(fragments: Sequence[str]) -> str:
    """Fragments as one text that reads well in a list and can be put into the first person."""
    joints = [joint for joint, _ in zip(itertools.cycle(EVENT_JOINTS), fragments[1:], strict=False)]
    return fragments[0] + "".join(joint + lower_first(text) for joint, text in zip(joints, fragments[1:], strict=True))


def split_event(event: str) -> list[str]:
    """The fragments that an event was joined from."""
    return re.split("|".join(map(re.escape, EVENT_JOINTS)), event)


def compose_message(event: str, circumstances: Sequence[str], request: str, *, rng: SeededRandom) -> str:
    """One message of what happened ("" for nothing), how things are, and what is asked: sentences that need no joints."""
    happened = [rng.choice(EVENT_OPENINGS).format(event=event)] if event else []
    told = [*happened, *circumstances]
    return " ".join([request, *told] if rng.bernoulli(REQUEST_FIRST_RATE) else [*told, request])


def closing_sentences(topic: Topic | None, *, rng: SeededRandom) -> list[str]:
    """Sentences for the ends of answers to one question, in random order."""
    name = topic.topic if topic else ""
    kinds = (
        (ACTIVE_TOPICS, ACTIVE_CLOSINGS),
        (CRAFT_TOPICS, CRAFT_CLOSINGS),
        (LEARNING_TOPICS, LEARNING_CLOSINGS),
    )
    return rng.shuffled(next((sentences for topics, sentences in kinds if name in topics), OTHER_CLOSINGS))
