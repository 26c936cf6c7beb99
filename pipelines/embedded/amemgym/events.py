"""Writes the replies to `events/*`: what happened in the person's life, from the bank's events."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.phrases import TargetValue, as_words, choose_phrase, join_events, lower_first
from pipelines.embedded.amemgym.state_trajectory import share_topic
from pipelines.embedded.bank import Topic, load_bank
from pipelines.embedded.reader import read_value
from pipelines.embedded.task import PromptTask

SHARED_EVENT_RATE = 0.1  # how often two changes of the same topic come from one event
MAX_STATES_PER_EVENT = 3
MAX_TELLINGS = 60  # other words that are tried for one event


@dataclass(frozen=True)
class EventRequest:
    """What all events of a period share. No event may seem to change one of the `unchanged` variables (with choices)."""

    changes: Mapping[str, Mapping[str, Any]]
    topics: Sequence[Topic]
    unchanged: Mapping[str, Sequence[str]]
    rng: SeededRandom


def elaborate(task: PromptTask) -> dict[str, Any]:
    """Events that cause every change once; changes of one topic may share an event."""
    rng = task.rng("events")
    changes: dict[str, dict[str, Any]] = task.data("state_changes")
    unchanged: dict[str, str] = task.data("unchanged_states")
    values = load_bank().values
    request = EventRequest(
        changes, topics_of([*changes, *unchanged]), {name: values[name] for name in unchanged if name in values}, rng
    )
    groups = [[name] for name in changes] if task.objection else group_changes(list(changes), rng=rng)
    events = [{"states": group, "event": _event(group, request)} for group in groups]
    return {"events": rng.shuffled(events)}


def all_choices(change: Mapping[str, Any]) -> tuple[str, ...]:
    """The choices of a changed variable, which the prompt gives as its old value, its new one, and those that are neither."""
    return tuple(sorted([str(change["old"]), str(change["new"]), *change.get("nor", ())]))


def refine(task: PromptTask) -> dict[str, str]:
    """The event in other words, which convey the new values and nothing of what else a reader took from it."""
    changes: dict[str, dict[str, Any]] = task.data("state_changes")
    bank, old, rng = load_bank().values, task.text("event"), task.rng("refine")
    others = {name: bank[name] for name in (*task.data("unchanged_states"), *task.data("reading")) if name in bank}
    targets = [TargetValue(name, str(change["new"]), all_choices(change)) for name, change in changes.items()]
    tellings = [rng.shuffled(_tellings(one, old=old)) for one in targets]
    # Two tellings of one value outweigh what either says by the way.
    twofold = itertools.permutations(tellings[0], 2) if len(tellings) == 1 else ()
    candidates = list(map(join_events, itertools.islice(itertools.chain(itertools.product(*tellings), twofold), MAX_TELLINGS)))
    return {"event": next((text for text in candidates if _conveys_alone(text, targets, others)), candidates[0])}


def _tellings(target: TargetValue, *, old: str) -> list[str]:
    """Events that bring the value about, else circumstances that show it; none that the old text has."""
    variables = [topic.variable(target.name) for topic in load_bank().topics_with.get(target.name, ())]
    phrases = [one.choices[target.value] for one in variables if one and target.value in one.choices]
    events = [event for own in phrases for event in own.events]
    shown = [f"Got to where {lower_first(cue).removesuffix('.')}" for own in phrases for cue in own.cues]
    left = [text for text in (*events, *shown) if text not in old and lower_first(text) not in old]
    return left or [f"Went through something that left {as_words(target.name)} at {as_words(target.value)}"]


def _conveys_alone(text: str, targets: Sequence[TargetValue], others: Mapping[str, Sequence[str]]) -> bool:
    own = {one.name for one in targets}
    return all(one.is_conveyed_by(text) for one in targets) and not any(
        read_value(text, name=name, values=values) for name, values in others.items() if name not in own
    )


def group_changes(names: Sequence[str], *, rng: SeededRandom) -> list[list[str]]:
    """Changed variables by shared events; most stay alone."""
    groups: list[list[str]] = []
    for name in names:
        match = next(
            (g for g in groups if len(g) < MAX_STATES_PER_EVENT and all(share_topic(name, other) for other in g)), None
        )
        if match is not None and rng.bernoulli(SHARED_EVENT_RATE):
            match.append(name)
        else:
            groups.append([name])
    return groups


def topics_of(names: Sequence[str]) -> list[Topic]:
    """The topics that a person asks about, as far as their variables show; a concept alone identifies none."""
    topics = load_bank().topics_with
    identified = [topics[name][0] for name in names if len(topics.get(name, ())) == 1]
    return list({topic.topic: topic for topic in identified}.values())


def _event(group: list[str], request: EventRequest) -> str:
    fragments: list[str] = []
    for name in group:
        shared = [topic for topic in request.topics if all(topic.variable(other) for other in group)]
        fragments.append(_fragment(_topic_for(name, shared or request.topics, rng=request.rng), name, request))
    return join_events(fragments)


def _topic_for(name: str, preferred: Sequence[Topic], *, rng: SeededRandom) -> Topic | None:
    """A topic that has the variable: a preferred one, if there is any."""
    topics = load_bank().topics_with.get(name, ())
    return rng.choice([topic for topic in topics if topic in preferred] or topics) if topics else None


def _fragment(topic: Topic | None, name: str, request: EventRequest) -> str:
    variable = topic.variable(name) if topic else None
    value = str(request.changes[name]["new"])
    if variable is None or value not in variable.choices:
        return f"Went through something that left {as_words(name)} at {as_words(value)}"
    target = TargetValue(name, value, all_choices(request.changes[name]))
    return choose_phrase(variable.choices[value].events, target, others=request.unchanged, rng=request.rng)
