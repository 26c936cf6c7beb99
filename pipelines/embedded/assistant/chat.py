"""Both sides of a plain chat: the assistant who answers from the conversation, and the user who goes on with it.

The assistant gives short advice and answers questions about the person. It reads every message of the person, and
believes the latest one that settles a variable.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from pipelines.embedded.assistant.closings import closing_sentences
from pipelines.embedded.assistant.memory_tasks import extract_for_mem0, is_mem0_extraction
from pipelines.embedded.bank import Topic, Variable, load_bank
from pipelines.embedded.reader import evidence, find_topic, log_share, read_value, read_values
from pipelines.embedded.task import PromptTask

OPTION = re.compile(r"^\s*[\[(]?(?P<number>\d+)[\])]?[.:)]\s+(?P<text>\S.*)$", re.MULTILINE)
OBJECT = re.compile(r"\{[^{}]*\}")
OBJECT_OR_LIST = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]")
TEXTS = Annotated[list[str], Field(min_length=2)]
NUMBERS_AS_TEXTS = ConfigDict(coerce_numbers_to_str=True)
SCHEMA = TypeAdapter(Annotated[dict[str, TEXTS], Field(min_length=1)], config=NUMBERS_AS_TEXTS)
OPTIONS = TypeAdapter(dict[str, str] | TEXTS, config=NUMBERS_AS_TEXTS)
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
    """Write the user's next message, which gives nothing about the person away; a new one, as long as there is any."""
    conversation = task.text("conversation")
    is_asked = re.search(r"\?[\s\"'}\]]*$", conversation) is not None
    messages = REPLIES_TO_QUESTIONS if is_asked else FURTHER_QUESTIONS
    new = [text for text in messages if text not in conversation]
    return task.rng("follow_up").choice(new or messages)


def find_schema(text: str) -> dict[str, list[str]]:
    """Find the first JSON object in the text that maps names to lists of two texts or more; {} without one."""
    for match in OBJECT.finditer(text):
        try:
            return SCHEMA.validate_json(match[0])
        except ValidationError:
            continue  # another object, or no JSON at all
    return {}


def find_options(text: str) -> dict[int, str]:
    """Find numbered options: a JSON object or list of two or more, else lines such as "1. ..."."""
    for match in OBJECT_OR_LIST.finditer(text):
        try:
            parsed = OPTIONS.validate_json(match[0])
        except ValidationError:
            continue
        if isinstance(parsed, list):
            return dict(enumerate(parsed, start=1))
        numbered = {int(key): option for key, option in parsed.items() if key.isdigit()}
        if len(numbered) > 1:
            return numbered
    return {int(match["number"]): match["text"] for match in OPTION.finditer(text)}


def texts_about_person(task: PromptTask) -> list[str]:
    """Return what is known of the person, oldest first: memories or notes in the instructions, then the person's messages."""
    memories = MEMORIES.search(task.system)
    lines = (memories["lines"] if memories else task.system).splitlines()
    known = [line for line in lines if line.strip() and not ASSISTANT_LINE.match(line)]
    return [*known, *task.user_texts]


def _latest_value(name: str, values: Sequence[str], task: PromptTask) -> str | None:
    """Return the value by the latest text before the last message that settles the variable."""
    for text in reversed(texts_about_person(task)[:-1]):
        value = read_value(text, name=name, values=values)
        if value is not None:
            return value
    return None


def _believed_value(name: str, values: Sequence[str], task: PromptTask) -> str:
    latest = _latest_value(name, values, task)
    if latest:
        return latest
    likeliest = evidence(" ".join(texts_about_person(task)[:-1]), name=name, values=values)[0]
    return likeliest.value if likeliest.words else task.rng("guess", name).choice(sorted(values))


def _best_option(options: Mapping[int, str], task: PromptTask) -> int:
    question = task.user_texts[-1]
    # Without the options, whose words would say of another topic what the question does not.
    for option in options.values():
        question = question.replace(option, "")
    topic = find_topic(question)
    known = _known_values(topic, question, task) if topic else {}
    numbers: dict[float, list[int]] = {}
    for number, option in options.items():
        numbers.setdefault(_option_score(option, known), []).append(number)
    return task.rng("option").choice(numbers[max(numbers)])


def _known_values(topic: Topic, question: str, task: PromptTask) -> dict[str, str]:
    """Return the values of the topic's variables: those that the question states by their labels, else the latest read."""
    known: dict[str, str] = {}
    for variable in topic.variables:
        value = _stated_value(variable, question)
        if value is None:
            value = _latest_value(variable.name, load_bank().values[variable.name], task)
        if value is not None:
            known[variable.name] = value
    return known


def _stated_value(variable: Variable, question: str) -> str | None:
    for value in variable.choices:
        if value in question:
            return value
    return None


def _option_score(option: str, known: Mapping[str, str]) -> float:
    """Score how well the option suits what is known: one that speaks of another value is worse than a vague one."""
    total = sum(log_share(option, name=name, value=value) for name, value in known.items())
    return round(total, 6)  # so that equal evidence is equal, whatever the order of its words


def give_advice(text: str, task: PromptTask) -> str:
    """Give two or three sentences: advice for the circumstances in the message, else advice that suits everybody."""
    topic = find_topic(text)
    if topic is None:
        return UNKNOWN_TOPIC
    rng = task.rng("advice")
    readings = read_values(text, topic.choices)
    advice: list[str] = []
    for variable in topic.variables:
        if variable.name in readings:
            advice.append(rng.choice(variable.choices[readings[variable.name]].advice))
    general = [variable.vague_advice[0] for variable in rng.shuffled(topic.variables)]
    return " ".join([*(advice or general)[:2], closing_sentences(topic, rng=rng)[0]])
