"""The phrases of the embedded model: hand-written topics, each with three state variables expressed by circumstances."""

import hashlib
from collections.abc import Iterable
from functools import cache, cached_property
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

FOLDER = Path(__file__).parent / "bank"
PLAUSIBILITY = Path(__file__).parent / "amemgym" / "plausibility.yaml"  # what excludes what; part of the model's identity
GRAMMAR = Path(__file__).parent / "deep_research" / "grammar.yaml"  # of documents; part of the model's identity too
CODE_VERSION = "15"  # raise it when the program answers the same request in other words
MODEL_FAMILY = "amemgym-embedded"
EMBEDDED_URL = "http://embedded.model/v1"  # no request leaves this process: the transport answers
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


class _BankModel(BaseModel):
    """A part of a topic's file. What makes a good one is checked by the tests, as nobody writes topics at run time."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ValuePhrases(_BankModel):
    """Phrases for one value: how things are (cues), how they came about (events), and what helps then (advice)."""

    cues: tuple[str, ...]
    events: tuple[str, ...]
    advice: tuple[str, ...]

    @property
    def phrases(self) -> tuple[str, ...]:
        return (*self.cues, *self.events, *self.advice)


class Variable(_BankModel):
    """A state variable; one with a concept means the same, and has the same choices, in every topic that has it."""

    name: str
    concept: str | None = None
    asked_as: tuple[str, ...]
    vague: tuple[str, ...]
    vague_advice: tuple[str, ...]
    choices: dict[str, ValuePhrases]


class TopicAudience(_BankModel):
    """The people whom a topic suits: words of their profiles, an inclusive range of ages, whether it needs paid work."""

    hobbies: tuple[str, ...]
    occupations: tuple[str, ...]
    ages: tuple[int, int]
    employed: bool


class Topic(_BankModel):
    """A subject of questions and requests, with the variables that good advice on it depends on."""

    topic: str
    title: str
    fits: TopicAudience
    questions: tuple[str, ...]
    requests: tuple[str, ...]
    variables: tuple[Variable, ...]

    @property
    def phrases(self) -> list[str]:
        """The phrases for all values of all variables."""
        found: list[str] = []
        for variable in self.variables:
            for choice in variable.choices.values():
                found.extend(choice.phrases)
        return found

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """The values of the topic's variables, by variable."""
        return {variable.name: tuple(variable.choices) for variable in self.variables}

    @property
    def phrasings(self) -> tuple[str, ...]:
        """All questions on the topic: its own, and the frames with its title."""
        return (*self.questions, *map(self.fill_frame, QUESTION_FRAMES))

    def fill_frame(self, frame: str) -> str:
        return frame.format(title=self.title)

    def variable(self, name: str) -> Variable | None:
        for variable in self.variables:
            if variable.name == name:
                return variable
        return None


class Bank:
    """All topics of the embedded model, indexed by variable."""

    def __init__(self, topics: tuple[Topic, ...], digest: str) -> None:
        self.topics = topics
        self.digest = digest

    @cached_property
    def topics_with(self) -> dict[str, list[Topic]]:
        """The topics that have a variable, by its name; more than one for a concept."""
        found: dict[str, list[Topic]] = {}
        for topic in self.topics:
            for variable in topic.variables:
                found.setdefault(variable.name, []).append(topic)
        return found

    @cached_property
    def topic_of_question(self) -> dict[str, Topic]:
        """The topic of every question, by the question's text."""
        found: dict[str, Topic] = {}
        for topic in self.topics:
            found.update(dict.fromkeys(topic.phrasings, topic))
        return found

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values of a variable, by its name."""
        found: dict[str, tuple[str, ...]] = {}
        for topic in self.topics:
            found.update(topic.choices)
        return found

    @cached_property
    def event_phrases(self) -> frozenset[str]:
        """Every event, to recognise the bank's own events in a request."""
        found: set[str] = set()
        for topic in self.topics:
            for variable in topic.variables:
                for choice in variable.choices.values():
                    found.update(choice.events)
        return frozenset(found)

    def topics_for(self, names: Iterable[str]) -> list[Topic]:
        """Return the topics that have these variables, each once for every variable that it has."""
        found: list[Topic] = []
        for name in names:
            found.extend(self.topics_with.get(name, ()))
        return found

    def choices_of(self, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the values of these variables, as far as the bank has them."""
        return {name: self.values[name] for name in names if name in self.values}

    def resolve_name(self, name: str, values: frozenset[str]) -> str | None:
        """Return the bank's name of a variable: its own, else the one with these values, which hardly two variables share."""
        if values <= frozenset(self.values.get(name, ())):
            return name
        for known, own in self.values.items():
            if values <= frozenset(own):
                return known
        return None

    def values_around(self, name: str, value: str) -> tuple[str, ...]:
        """Return the values of the variable that has this one; none where the bank knows no such variable."""
        return self.values.get(self.resolve_name(name, frozenset({value})) or "", ())


def distinct_topics(topics: Iterable[Topic]) -> list[Topic]:
    """Return each topic once, in order of its first place. Topics cannot be hashed, so their names decide."""
    return list({topic.topic: topic for topic in topics}.values())


@cache
def load_bank() -> Bank:
    """Read all topics, in order of their names."""
    texts: list[str] = []
    topics: list[Topic] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        texts.append(text)
        topics.append(Topic.model_validate(yaml.load(text, Loader=yaml.CSafeLoader)))
    # White space at the end of a file changes no reply, so it does not change the model's name.
    hashed = [CODE_VERSION, *map(str.rstrip, texts)]
    for path in (PLAUSIBILITY, GRAMMAR):
        hashed.append(path.read_text(encoding="utf-8").rstrip())
    digest = hashlib.sha256("\x1f".join(hashed).encode()).hexdigest()
    return Bank(tuple(topics), digest)


@cache
def model_name() -> str:
    """Return the model's full name: it changes whenever bank or program do, so that it identifies what it wrote."""
    return f"{MODEL_FAMILY}-{load_bank().digest[:8]}"
