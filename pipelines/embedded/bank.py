"""The phrases of the embedded model: hand-written topics, each with three state variables expressed by circumstances."""

import hashlib
import re
from collections import Counter
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

FOLDER = Path(__file__).parent / "bank"
PLAUSIBILITY = Path(__file__).parent / "amemgym" / "plausibility.yaml"  # what excludes what; part of the model's identity
CODE_VERSION = "4"  # raise it when the program answers the same request in other words
MODEL_FAMILY = "amemgym-embedded"
CONCEPTS = {
    "monthly_spare_money": ("almost_nothing_to_spare", "a_modest_amount", "a_comfortable_amount"),
    "daily_free_time": ("scattered_minutes", "about_an_hour", "whole_evenings"),
    "home_type": ("small_apartment", "shared_house", "townhouse_with_patio", "house_with_large_yard"),
    "physical_condition": ("fit_and_pain_free", "stiff_and_easily_tired", "recovering_from_injury"),
    "usual_company": ("usually_alone", "with_one_companion", "with_a_regular_group"),
    "everyday_transport": ("own_car", "public_transport", "bicycle_or_walking"),
    "work_pattern": ("fixed_daytime_hours", "rotating_shifts", "self_set_hours"),
    "comfort_with_technology": ("avoids_screens", "manages_with_help", "at_ease_with_apps"),
}
# Questions on any topic, by its title. They go with every period of a life, whatever has happened by then.
QUESTION_FRAMES = (
    "What should I do differently when it comes to {title}?",
    "What would make the biggest difference for me with {title}?",
    "Which next step would you suggest to me for {title}?",
    "What would a good plan for {title} look like in my situation?",
    "Where should I put my effort first when it comes to {title}?",
    "What is the most sensible way to go about {title} in my position?",
    "How should I go about {title} over the coming weeks?",
    "How should I go about {title} over the next few months?",
    "When it comes to {title}, what should I keep and what should I change?",
    "What do people in my situation tend to get wrong about {title}?",
    "What kind of approach to {title} would suit me best?",
    "Looking at my life as it is, what would you advise on {title}?",
    "What advice on {title} would fit my life as it is now?",
    "Could you help me make a realistic plan for {title}?",
    "How do I make the most of {title}?",
    "What small change would help me most with {title}?",
    "What one thing about {title} should I work on this month?",
    "What is most worth my attention in {title} right now?",
    "What should my priorities be for {title} at the moment?",
    "Given how I live, how would you arrange {title} for me?",
    "What would you have me try next with {title}?",
    "How can I make {title} fit better into my life?",
    "What habit should I build next around {title}?",
    "What would be a good goal for me in {title} this season?",
)
SnakeName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Phrase = Annotated[str, StringConstraints(pattern=r"^[ -!#-:<-~]+$")]  # printable ASCII without quotation marks or semicolons


def _check_length(text: str, least: int, most: int) -> None:
    if not least <= len(text.split()) <= most:
        raise ValueError(f"{text!r} has {len(text.split())} words; {least} to {most} are wanted.")


class _BankModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ValuePhrases(_BankModel):
    """Phrases for one value: how things are (cues), how they came about (events), and what helps then (advice)."""

    cues: tuple[Phrase, ...] = Field(min_length=3, max_length=3)
    events: tuple[Phrase, ...] = Field(min_length=2, max_length=2)
    advice: tuple[Phrase, ...] = Field(min_length=3, max_length=3)

    @property
    def phrases(self) -> tuple[str, ...]:
        return (*self.cues, *self.events, *self.advice)

    @model_validator(mode="after")
    def check_phrases(self) -> Self:
        for phrases, least, most in ((self.cues, 8, 17), (self.events, 9, 20), (self.advice, 14, 24)):
            for phrase in phrases:
                _check_length(phrase, least, most)
        for phrase in (*self.cues, *self.advice):
            if not phrase.endswith("."):
                raise ValueError(f"{phrase!r} is a sentence and ends in a dot.")
        for phrase in self.events:
            if phrase.endswith(".") or not phrase[0].isupper():
                raise ValueError(f"{phrase!r} is an event: a capital first, no dot at the end.")
        return self


class Variable(_BankModel):
    """A state variable; one with a concept means the same in every topic that has it."""

    name: SnakeName
    concept: SnakeName | None = None
    asked_as: tuple[SnakeName, ...] = Field(min_length=2, max_length=2)
    vague: tuple[Phrase, ...] = Field(min_length=2, max_length=2)
    vague_advice: tuple[Phrase, ...] = Field(min_length=1, max_length=1)
    choices: dict[SnakeName, ValuePhrases] = Field(min_length=3, max_length=5)

    @model_validator(mode="after")
    def check_no_phrase_states_its_value(self) -> Self:
        for value, choice in self.choices.items():
            for phrase in choice.phrases:
                if value.replace("_", " ") in phrase.lower():
                    raise ValueError(f"{phrase!r} states its own value {value!r}; express it by circumstances.")
        return self

    @model_validator(mode="after")
    def check_concept(self) -> Self:
        if self.concept is not None and (self.name != self.concept or tuple(self.choices) != CONCEPTS.get(self.concept)):
            raise ValueError(f"{self.name!r} must carry the concept's own name and choices: {CONCEPTS.get(self.concept)}.")
        return self


