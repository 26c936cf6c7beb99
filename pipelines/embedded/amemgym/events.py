"""Writes the reply to `events/elaborate`: what happened in the person's life, from the bank's events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.lines import Meaning, best_line
from pipelines.embedded.amemgym.state_trajectory import related
from pipelines.embedded.amemgym.wording import joined_events, said
from pipelines.embedded.bank import Topic, load_bank
from pipelines.embedded.task import Task

SHARED_EVENT = 0.55  # how often two changes of the same topic come from one event
MOST_STATES = 3


def elaborate(task: Task) -> dict[str, Any]:
    """Events that cause every change once; changes of one topic may share an event."""
    rng = task.rng("events")
    changes: dict[str, dict[str, Any]] = task.data("state_changes")
    unchanged: dict[str, str] = task.data("unchanged_states")
    topics = topics_of([*changes, *unchanged])
    groups = [[name] for name in changes] if task.objection else grouped(list(changes), rng=rng)
    scene = Scene(changes, topics, {name: load_bank().values[name] for name in unchanged if name in load_bank().values}, rng)
    told = [{"states": group, "event": _told(group, scene)} for group in groups]
    return {"events": rng.shuffled(told)}


def grouped(names: Sequence[str], *, rng: SeededRandom) -> list[list[str]]:
    """Changed variables by shared events; most stay alone."""
    groups: list[list[str]] = []
    for name in names:
        home = next((g for g in groups if len(g) < MOST_STATES and all(related(name, other) for other in g)), None)
        if home is not None and rng.bernoulli(SHARED_EVENT):
            home.append(name)
        else:
            groups.append([name])
    return groups


def topics_of(names: Sequence[str]) -> list[Topic]:
    """The topics that a person asks about, as far as their variables tell; a shared fact alone tells of none."""
    homes = load_bank().homes
    own = [homes[name][0] for name in names if len(homes.get(name, ())) == 1]
    return list({topic.topic: topic for topic in own}.values())


def topic_for(name: str, topics: Sequence[Topic], *, rng: SeededRandom) -> Topic | None:
    """A topic in whose light to speak of a variable: one of the person's, as far as possible."""
    homes = load_bank().homes.get(name, ())
    near = [topic for topic in homes if topic in topics]
    return rng.choice(near or homes) if homes else None


@dataclass(frozen=True)
class Scene:
    """What all events of a period share: the changes, the person's topics, and what must not seem to have moved."""

    changes: Mapping[str, Mapping[str, Any]]
    topics: Sequence[Topic]
    unchanged: Mapping[str, Sequence[str]]
    rng: SeededRandom


def _told(group: list[str], scene: Scene) -> str:
    fragments: list[str] = []
    for name in group:
        shared = [topic for topic in scene.topics if all(topic.variable(other) for other in group)]
        topic = topic_for(name, shared or scene.topics, rng=scene.rng)
        fragments.append(_fragment(topic, name, scene))
    return joined_events(fragments)


def _fragment(topic: Topic | None, name: str, scene: Scene) -> str:
    variable = topic.variable(name) if topic else None
    value = str(scene.changes[name]["new"])
    if variable is None or value not in variable.choices:
        return f"Went through something that left {said(name)} at {said(value)}"
    meaning = Meaning(name, value, tuple(scene.changes[name]["choices"]))
    return best_line(variable.choices[value].events, meaning, others=scene.unchanged, rng=scene.rng)
