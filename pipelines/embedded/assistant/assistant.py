"""The plain assistant: short advice, and questions about the person answered from what the conversation says.

It reads every message of the person with the reader and believes the latest one that settles a variable.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pipelines.embedded.amemgym.closings import closings
from pipelines.embedded.amemgym.judges import CANNOT_TELL
from pipelines.embedded.assistant.mem0 import extract, is_extraction
from pipelines.embedded.assistant.notes import MEMORY_WORK
from pipelines.embedded.bank import Topic, load_bank
from pipelines.embedded.reader import evidence, plain_talk, read, share, stems
from pipelines.embedded.task import Task

OPTION = re.compile(r"^\s*[\[(]?(?P<number>\d+)[\])]?[.:)]\s+(?P<text>\S.*)$", re.MULTILINE)
OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)
MEMORIES = re.compile(r"<memories>\n(?P<lines>.*?)\n</memories>", re.DOTALL)
OWN_WORDS = re.compile(r"(?:\[[^\]]*\] )?assistant: ")
UNKNOWN = "That depends on details that I don't know yet, so tell me a little more about your situation."


def reply(task: Task) -> str:
    """Answer the last message: options with a number, a state schema with a choice each, anything else with advice.

    Memory work (`notes`, `mem0`) is the same assistant's.
    """
    if task.name in MEMORY_WORK:
        return json.dumps(MEMORY_WORK[task.name](task), ensure_ascii=False)
    if is_extraction(task):
        return json.dumps(extract(task), ensure_ascii=False)
    last = task.user_texts[-1] if task.user_texts else ""
    schema = schema_in(last)
    if schema:
        return json.dumps({name: _believed(name, values, task) for name, values in schema.items()})
    options = options_in(last)
    if len(options) > 1 and '"answer"' in task.system + last:
        return json.dumps({"answer": _best_option(options, task)})
    return advice(last, task)


def schema_in(text: str) -> dict[str, list[str]]:
    """The first JSON object in the text that maps names to lists of texts."""
    for match in OBJECT.finditer(text):
        found = _json(match[0])
        if isinstance(found, dict):
            pairs = cast(dict[str, Any], found)
            if pairs and all(isinstance(value, list) and len(cast(list[Any], value)) > 1 for value in pairs.values()):
                return {name: [str(value) for value in values] for name, values in pairs.items()}
    return {}


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def options_in(text: str) -> dict[int, str]:
    """Numbered options: lines such as "1. ...", or a JSON object or list."""
    for match in re.finditer(r"\{[^{}]*\}|\[[^\[\]]*\]", text):
        found = _json(match[0])
        if isinstance(found, list):
            found = {str(place + 1): option for place, option in enumerate(cast(list[Any], found))}
        if isinstance(found, dict):
            numbered = {key: str(value) for key, value in cast(dict[str, Any], found).items() if key.isdigit()}
            if len(numbered) > 1:
                return {int(key): value for key, value in numbered.items()}
    return {int(match["number"]): match["text"] for match in OPTION.finditer(text)}


def heard(task: Task) -> list[str]:
    """What was said about the person, oldest first: memories or notes in the instructions, then the person's messages."""
    kept = MEMORIES.search(task.system)
    lines = (kept["lines"] if kept else task.system).splitlines()
    return [*(line for line in lines if line.strip() and not OWN_WORDS.match(line)), *task.user_texts]


def _believed(name: str, offered: Sequence[str], task: Task) -> str:
    values = [value for value in offered if value != CANNOT_TELL]
    readings = [found for text in heard(task)[:-1] if (found := read(text, name=name, values=values))]
    if readings:
        return readings[-1]
    if CANNOT_TELL in offered:
        return CANNOT_TELL
    everything = " ".join(heard(task)[:-1])
    ranked = evidence(everything, name=name, values=values)
    return ranked[0].value if ranked[0].words else task.rng("guess", name).choice(sorted(values))


def _best_option(options: Mapping[int, str], task: Task) -> int:
    last = task.user_texts[-1]
    asked = last
    for option in options.values():
        asked = asked.replace(option, "")
    topic = topic_of(asked)
    stated = {name: value for name, value in _stated(asked, topic).items() if value}
    believed = {v.name: stated.get(v.name) or _latest(v.name, task) for v in topic.variables} if topic else {}
    known = {name: value for name, value in believed.items() if value}
    scores = {number: _score(option, known) for number, option in options.items()}
    best = [number for number, score in scores.items() if score == max(scores.values())]
    return task.rng("option").choice(best)


def _stated(text: str, topic: Topic | None) -> dict[str, str | None]:
    """Values that the message itself states by their labels."""
    variables = topic.variables if topic else ()
    return {v.name: next((value for value in v.choices if value in text), None) for v in variables}


def _latest(name: str, task: Task) -> str | None:
    values = load_bank().values[name]
    readings = [found for text in heard(task)[:-1] if (found := read(text, name=name, values=values))]
    return readings[-1] if readings else None


def _score(option: str, known: Mapping[str, str]) -> float:
    """How likely the option was written for what is known: one that speaks of another value is worse than a vague one."""
    return round(sum(share(option, name=name, value=value) for name, value in known.items()), 6)


def topic_of(text: str) -> Topic | None:
    """The topic that a message asks about: by its question word for word, else by the rare words of its subject."""
    topics = load_bank().topics
    exact = next((topic for topic in topics if any(question in text for question in topic.questions)), None)
    nearness = {topic.topic: _nearness(stems(text), topic) for topic in topics}
    best = max(topics, key=lambda topic: nearness[topic.topic])
    return exact or (best if nearness[best.topic] else None)


def _nearness(words: frozenset[str], topic: Topic) -> float:
    common, size = plain_talk()
    # The name counts twice: cooking is a hobby near many topics, but the subject of one.
    shared = [*(words & stems(topic.topic.replace("_", " "))), *(words & stems(" ".join(topic.fits.hobbies)))]
    return sum(math.log(size / (common[word] + 1)) for word in shared)


def advice(text: str, task: Task) -> str:
    """Two or three sentences: advice for what the message tells, else advice that suits everybody."""
    topic = topic_of(text)
    if topic is None:
        return UNKNOWN
    rng = task.rng("advice")
    told = [(variable, read(text, name=variable.name, values=tuple(variable.choices))) for variable in topic.variables]
    fitted = [rng.choice(variable.choices[value].advice) for variable, value in told if value]
    general = [variable.vague_advice[0] for variable in rng.shuffled(topic.variables)]
    return " ".join([*(fitted or general)[:2], closings(topic, rng=rng)[0]])
