"""Writes the replies to `session_queries/*`: first utterances that convey state values by circumstances."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from assets.engine.seeded_random import SeededRandom
from assets.llm.text import is_distinctive, spells
from pipelines.embedded.amemgym.events import all_choices, topics_of
from pipelines.embedded.amemgym.phrases import (
    TargetValue,
    as_words,
    choose_phrase,
    compose_message,
    find_variable,
    first_person,
    is_blind_spot,
    split_event,
)
from pipelines.embedded.bank import Topic, Variable, load_bank
from pipelines.embedded.reader import read_value
from pipelines.embedded.task import PromptTask

PAIR_RATE, TRIPLE_RATE = 0.1, 0.05
EVENT_TOLD_RATE = 0.5  # of the queries on a change tell what happened; the others, how things are since
UNCLEAR_DRAFT_RATE, UNCLEAR_REFINEMENT_RATE = 0.06, 0.15
MAX_REWRITES = 8  # a refined text is read again before it is sent
DEFAULT_REQUEST = "What would you suggest I do next?"


@dataclass(frozen=True)
class SessionQueryRequest:
    """What all queries of one call share. `others`: further variables with their choices, on which queries keep silent.
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

    def says_too_much(self, text: str, exposed: Iterable[str]) -> bool:
        """Whether the text conveys or spells a value of a variable that is not to be exposed."""
        own = set(exposed)
        silent = {name: values for name, values in {**self.schema, **self.others}.items() if name not in own}
        return any(read_value(text, name=name, values=values) is not None for name, values in silent.items()) or any(
            spells(text, value) for values in silent.values() for value in values if is_distinctive(value)
        )


def initial(task: PromptTask) -> dict[str, Any]:
    """Queries that expose every variable of the state once."""
    state, schema = _values_and_choices(task, "initial_state")
    others: dict[str, str] = task.data("other_states") if "other_states" in task.blocks else {}
    shared = SessionQueryRequest(task.text("user_profile"), {**schema, **_bank_choices(others)}, task.rng("queries"))
    groups = [list(state)] if "a single message" in task.request else group_variables(list(state), shared)
    drafts = [{name: state[name] for name in group} for group in groups]
    return {"queries": [{"exposed_states": exposed, "query": _write(exposed, shared)} for exposed in drafts]}


def update(task: PromptTask) -> dict[str, Any]:
    """One query per group of changes: what happened, in the first person, and a request."""
    others = _bank_choices(task.data("other_states"))
    first_day = date.fromisoformat(task.data("period")["from"])
    month = 12 * first_day.year + first_day.month
    groups: list[dict[str, Any]] = task.data("context")
    schema = {name: all_choices(change) for group in groups for name, change in group["state_transition"].items()}
    shared = SessionQueryRequest(task.text("user_profile"), schema, task.rng("queries"), others, month)
    changes = [{name: str(change["new"]) for name, change in group["state_transition"].items()} for group in groups]
    return {
        "queries": [
            _write(exposed, shared, background=str(group["background"])) for exposed, group in zip(changes, groups, strict=True)
        ]
    }


def refine(task: PromptTask) -> dict[str, str]:
    """The query with clearer circumstances; mostly that helps."""
    exposed, choices = _values_and_choices(task, "exposed_states")
    text = task.text("query")
    leaked: dict[str, str] = task.data("leaked") if "leaked" in task.blocks else {}
    others = _bank_choices(task.data("other_states")) if "other_states" in task.blocks else {}
    shared = SessionQueryRequest("", {**choices, **_bank_choices(leaked)}, task.rng("refine"), others)
    subject = choose_subject(list(exposed), shared.topics, profile="")
    topic, request = find_request(text, subject, list(exposed))
    unclear = _choose_unclear(exposed, request, rate=UNCLEAR_REFINEMENT_RATE, rng=shared.rng)
    query = text
    for attempt in range(MAX_REWRITES):
        if attempt and topic and not unclear:
            request = shared.rng.choice(topic.requests)
        cues = [_cue(name, exposed, topic, shared, unclear=unclear, avoid=text) for name in exposed]
        query = compose_message("", cues, request, rng=shared.rng)
        if _exposes_exactly(exposed, query, shared) and not shared.says_too_much(query, exposed):
            break
    return {"query": query}


def _exposes_exactly(exposed: Mapping[str, str], query: str, shared: SessionQueryRequest) -> bool:
    """Whether the query exposes what it should, and nothing about the schema's other variables."""
    readings = {name: read_value(query, name=name, values=values) for name, values in shared.schema.items()}
    return readings == {**dict.fromkeys(shared.schema), **exposed}


