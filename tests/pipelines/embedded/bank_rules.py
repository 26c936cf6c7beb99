"""The rules for the embedded model's topics, which are written by hand and read at run time as they are."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from assets.text.languages import FORMS
from pipelines.embedded.bank import Topic, ValuePhrases, Variable

CONCEPTS = {
    "monthly_spare_money": ("lives_hand_to_mouth", "a_modest_amount", "a_comfortable_amount"),
    "daily_free_time": ("scattered_minutes", "about_an_hour", "whole_evenings"),
    "home_type": ("small_apartment", "shared_house", "townhouse_with_patio", "house_with_large_yard"),
    "physical_condition": ("in_top_form", "stiff_and_easily_tired", "recovering_from_injury"),
    "usual_company": ("usually_alone", "with_one_companion", "with_a_regular_group"),
    "everyday_transport": ("own_car", "public_transport", "bicycle_or_walking"),
    "work_pattern": ("fixed_daytime_hours", "rotating_shifts", "self_set_hours"),
    "comfort_with_technology": ("avoids_screens", "manages_with_help", "at_ease_with_apps"),
}
ABSENCE = FORMS["en"].absence
NAME = re.compile(r"[a-z][a-z0-9_]*")
PHRASE = re.compile(r"[ -!#-:<-~]+")  # printable ASCII without quotation marks or semicolons


def faults_of(topic: Topic) -> Iterator[str]:
    """Yield a sentence for whatever in a topic breaks a rule."""
    yield from _count("questions", topic.questions, 4, words=(8, 18))
    yield from _count("requests", topic.requests, 5, words=(5, 10))
    for phrase in (*topic.questions, *topic.requests):
        if not phrase.endswith("?"):
            yield f"{phrase!r} is a question and ends in a question mark."
    if [variable.concept is not None for variable in topic.variables] != [False, False, True]:
        yield "Of three variables the last variable has a concept, and only that."
    if topic.variables[-1].name == "work_pattern" and not topic.fits.employed:
        yield "It asks about work, so it fits employed people only."
    for phrase, count in Counter(topic.phrases).items():
        if count > 1:
            yield f"{phrase!r} stands there twice."
    for phrase in _all_texts(topic):
        if not PHRASE.fullmatch(phrase):
            yield f"{phrase!r} has a sign that phrases do without."
    for variable in topic.variables:
        yield from _faults_of_variable(variable)


def _all_texts(topic: Topic) -> list[str]:
    texts = [topic.title, *topic.questions, *topic.requests, *topic.phrases]
    for variable in topic.variables:
        texts += (*variable.vague, *variable.vague_advice)
    return texts


def _faults_of_variable(variable: Variable) -> Iterator[str]:
    for name in (variable.name, *variable.asked_as, *variable.choices):
        if not NAME.fullmatch(name):
            yield f"{name!r} is no name in snake case."
    yield from _count("asked_as", variable.asked_as, 2)
    yield from _count("vague", variable.vague, 2)
    yield from _count("vague_advice", variable.vague_advice, 1)
    if not 3 <= len(variable.choices) <= 5:
        yield f"{variable.name!r} has three to five choices."
    if variable.concept and (variable.name, tuple(variable.choices)) != (variable.concept, CONCEPTS.get(variable.concept)):
        yield f"{variable.name!r} must carry the concept's own name and choices."
    for value, choice in variable.choices.items():
        yield from _faults_of_choice(choice)
        if ABSENCE and ABSENCE.search(value.replace("_", " ")):
            yield f"{value!r} is the absence of something, which nobody mentions."
        # Nobody names a value in a session: an assistant that only compared words would need no memory.
        for phrase in choice.phrases:
            if value.replace("_", " ") in phrase.lower():
                yield f"{phrase!r} states its own value {value!r}."


def _faults_of_choice(choice: ValuePhrases) -> Iterator[str]:
    yield from _count("cues", choice.cues, 3, words=(8, 17))
    yield from _count("events", choice.events, 2, words=(9, 20))
    yield from _count("advice", choice.advice, 3, words=(14, 24))
    for phrase in (*choice.cues, *choice.advice):
        if not phrase.endswith("."):
            yield f"{phrase!r} is a sentence and ends in a dot."
    for phrase in choice.events:
        if phrase.endswith(".") or not phrase[0].isupper():
            yield f"{phrase!r} is an event: a capital first, no dot at the end."


def _count(name: str, texts: Sequence[str], count: int, *, words: tuple[int, int] = (1, 100)) -> Iterator[str]:
    if len(texts) != count:
        yield f"There are {len(texts)} {name}, not {count}."
    for text in texts:
        if not words[0] <= len(text.split()) <= words[1]:
            yield f"{text!r} has {len(text.split())} words; {words[0]} to {words[1]} are wanted."
