"""Writes the replies to `session_queries/*`: first utterances that convey state values by circumstances."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from assets.amemgym.records.state import select_values, without
from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.events import all_choices, topics_of
from pipelines.embedded.amemgym.phrases import (
    TargetValue,
    choose_phrase,
    choose_unclear,
    compose_message,
    find_variable,
    first_person,
    split_event,
)
from pipelines.embedded.bank import Topic, distinct_topics, load_bank
from pipelines.embedded.reader import as_words, read_values
from pipelines.embedded.task import PromptTask

PAIR_RATE = 0.1
TRIPLE_RATE = 0.05
EVENT_RATE = 0.5  # of the queries on a change say what happened; the others, how things are since
# So many messages name what they are about, as people do: a search by a question on it finds them.
NAMED_TOPIC_RATE = 0.6
TOPIC_FRAMES = ("This is about {title}. ", "It concerns {title}. ", "My question is on {title}. ")
UNCLEAR_DRAFT_RATE = 0.06
UNCLEAR_REFINEMENT_RATE = 0.15
MAX_REWRITES = 8  # a refined text is read again before it is sent
DEFAULT_REQUEST = "What would you suggest I do next?"


@dataclass(frozen=True)
class SessionQueryRequest:
    """The parts that all queries of one call share. `others`: further variables with choices, on which queries keep silent.

    `month`: the first one of the period, counted from any year. `asked`: the requests that the reply makes so far.
    """

    profile: str
    schema: Mapping[str, Sequence[str]]
    rng: SeededRandom
    others: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    month: int = 0
    asked: list[str] = field(default_factory=list[str])

    @property
    def topics(self) -> list[Topic]:
        """The topics that the person asks about, as far as all these variables show."""
        return topics_of([*self.schema, *self.others])

    def exposes(self, text: str) -> dict[str, str]:
        """Return what the text conveys of all these variables."""
        return read_values(text, {**self.schema, **self.others})

    def says_too_much(self, text: str, exposed: Collection[str]) -> bool:
        """Return True when the text conveys a value of a variable that is not to be exposed."""
        return not self.exposes(text).keys() <= set(exposed)


def write_first_queries(task: PromptTask) -> dict[str, Any]:
    """Write queries that expose every variable of the state once."""
    state, schema = _values_and_choices(task, "initial_state")
    others = load_bank().choices_of(task.optional_data("other_states"))
    shared = SessionQueryRequest(task.text("user_profile"), {**schema, **others}, task.rng("queries"))
    groups = [list(state)]
    if "a single message" not in task.request:
        groups = group_variables(list(state), shared)
    queries: list[dict[str, Any]] = []
    for group in groups:
        exposed = select_values(state, group)
        queries.append({"exposed_states": exposed, "query": _write(exposed, shared)})
    return {"queries": queries}


def write_update_queries(task: PromptTask) -> dict[str, Any]:
    """Write one query per group of changes: what happened, in the first person, and a request."""
    groups: list[dict[str, Any]] = task.data("context")
    schema: dict[str, Sequence[str]] = {}
    for group in groups:
        for name, change in group["state_transition"].items():
            schema[name] = all_choices(change)
    others = load_bank().choices_of(task.data("other_states"))
    first_day = date.fromisoformat(task.data("period")["from"])
    month = 12 * first_day.year + first_day.month
    shared = SessionQueryRequest(task.text("user_profile"), schema, task.rng("queries"), others, month)
    queries: list[str] = []
    for group in groups:
        exposed: dict[str, str] = {}
        for name, change in group["state_transition"].items():
            exposed[name] = str(change["new"])
        queries.append(_write(exposed, shared, background=str(group["background"])))
    return {"queries": queries}


def rewrite_query(task: PromptTask) -> dict[str, str]:
    """Write the query with clearer circumstances; mostly that helps."""
    bank = load_bank()
    exposed, choices = _values_and_choices(task, "exposed_states")
    text = task.text("query")
    leaked = bank.choices_of(task.optional_data("leaked"))
    others = bank.choices_of(task.optional_data("other_states"))
    shared = SessionQueryRequest("", {**choices, **leaked}, task.rng("refine"), others)
    subject = choose_subject(list(exposed), shared.topics, profile="")
    topic, request = find_request(text, subject, list(exposed))
    unclear = choose_unclear(exposed, rate=UNCLEAR_REFINEMENT_RATE, rng=shared.rng)
    query = text
    for attempt in range(MAX_REWRITES):
        if attempt and topic and not unclear:
            request = shared.rng.choice(topic.requests)
        cues: list[str] = []
        for name in exposed:
            cues.append(_cue(name, exposed, topic, shared, unclear=unclear, avoid=text))
        query = compose_message("", cues, request, rng=shared.rng)
        if read_values(query, shared.schema) == exposed and not shared.says_too_much(query, exposed):
            break
    return {"query": query}


def _values_and_choices(task: PromptTask, tag: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Read a block that lists each value beside its alternatives: the values, and all choices in alphabetical order."""
    values: dict[str, str] = {}
    choices: dict[str, list[str]] = {}
    block: dict[str, dict[str, Any]] = task.data(tag)
    for name, entry in block.items():
        values[name] = str(entry["value"])
        choices[name] = sorted([values[name], *entry["instead_of"]])
    return values, choices


