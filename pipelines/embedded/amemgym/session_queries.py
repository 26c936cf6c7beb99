"""Writes the replies to `session_queries/*`: first utterances that tell state values by circumstances."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.amemgym.events import topics_of
from pipelines.embedded.amemgym.lines import Meaning, best_line, never_mended
from pipelines.embedded.amemgym.query_text import Item, find_request, request_for, subject_of, vague_line, written
from pipelines.embedded.amemgym.wording import event_parts, first_person, said
from pipelines.embedded.bank import Topic, Variable, load_bank
from pipelines.embedded.reader import read
from pipelines.embedded.task import Task

PAIRED, IN_THREES = 0.75, 0.25
UNCLEAR_DRAFTS = 0.06
UNCLEAR_AGAIN = 0.15
REWRITES = 4  # whoever has been misread reads the new text over before sending it


@dataclass(frozen=True)
class Scene:
    """What all queries of one call share."""

    profile: str
    schema: Mapping[str, Sequence[str]]
    rng: SeededRandom


def initial(task: Task) -> dict[str, Any]:
    """Queries that tell every variable of the state once."""
    state, schema = _among(task, "initial_state")
    others: list[str] = task.data("other_variables") if "other_variables" in task.blocks else []
    scene = Scene(task.text("user_profile"), {**schema, **_known(others)}, task.rng("queries"))
    groups = [list(state)] if "a single message" in task.request else chance_groups(list(state), scene)
    drafts = [{name: state[name] for name in group} for group in groups]
    return {"queries": [{"exposed_states": exposed, "query": _from_cues(exposed, scene)} for exposed in drafts]}


def update(task: Task) -> dict[str, Any]:
    """One query per group of changes: what happened, told by the person, and a request."""
    scene = Scene(task.text("user_profile"), task.data("state_schema"), task.rng("queries"))
    groups: list[dict[str, Any]] = task.data("context")
    return {"queries": [_from_event(group, scene) for group in groups]}


def refine(task: Task) -> dict[str, str]:
    """The query with clearer circumstances; mostly that helps."""
    rng = task.rng("refine")
    exposed, choices = _among(task, "exposed_states")
    text = task.text("query")
    leaked: dict[str, str] = task.data("leaked") if "leaked" in task.blocks else {}
    scene = Scene("", {**choices, **_known(leaked)}, rng)
    subject = subject_of(list(exposed), topics_of(list(exposed)), profile="")
    topic, request = find_request(text, subject, list(exposed))
    unclear = _unclear(exposed, request, likely=UNCLEAR_AGAIN, rng=rng)
    query = text
    for _ in range(REWRITES):
        cues = [_line(name, exposed, topic, scene, unclear=unclear, avoid=text) for name in exposed]
        query = written(Item(topic, request, tuple(cues)), rng=rng)
        if _tells_just(exposed, query, scene):
            break
    return {"query": query}


def _tells_just(exposed: Mapping[str, str], query: str, scene: Scene) -> bool:
    """Whether the query tells what it should, and nothing about the schema's other variables."""
    told = {name: read(query, name=name, values=values) for name, values in scene.schema.items()}
    return told == {**dict.fromkeys(scene.schema), **exposed}


