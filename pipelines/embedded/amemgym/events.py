"""Writes the replies to `events/*`: what happened in the person's life, from the bank's events."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.phrases import TargetValue, choose_phrase, join_events, lower_first
from pipelines.embedded.amemgym.state_trajectory import share_topic
from pipelines.embedded.bank import Topic, distinct_topics, load_bank
from pipelines.embedded.reader import as_words, read_values
from pipelines.embedded.task import PromptTask

SHARED_EVENT_RATE = 0.1  # how often two changes of the same topic come from one event
MAX_STATES_PER_EVENT = 3
MAX_WORDINGS = 60  # other words that are tried for one event


@dataclass(frozen=True)
class EventRequest:
    """The parts that all events of a period share. No event may seem to change one of the `unchanged` variables."""

    changes: Mapping[str, Mapping[str, Any]]
    topics: Sequence[Topic]
    unchanged: Mapping[str, Sequence[str]]
    rng: SeededRandom


def write_events(task: PromptTask) -> dict[str, Any]:
    """Write events that cause every change once; changes of one topic may share an event."""
    rng = task.rng("events")
    changes: dict[str, dict[str, Any]] = task.data("state_changes")
    unchanged: dict[str, str] = task.data("unchanged_states")
    request = EventRequest(changes, topics_of([*changes, *unchanged]), load_bank().choices_of(unchanged), rng)
    # After an objection every change has an event of its own: what is refused is mostly two in one.
    groups = [[name] for name in changes]
    if not task.objection:
        groups = group_changes(changes, rng=rng)
    events: list[dict[str, Any]] = []
    for group in groups:
        events.append({"states": group, "event": _event(group, request)})
    return {"events": rng.shuffled(events)}


def all_choices(change: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the choices of a changed variable; the prompt gives its old value, its new one, and those that are neither."""
    return tuple(sorted([str(change["old"]), str(change["new"]), *change.get("nor", ())]))


def rewrite_event(task: PromptTask) -> dict[str, str]:
    """Put the event into other words, which convey the new values and nothing of what else a reader took from it."""
    changes: dict[str, dict[str, Any]] = task.data("state_changes")
    rng = task.rng("refine")
    silent = load_bank().choices_of([*task.data("unchanged_states"), *task.data("reading")])
    for name in changes:
        silent.pop(name, None)
    targets: list[TargetValue] = []
    wordings: list[list[str]] = []
    for name, change in changes.items():
        target = TargetValue(name, str(change["new"]), all_choices(change))
        targets.append(target)
        wordings.append(rng.shuffled(_other_wordings(target, old=task.text("event"))))
    combinations = itertools.product(*wordings)
    if len(wordings) == 1:
        # Two wordings of one value outweigh what either says by the way.
        combinations = itertools.chain(combinations, itertools.permutations(wordings[0], 2))
    first = ""
    for fragments in itertools.islice(combinations, MAX_WORDINGS):
        text = join_events(fragments)
        first = first or text
        if all(target.is_conveyed_by(text) for target in targets) and not read_values(text, silent):
            return {"event": text}
    return {"event": first}


def _other_wordings(target: TargetValue, *, old: str) -> list[str]:
    """Return events that bring the value about, and circumstances that show it; none that the old text has."""
    events: list[str] = []
    shown: list[str] = []
    for topic in load_bank().topics_with.get(target.name, ()):
        variable = topic.variable(target.name)
        if variable is not None and target.value in variable.choices:
            phrases = variable.choices[target.value]
            events.extend(phrases.events)
            for cue in phrases.cues:
                shown.append(f"Got to where {lower_first(cue).removesuffix('.')}")
    left = [text for text in (*events, *shown) if text not in old and lower_first(text) not in old]
    return left or [_plain_event(target.name, target.value)]


def _plain_event(name: str, value: str) -> str:
    """Return an event for a value that the bank does not have."""
    return f"Went through something that left {as_words(name)} at {as_words(value)}"


def group_changes(changes: Mapping[str, Mapping[str, Any]], *, rng: SeededRandom) -> list[list[str]]:
    """Group the variables that change on one day by shared events; most stay alone."""
    groups: list[list[str]] = []
    for name, change in changes.items():
        same_day = [group for group in groups if changes[group[0]]["day"] == change["day"]]
        group = _group_of_topic(name, same_day)
        if group is not None and rng.bernoulli(SHARED_EVENT_RATE):
            group.append(name)
        else:
            groups.append([name])
    return groups


def _group_of_topic(name: str, groups: Sequence[list[str]]) -> list[str] | None:
    for group in groups:
        if len(group) < MAX_STATES_PER_EVENT and all(share_topic(name, other) for other in group):
            return group
    return None


def topics_of(names: Sequence[str]) -> list[Topic]:
    """Return the topics that a person asks about, as far as their variables show; a concept alone identifies none."""
    identified: list[Topic] = []
    for name in names:
        topics = load_bank().topics_with.get(name, ())
        if len(topics) == 1:
            identified.append(topics[0])
    return distinct_topics(identified)


def _event(group: list[str], request: EventRequest) -> str:
    shared = [topic for topic in request.topics if topic.choices.keys() >= set(group)]
    fragments: list[str] = []
    for name in group:
        topic = _topic_for(name, shared or request.topics, rng=request.rng)
        fragments.append(_fragment(topic, name, request))
    return join_events(fragments)


def _topic_for(name: str, preferred: Sequence[Topic], *, rng: SeededRandom) -> Topic | None:
    """Return a topic that has the variable: a preferred one, if there is any."""
    topics = load_bank().topics_with.get(name, ())
    if not topics:
        return None
    return rng.choice([topic for topic in topics if topic in preferred] or topics)


def _fragment(topic: Topic | None, name: str, request: EventRequest) -> str:
    variable = topic.variable(name) if topic else None
    value = str(request.changes[name]["new"])
    if variable is None or value not in variable.choices:
        return _plain_event(name, value)
    target = TargetValue(name, value, all_choices(request.changes[name]))
    return choose_phrase(variable.choices[value].events, target, others=request.unchanged, rng=request.rng)