class TopicAudience(_BankModel):
    """The people whom a topic suits: words of their profiles, an inclusive range of ages, whether it needs paid work."""

    hobbies: tuple[str, ...]
    occupations: tuple[str, ...]
    ages: tuple[int, int]
    employed: bool


class Topic(_BankModel):
    """A subject of questions and requests, with the variables that good advice on it depends on."""

    topic: SnakeName
    title: Phrase
    fits: TopicAudience
    questions: tuple[Phrase, ...] = Field(min_length=4, max_length=4)
    requests: tuple[Phrase, ...] = Field(min_length=5, max_length=5)
    variables: tuple[Variable, ...] = Field(min_length=3, max_length=3)

    @model_validator(mode="after")
    def check_questions(self) -> Self:
        for phrases, least, most in ((self.questions, 8, 18), (self.requests, 5, 10)):
            for phrase in phrases:
                _check_length(phrase, least, most)
                if not phrase.endswith("?"):
                    raise ValueError(f"{phrase!r} is a question and ends in a question mark.")
        return self

    @model_validator(mode="after")
    def check_concept_comes_last(self) -> Self:
        if [variable.concept is not None for variable in self.variables] != [False, False, True]:
            raise ValueError(f"Topic {self.topic!r} has a concept in its last variable, and only there.")
        if self.variables[2].name == "work_pattern" and not self.fits.employed:
            raise ValueError(f"Topic {self.topic!r} asks about work, so it fits employed people only.")
        return self

    @model_validator(mode="after")
    def check_no_phrase_repeats(self) -> Self:
        phrases = [phrase for variable in self.variables for choice in variable.choices.values() for phrase in choice.phrases]
        repeated = sorted(phrase for phrase, count in Counter(phrases).items() if count > 1)
        if repeated:
            raise ValueError(f"Topic {self.topic!r} has phrases twice: {repeated}.")
        return self

    @property
    def phrasings(self) -> tuple[str, ...]:
        """All questions on the topic: its own, and the frames with its title."""
        return (*self.questions, *map(self.framed, QUESTION_FRAMES))

    def framed(self, frame: str) -> str:
        return frame.format(title=self.title)

    def variable(self, name: str) -> Variable | None:
        return next((variable for variable in self.variables if variable.name == name), None)


class Bank:
    """All topics of the embedded model, indexed by variable."""

    def __init__(self, topics: tuple[Topic, ...], digest: str) -> None:
        self.topics = topics
        self.digest = digest

    @cached_property
    def topics_with(self) -> dict[str, tuple[Topic, ...]]:
        """The topics that have a variable, by its name; more than one for a concept."""
        names = dict.fromkeys(variable.name for topic in self.topics for variable in topic.variables)
        return {name: tuple(topic for topic in self.topics if topic.variable(name)) for name in names}

    @cached_property
    def topic_of_question(self) -> dict[str, Topic]:
        """The topic of every question, by the question's text."""
        return {question: topic for topic in self.topics for question in topic.phrasings}

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values of a variable, by its name."""
        return {variable.name: tuple(variable.choices) for topic in self.topics for variable in topic.variables}

    @cached_property
    def event_phrases(self) -> frozenset[str]:
        """Every event, to recognise the bank's own events in a request."""
        variables = [variable for topic in self.topics for variable in topic.variables]
        return frozenset(phrase for variable in variables for choice in variable.choices.values() for phrase in choice.events)

    def resolve_name(self, name: str, values: frozenset[str]) -> str | None:
        """The bank's name of a variable: by its own name, else by its values, which hardly any two variables share."""
        if values <= frozenset(self.values.get(name, ())):
            return name
        return next((known for known, own in self.values.items() if values <= frozenset(own)), None)


def parse_topic(text: str) -> Topic:
    """Read one topic file. Raises pydantic.ValidationError that names what is wrong."""
    return Topic.model_validate(yaml.load(text, Loader=yaml.CSafeLoader))


@cache
def load_bank() -> Bank:
    """All topics in order of their names."""
    files = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yaml"))}
    texts = (*files.values(), PLAUSIBILITY.read_text(encoding="utf-8"))
    content = "\x1f".join([CODE_VERSION, *(re.sub(r"\s+$", "", text) for text in texts)])
    return Bank(tuple(map(parse_topic, files.values())), hashlib.sha256(content.encode()).hexdigest())


@cache
def model_name() -> str:
    """The model's full name: it changes whenever bank or program do, so that it can identify what it wrote."""
    return f"{MODEL_FAMILY}-{load_bank().digest[:8]}"