def _among(task: Task, tag: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The values of a block that has each beside its alternatives, and all choices, in an order that tells nothing."""
    told: dict[str, dict[str, Any]] = task.data(tag)
    values = {name: str(one["value"]) for name, one in told.items()}
    return values, {name: sorted([values[name], *one["instead_of"]]) for name, one in told.items()}


def _known(names: Iterable[str]) -> dict[str, Sequence[str]]:
    """The choices of these variables, as far as the bank has them."""
    return {name: load_bank().values[name] for name in names if name in load_bank().values}


def chance_groups(names: Sequence[str], scene: Scene) -> list[list[str]]:
    """Variables by the topic in whose light they are told, in ones and twos, now and then in threes."""
    topics = topics_of(list(scene.schema))
    parts: dict[str, list[str]] = {topic.topic: [n for n in names if _own(topic, n)] for topic in topics}
    for name in names:
        homes = [topic for topic in topics if topic.variable(name) and not _own(topic, name)]
        home = min(homes, key=lambda topic: len(parts[topic.topic]), default=None)
        if home is not None:
            parts[home.topic].append(name)
        elif all(name not in part for part in parts.values()):
            parts[name] = [name]
    return scene.rng.shuffled([group for part in parts.values() for group in _split(part, scene.rng)])


def _own(topic: Topic, name: str) -> bool:
    variable = topic.variable(name)
    return variable is not None and variable.concept is None


def _split(part: list[str], rng: SeededRandom) -> list[list[str]]:
    part = rng.shuffled(part)
    if len(part) == 3 and rng.bernoulli(IN_THREES):
        return [part]
    size = 2 if rng.bernoulli(PAIRED) else 1
    return [part[start : start + size] for start in range(0, len(part), size)]


def _from_cues(exposed: Mapping[str, str], scene: Scene) -> str:
    item, unclear = _begun(exposed, scene)
    return _in_cues(item, exposed, scene, unclear=unclear)


def _begun(exposed: Mapping[str, str], scene: Scene) -> tuple[Item, str | None]:
    """The subject and request of a new item, and the variable that its draft fails to settle, if any."""
    topic = subject_of(list(exposed), topics_of(list(scene.schema)), profile=scene.profile)
    request = request_for(topic, exposed, profile=scene.profile)
    return Item(topic, request, ()), _unclear(exposed, request, likely=UNCLEAR_DRAFTS, rng=scene.rng)


def _in_cues(item: Item, exposed: Mapping[str, str], scene: Scene, *, unclear: str | None) -> str:
    cues = [_line(name, exposed, item.topic, scene, unclear=unclear) for name in exposed]
    return written(replace(item, cues=tuple(cues)), rng=scene.rng)


def _from_event(group: Mapping[str, Any], scene: Scene) -> str:
    exposed = {name: str(change["new"]) for name, change in group["state_transition"].items()}
    background = str(group["background"])
    item, unclear = _begun(exposed, scene)
    if unclear or not _ours(background):
        return _in_cues(item, exposed, scene, unclear=unclear)
    told = first_person(background)
    missed = [name for name, value in exposed.items() if not _meaning(name, value, scene.schema).told_by(told)]
    cues = [_line(name, exposed, item.topic, scene) for name in missed]
    return written(replace(item, cues=tuple(cues), told=told), rng=scene.rng)


def _ours(background: str) -> bool:
    """Whether the background consists of the bank's own fragments, which turn into the first person by themselves."""
    known = load_bank().event_lines
    return all(f"{part[:1].upper()}{part[1:]}" in known for part in event_parts(background))


def _unclear(exposed: Mapping[str, str], request: str, *, likely: float, rng: SeededRandom) -> str | None:
    """The variable that this text will touch without settling it, if any."""
    if never_mended(request, *sorted(exposed.items())):
        return min(exposed)
    return rng.choice(list(exposed)) if rng.bernoulli(likely) else None


def _meaning(name: str, value: str, schema: Mapping[str, Sequence[str]]) -> Meaning:
    return Meaning(name, value, tuple(schema[name]))


def _line(
    name: str, exposed: Mapping[str, str], topic: Topic | None, scene: Scene, *, unclear: str | None = None, avoid: str = ""
) -> str:
    variable = _variable(name, topic)
    value = exposed[name]
    if variable is None or value not in variable.choices:
        return f"When it comes to {said(name)}, think of {said(value)} in my case."
    if name == unclear:
        return vague_line(variable, avoid=avoid, rng=scene.rng)
    cues = [cue for cue in variable.choices[value].cues if cue not in avoid]
    others = {other: values for other, values in scene.schema.items() if other not in exposed}
    return best_line(cues, _meaning(name, value, scene.schema), others=others, rng=scene.rng)


def _variable(name: str, topic: Topic | None) -> Variable | None:
    homes = load_bank().homes.get(name, ())
    return (topic.variable(name) if topic else None) or (homes[0].variable(name) if homes else None)