def _values_and_choices(task: PromptTask, tag: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The values of a block that lists each beside its alternatives, and all choices in alphabetical order."""
    block: dict[str, dict[str, Any]] = task.data(tag)
    values = {name: str(entry["value"]) for name, entry in block.items()}
    return values, {name: sorted([values[name], *entry["instead_of"]]) for name, entry in block.items()}


def _bank_choices(names: Iterable[str]) -> dict[str, Sequence[str]]:
    """The choices of these variables, as far as the bank has them."""
    return {name: load_bank().values[name] for name in names if name in load_bank().values}


def group_variables(names: Sequence[str], shared: SessionQueryRequest) -> list[list[str]]:
    """Variables by the topic that their query is about, in ones and twos, now and then in threes."""
    topics = shared.topics
    parts: dict[str, list[str]] = {topic.topic: [n for n in names if _is_specific(n, topic)] for topic in topics}
    for name in names:
        general = [topic for topic in topics if topic.variable(name) and not _is_specific(name, topic)]
        smallest = min(general, key=lambda topic: len(parts[topic.topic]), default=None)
        if smallest is not None:
            parts[smallest.topic].append(name)
        elif all(name not in part for part in parts.values()):
            parts[name] = [name]
    return shared.rng.shuffled([group for part in parts.values() for group in _split(part, shared.rng)])


def _is_specific(name: str, topic: Topic) -> bool:
    """Whether the topic has the variable, and has it to itself."""
    variable = topic.variable(name)
    return variable is not None and variable.concept is None


def _split(part: list[str], rng: SeededRandom) -> list[list[str]]:
    part = rng.shuffled(part)
    if len(part) == 3 and rng.bernoulli(TRIPLE_RATE):
        return [part]
    size = 2 if rng.bernoulli(PAIR_RATE) else 1
    return [part[start : start + size] for start in range(0, len(part), size)]


def _write(exposed: Mapping[str, str], shared: SessionQueryRequest, *, background: str = "") -> str:
    """A query that tells what happened, or how things are by now, and asks for help on a topic of the person."""
    topic = choose_subject(list(exposed), shared.topics, profile=shared.profile)
    request = choose_request(topic, exposed, shared)
    shared.asked.append(request)
    unclear = _choose_unclear(exposed, request, rate=UNCLEAR_DRAFT_RATE, rng=shared.rng)
    event = first_person(background) if _is_bank_event(background) else ""
    if unclear or shared.says_too_much(event, exposed) or not shared.rng.bernoulli(EVENT_TOLD_RATE):
        event = ""
    untold = [name for name, value in exposed.items() if not _target(name, value, shared.schema).is_conveyed_by(event)]
    cues = [_cue(name, exposed, topic, shared, unclear=unclear) for name in untold]
    return compose_message(event, cues, request, rng=shared.rng)


def _is_bank_event(background: str) -> bool:
    """Whether the background consists of the bank's own fragments, which can be put into the first person."""
    events = load_bank().event_phrases
    return all(f"{part[:1].upper()}{part[1:]}" in events for part in split_event(background))


def _choose_unclear(exposed: Mapping[str, str], request: str, *, rate: float, rng: SeededRandom) -> str | None:
    """The variable that this text will touch without settling it, if any."""
    if is_blind_spot(request, *sorted(exposed.items())):
        return min(exposed)
    return rng.choice(list(exposed)) if rng.bernoulli(rate) else None


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
    """A sentence for the variable's value that does not occur in the text to avoid; a vague one for the unclear variable."""
    variable = find_variable(name, topic)
    value = exposed[name]
    if variable is None or value not in variable.choices:
        return f"When it comes to {as_words(name)}, think of {as_words(value)} in my case."
    if name == unclear:
        return _vague_cue(variable, avoid=avoid, rng=shared.rng)
    cues = [cue for cue in variable.choices[value].cues if cue not in avoid]
    cues = [cue for cue in cues if not shared.says_too_much(cue, exposed)] or cues
    others = {other: values for other, values in shared.schema.items() if other not in exposed}
    return choose_phrase(cues, _target(name, value, shared.schema), others=others, rng=shared.rng)


def _vague_cue(variable: Variable, *, avoid: str, rng: SeededRandom) -> str:
    """A phrase that touches the variable and settles nothing."""
    return rng.choice([phrase for phrase in variable.vague if phrase not in avoid] or list(variable.vague))


def choose_subject(names: Sequence[str], topics: Sequence[Topic], *, profile: str) -> Topic | None:
    """The topic of the person that has most of the variables; among equals by the person alone, whatever the attempt."""
    having = [topic for name in names for topic in load_bank().topics_with.get(name, ())]
    candidates = [topic for topic in having if topic in topics] or having
    most = max((candidates.count(topic) for topic in candidates), default=0)
    best = sorted({topic.topic: topic for topic in candidates if candidates.count(topic) == most}.items())
    return SeededRandom("subject", profile, *sorted(names)).choice(best)[1] if best else None


def choose_request(topic: Topic | None, exposed: Mapping[str, str], shared: SessionQueryRequest) -> str:
    """The request that goes with these values, whatever the attempt; another one where this reply has made it already.

    A value that comes back in a later period meets another request, so that two sessions do not open alike.
    """
    if topic is None:
        return DEFAULT_REQUEST
    order = SeededRandom("request", shared.profile, *sorted(exposed.items())).shuffled(topic.requests)
    turn = shared.month % len(order)
    order = [*order[turn:], *order[:turn]]
    return next((request for request in order if request not in shared.asked), order[0])


def find_request(text: str, subject: Topic | None, names: Sequence[str]) -> tuple[Topic | None, str]:
    """The request that a text makes, with its topic; for an unknown one its own last question."""
    for topic in (topic for name in names for topic in load_bank().topics_with.get(name, ())):
        for request in topic.requests:
            if request[1:] in text:
                return topic, request
    sentences = [sentence.strip() for sentence in text.replace("?", "?\n").replace(". ", ".\n").splitlines()]
    questions = [sentence for sentence in sentences if sentence.endswith("?")]
    return subject, questions[-1] if questions else DEFAULT_REQUEST