def group_variables(names: Sequence[str], shared: SessionQueryRequest) -> list[list[str]]:
    """Group variables by the topic that their query is about, in ones and twos, now and then in threes.

    A variable that one topic has to itself goes there. One that several topics share goes to the topic with fewest so far.
    One of no topic stays alone.
    """
    topics = shared.topics
    parts: dict[str, list[str]] = {}
    placed: set[str] = set()
    for topic in topics:
        own = [name for name in names if _is_specific(name, topic)]
        parts[topic.topic] = own
        placed.update(own)
    for name in names:
        sharing = [topic for topic in topics if topic.variable(name) and not _is_specific(name, topic)]
        if sharing:
            smallest = min(sharing, key=lambda topic: len(parts[topic.topic]))
            parts[smallest.topic].append(name)
        elif name not in placed:
            parts[name] = [name]
    groups: list[list[str]] = []
    for part in parts.values():
        groups.extend(_split(part, shared.rng))
    return shared.rng.shuffled(groups)


def _is_specific(name: str, topic: Topic) -> bool:
    """Return True when the topic has the variable, and has it to itself."""
    variable = topic.variable(name)
    return variable is not None and variable.concept is None


def _split(part: list[str], rng: SeededRandom) -> list[list[str]]:
    part = rng.shuffled(part)
    if len(part) == 3 and rng.bernoulli(TRIPLE_RATE):
        return [part]
    size = 2 if rng.bernoulli(PAIR_RATE) else 1
    return [part[start : start + size] for start in range(0, len(part), size)]


def _write(exposed: Mapping[str, str], shared: SessionQueryRequest, *, background: str = "") -> str:
    """Write a query that says what happened, or how things are by now, and asks for help on a topic of the person."""
    topic = choose_subject(list(exposed), shared.topics, profile=shared.profile)
    request = choose_request(topic, exposed, shared)
    unclear = choose_unclear(exposed, rate=UNCLEAR_DRAFT_RATE, rng=shared.rng)
    # The bank's own fragments can be put into the first person.
    is_ours = load_bank().event_phrases.issuperset(split_event(background))
    event = first_person(background) if is_ours else ""
    if unclear or shared.says_too_much(event, exposed) or not shared.rng.bernoulli(EVENT_RATE):
        event = ""
    cues: list[str] = []
    for name, value in exposed.items():
        if not _target(name, value, shared.schema).is_conveyed_by(event):
            cues.append(_cue(name, exposed, topic, shared, unclear=unclear))
    return compose_message(event, cues, request, rng=shared.rng)


def _target(name: str, value: str, schema: Mapping[str, Sequence[str]]) -> TargetValue:
    return TargetValue(name, value, tuple(schema[name]))


def _cue(
    name: str,
    exposed: Mapping[str, str],
    topic: Topic | None,
    shared: SessionQueryRequest,
    *,
    unclear: str | None = None,
    avoid: str = "",
) -> str:
    """Return a sentence for the variable's value that the text to avoid does not have; a vague one for the unclear variable."""
    variable = find_variable(name, topic)
    value = exposed[name]
    if variable is None or value not in variable.choices:
        return f"When it comes to {as_words(name)}, think of {as_words(value)} in my case."
    if name == unclear:
        vague = [phrase for phrase in variable.vague if phrase not in avoid]
        return shared.rng.choice(vague or variable.vague)
    cues = [cue for cue in variable.choices[value].cues if cue not in avoid]
    cues = [cue for cue in cues if not shared.says_too_much(cue, exposed)] or cues
    others = without(shared.schema, exposed)
    return choose_phrase(cues, _target(name, value, shared.schema), others=others, rng=shared.rng)


def choose_subject(names: Sequence[str], topics: Sequence[Topic], *, profile: str) -> Topic | None:
    """Choose the topic of the person that has most of the variables; among equals by the person alone, whatever the attempt."""
    having = load_bank().topics_for(names)
    candidates = [topic for topic in having if topic in topics] or having
    if not candidates:
        return None
    counts = Counter(topic.topic for topic in candidates)
    most = max(counts.values())
    best = [topic for topic in distinct_topics(candidates) if counts[topic.topic] == most]
    best.sort(key=lambda topic: topic.topic)
    return SeededRandom("subject", profile, *sorted(names)).choice(best)


def choose_request(topic: Topic | None, exposed: Mapping[str, str], shared: SessionQueryRequest) -> str:
    """Choose the request that goes with these values, whatever the attempt; another one where this reply has made it already.

    A value that comes back in a later period meets another request, so that two sessions do not open alike.
    """
    if topic is None:
        return DEFAULT_REQUEST
    order = SeededRandom("request", shared.profile, *sorted(exposed.items())).shuffled(topic.requests)
    turn = shared.month % len(order)
    order = [*order[turn:], *order[:turn]]
    fresh = [request for request in order if request not in shared.asked] or order
    shared.asked.append(fresh[0])
    rng = SeededRandom("named topic", shared.profile, shared.month, *sorted(exposed.items()))
    named = rng.choice(TOPIC_FRAMES).format(title=topic.title) if rng.bernoulli(NAMED_TOPIC_RATE) else ""
    return f"{named}{fresh[0]}"


def find_request(text: str, subject: Topic | None, names: Sequence[str]) -> tuple[Topic | None, str]:
    """Find the request that a text makes, with its topic; for an unknown one its own last question."""
    for topic in load_bank().topics_for(names):
        for request in topic.requests:
            # Without its first letter, which is small where a request stands within a sentence.
            if request[1:] in text:
                return topic, request
    question = DEFAULT_REQUEST
    for line in text.replace("?", "?\n").replace(". ", ".\n").splitlines():
        if line.rstrip().endswith("?"):
            question = line.strip()
    return subject, question
