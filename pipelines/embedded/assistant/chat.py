"""Both sides of a plain chat: the assistant who answers from the conversation, and the user who goes on with it.

The assistant gives short advice and answers questions about the person. It reads every message of the person, and
believes the latest one that settles a variable.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pipelines.embedded.amemgym.phrases import closing_sentences
from pipelines.embedded.assistant.memory_tasks import extract_for_mem0, is_mem0_extraction
from pipelines.embedded.bank import Topic, load_bank
from pipelines.embedded.reader import evidence, find_topic, log_share, read_value
from pipelines.embedded.task import CANNOT_TELL, PromptTask

OPTION = re.compile(r"^\s*[\[(]?(?P<number>\d+)[\])]?[.:)]\s+(?P<text>\S.*)$", re.MULTILINE)
OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)
MEMORIES = re.compile(r"<memories>\n(?P<lines>.*?)\n</memories>", re.DOTALL)
ASSISTANT_LINE = re.compile(r"(?:\[[^\]]*\] )?assistant: ")
UNKNOWN_TOPIC = "That depends on details that I don't know yet, so tell me a little more about your situation."
REPLIES_TO_QUESTIONS = (
    "Hard to say right now, so please go with whatever you would usually recommend.",
    "I would rather leave that open for the moment. What would you do first in general?",
    "No strong feelings either way. Could you just pick one and tell me why?",
    "I haven't made up my mind about that. What are the usual options?",
    "Let's keep it simple. Which version would you start with?",
)
FURTHER_QUESTIONS = (
    "Thanks, that helps. Which of these would you start with?",
    "Could you explain the first step in a bit more detail?",
    "What do people usually get wrong with this?",
    "Is there an alternative in case that doesn't work out?",
    "How will I notice whether it is working?",
    "That makes sense. What would come after that?",
    "How long should I give it before I judge the result?",
    "Could you put that into a short checklist for me?",
    "Interesting, I hadn't thought of it that way. Can you give me an example?",
    "What should I look out for along the way?",
    "If I could only do one of these things, which would matter most?",
    "Can you tell me why that works?",
    "Good to know. Is there anything I should prepare beforehand?",
    "How often would you come back to this?",
)


def reply(task: PromptTask) -> str:
    """Answer the last message: options with a number, a state schema with a choice each, anything else with advice."""
    if is_mem0_extraction(task):
        return json.dumps(extract_for_mem0(task), ensure_ascii=False)
    last = task.user_texts[-1] if task.user_texts else ""
    schema = find_schema(last)
    if schema:
        return json.dumps({name: _believed_value(name, values, task) for name, values in schema.items()})
    options = find_options(last)
    if len(options) > 1 and '"answer"' in task.system + last:
        return json.dumps({"answer": _best_option(options, task)})
    return give_advice(last, task)


def follow_up(task: PromptTask) -> str:
    """The user's next message, which gives nothing about the person away; a new one, as long as there is any."""
    conversation = task.text("conversation")
    is_asked = re.search(r"\?[\s\"'}\]]*$", conversation) is not None
    messages = REPLIES_TO_QUESTIONS if is_asked else FURTHER_QUESTIONS
    return task.rng("follow_up").choice([text for text in messages if text not in conversation] or list(messages))


def find_schema(text: str) -> dict[str, list[str]]:
    """The first JSON object in the text that maps names to lists of texts."""
    for match in OBJECT.finditer(text):
        parsed = _parse_json(match[0])
        if isinstance(parsed, dict):
            pairs = cast(dict[str, Any], parsed)
            if pairs and all(isinstance(value, list) and len(cast(list[Any], value)) > 1 for value in pairs.values()):
                return {name: [str(value) for value in values] for name, values in pairs.items()}
    return {}


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def find_options(text: str) -> dict[int, str]:
    """Numbered options: lines such as "1. ...", or a JSON object or list."""
    for match in re.finditer(r"\{[^{}]*\}|\[[^\[\]]*\]", text):
        parsed = _parse_json(match[0])
        if isinstance(parsed, list):
            parsed = {str(index): option for index, option in enumerate(cast(list[Any], parsed), start=1)}
        if isinstance(parsed, dict):
            numbered = {key: str(value) for key, value in cast(dict[str, Any], parsed).items() if key.isdigit()}
            if len(numbered) > 1:
                return {int(key): value for key, value in numbered.items()}
    return {int(match["number"]): match["text"] for match in OPTION.finditer(text)}


def texts_about_person(task: PromptTask) -> list[str]:
    """What is known of the person, oldest first: memories or notes in the instructions, then the person's messages."""
    memories = MEMORIES.search(task.system)
    lines = (memories["lines"] if memories else task.system).splitlines()
    return [*(line for line in lines if line.strip() and not ASSISTANT_LINE.match(line)), *task.user_texts]


def _latest_value(name: str, values: Sequence[str], task: PromptTask) -> str | None:
    """The value by the latest text before the last message that settles the variable."""
    readings = (read_value(text, name=name, values=values) for text in reversed(texts_about_person(task)[:-1]))
    return next((value for value in readings if value), None)


def _believed_value(name: str, offered: Sequence[str], task: PromptTask) -> str:
    values = [value for value in offered if value != CANNOT_TELL]
    latest = _latest_value(name, values, task)
    if latest:
        return latest
    if CANNOT_TELL in offered:
        return CANNOT_TELL
    ranked = evidence(" ".join(texts_about_person(task)[:-1]), name=name, values=values)
    return ranked[0].value if ranked[0].words else task.rng("guess", name).choice(sorted(values))


def _best_option(options: Mapping[int, str], task: PromptTask) -> int:
    question = task.user_texts[-1]
    for option in options.values():
        question = question.replace(option, "")
    topic = find_topic(question)
    known = _known_values(topic, question, task) if topic else {}
    scores = {number: _option_score(option, known) for number, option in options.items()}
    best = [number for number, score in scores.items() if score == max(scores.values())]
    return task.rng("option").choice(best)


def _known_values(topic: Topic, question: str, task: PromptTask) -> dict[str, str]:
    """The values of the topic's variables: those that the question itself states by their labels, else the latest read."""
    known: dict[str, str] = {}
    for variable in topic.variables:
        stated = next((value for value in variable.choices if value in question), None)
        value = stated or _latest_value(variable.name, load_bank().values[variable.name], task)
        if value:
            known[variable.name] = value
    return known


def _option_score(option: str, known: Mapping[str, str]) -> float:
    """How likely the option was written for what is known: one that speaks of another value is worse than a vague one."""
    return round(sum(log_share(option, name=name, value=value) for name, value in known.items()), 6)


def give_advice(text: str, task: PromptTask) -> str:
    """Two or three sentences: advice for the circumstances in the message, else advice that suits everybody."""
    topic = find_topic(text)
    if topic is None:
        return UNKNOWN_TOPIC
    rng = task.rng("advice")
    readings = [
        (variable, read_value(text, name=variable.name, values=tuple(variable.choices))) for variable in topic.variables
    ]
    fitted = [rng.choice(variable.choices[value].advice) for variable, value in readings if value]
    general = [variable.vague_advice[0] for variable in rng.shuffled(topic.variables)]
    return " ".join([*(fitted or general)[:2], closing_sentences(topic, rng=rng)[0]])
