"""Memory work: facts and notes out of a conversation, changes of memories, what a text reveals, and memory policies.

A policy is the list of kinds of information that notes are taken of.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pipelines.embedded.amemgym.phrases import as_words
from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import find_topic, rarity, read_value, stems
from pipelines.embedded.task import PromptTask

USER_LINE = re.compile(r"^(?:\[[^\]]*\] )?user: (?:\[Current Time: [^\]]*\]\s*)?(?P<text>.*)$", re.MULTILINE)
KINDS = re.compile(r"<kinds>\n(?P<lines>.*?)\n</kinds>", re.DOTALL)
SENTENCE = re.compile(r"[^.?!]+[.?!]*")
MIN_NAME_SHARE = 1 / 3  # a line that has so much of a variable's name, by rarity, names the variable
MEM0_SECTION = re.compile(r"^## (?P<title>[A-Z][A-Za-z ]+)\n(?P<body>.*?)(?=^## |^# Output:|\Z)", re.MULTILINE | re.DOTALL)
MAX_LINES_ADDED = 4  # in one rewriting: a careful editor changes a few things at a time
MAX_CHARACTERS = r"at most\s+(\d+)\s+characters"


def statements(conversation: str) -> list[str]:
    """The sentences of the user that state something; questions do not."""
    sentences = [s.strip() for match in USER_LINE.finditer(conversation) for s in SENTENCE.findall(match["text"])]
    return [sentence for sentence in sentences if len(sentence.split()) > 3 and not sentence.endswith("?")]


@lru_cache(maxsize=5_000)
def settled_variables(text: str) -> frozenset[str]:
    """The variables of the bank that a text settles."""
    return frozenset(name for name, values in load_bank().values.items() if read_value(text, name=name, values=values))


def extract_facts(task: PromptTask) -> dict[str, list[str]]:
    """The reply to a request for facts: each statement of the user is one."""
    return {"facts": statements(task.text("conversation"))}


def reconcile(task: PromptTask) -> dict[str, list[dict[str, str]]]:
    """A fact replaces the memory that settles the same variables; any other is new."""
    memories: list[dict[str, str]] = task.data("memories")
    return {"memory": [_memory_change(fact, memories) for fact in task.data("facts")]}


def _memory_change(fact: str, memories: list[dict[str, str]]) -> dict[str, str]:
    for memory in memories:
        if memory["text"].endswith(fact):
            return {"id": memory["id"], "text": fact, "event": "NONE"}
        if settled_variables(fact) and settled_variables(fact) == settled_variables(memory["text"]):
            return {"id": memory["id"], "text": fact, "event": "UPDATE"}
    return {"id": "", "text": fact, "event": "ADD"}


def update_notes(task: PromptTask) -> dict[str, str]:
    """One entry for each variable that a statement settles and that the list of kinds names; all, where none is given."""
    kinds = KINDS.search(task.system)
    notes = {
        name: sentence for sentence in statements(task.text("conversation")) for name in sorted(settled_variables(sentence))
    }
    return {name: note for name, note in notes.items() if kinds is None or _any_names(kinds["lines"].splitlines(), name)}


def _any_names(lines: Sequence[str], variable: str) -> bool:
    """Whether any line of a policy names the variable."""
    return any(_names(line, variable) for line in lines)


@lru_cache(maxsize=50_000)
def _names(line: str, variable: str) -> bool:
    weights = {word: rarity(word) for word in stems(as_words(variable))}
    shared = sum(weight for word, weight in weights.items() if word in stems(line))
    return bool(weights) and shared >= MIN_NAME_SHARE * sum(weights.values())


def update_summary(task: PromptTask) -> dict[str, str]:
    """The summary with each new statement as a line; it replaces lines that settle the same variables."""
    lines = task.text("summary").splitlines()
    for statement in statements(task.text("conversation")):
        settled = settled_variables(statement)
        lines = [line for line in lines if line != statement and not (settled and settled_variables(line) == settled)]
        lines.append(statement)
    while len(" ".join(lines).split()) > task.number(r"(\d+) words at most", default=400) and len(lines) > 1:
        lines.pop(0)
    return {"summary": "\n".join(lines) or "Nothing yet."}


def describe_note(task: PromptTask) -> dict[str, Any]:
    """The rarest words as keywords, the first words as context, and the settled variables as tags."""
    content = task.text("content")
    rarest = sorted(stems(content), key=lambda word: (-rarity(word), word))[:5]
    tags = [as_words(name) for name in sorted(settled_variables(content))]
    return {"keywords": rarest or ["talk"], "context": " ".join(content.split()[:12]), "tags": tags or ["talk"]}


def link_note(task: PromptTask) -> dict[str, Any]:
    """Links to the neighbours that settle one of the same variables; nothing else changes."""
    note = task.data("note")
    settled = settled_variables(note["note"])
    linked = [one["id"] for one in task.data("neighbours") if settled & settled_variables(one["note"])]
    return {"links": linked, "tags": note["tags"], "updates": []}


def find_boundary(task: PromptTask) -> dict[str, Any]:
    """A new episode begins where the topic is another."""
    before, after = find_topic(task.text("episode")), find_topic(task.text("new"))
    return {"boundary": before != after, "confidence": 0.9}


def narrate_episode(task: PromptTask) -> dict[str, str]:
    """The user's statements, under the name of their topic."""
    episode = task.text("episode")
    topic = find_topic(episode)
    story = " ".join(statements(episode)) or "They talked about this and that."
    return {"title": as_words(topic.topic) if topic else "small talk", "story": story}


def predict_episode(task: PromptTask) -> dict[str, str]:
    """The newest that is known."""
    known: list[str] = task.data("knowledge")
    return {"prediction": " ".join(known[-3:]) or f"Something about {task.text('title')}."}


def distill_knowledge(task: PromptTask) -> dict[str, list[str]]:
    """The statements that the prediction lacks."""
    return {"facts": [one for one in statements(task.text("episode")) if one not in task.text("prediction")]}


def check_turn(task: PromptTask) -> dict[str, list[dict[str, str]]]:
    """The tracked values that can be read out of the message."""
    message = task.text("message")
    readings = {name: read_value(message, name=name, values=values) for name, values in task.data("state_choices").items()}
    return {"told": [{"variable": name, "value": value} for name, value in readings.items() if value]}


def improve_policy(task: PromptTask) -> dict[str, Any]:
    """The section with lines for a few kinds of information that the feedback shows and no line names yet."""
    lines = task.text("current_section").splitlines()
    missing = dict.fromkeys(line for line in _missing_lines(task.data("feedback"), lines) if line not in lines)
    added = list(missing)[:MAX_LINES_ADDED]
    section = _newest_within([*lines, *added], task.number(MAX_CHARACTERS, default=10_000))
    return {"new_types": "\n".join(section), "changes": [f"added {line[2:]}" for line in added]}


def _missing_lines(feedback: Sequence[Mapping[str, Any]], lines: Sequence[str]) -> Iterator[str]:
    """Lines for the exposed variables, then for the topics of wrong answers; without answers, for those of the questions."""
    for summary in feedback:
        for name in summary.get("user_information_updates", {}):
            if not _any_names(lines, name):
                yield f"- {as_words(name)}, as it is now"
    for summary in feedback:
        for entry in summary.get("question_answer_history", ()):
            topic = find_topic(entry["question"].partition("\n")[0])
            if topic is not None and entry.get("assistant_response") != entry.get("ground_truth", "?"):
                yield f"- {as_words(topic.topic)}: how the user goes about it"


def _newest_within(lines: Sequence[str], most_characters: int) -> list[str]:
    """The last lines that fit, in order."""
    fitting = list(lines)
    while fitting and len("\n".join(fitting)) > most_characters:
        del fitting[0]
    return fitting


def check_memory(task: PromptTask) -> dict[str, str]:
    """Whether the last line that settles a claim's variable gives it the claimed value."""
    lines = task.text("memory").splitlines()
    return {number: _verdict(claim, lines) for number, claim in task.data("claims").items()}


def _verdict(claim: str, lines: Sequence[str]) -> str:
    name, _, value = claim.partition(": ")
    bank_name = load_bank().resolve_name(name, frozenset({value}))
    values = load_bank().values.get(bank_name or "", (value,))
    readings = [reading for line in lines if (reading := read_value(line, name=name, values=values))]
    return "yes" if readings[-1:] == [value] else "no"


def is_mem0_extraction(task: PromptTask) -> bool:
    """Whether the library Mem0 (mem0ai 2) asks for what to remember. Its prompt is known by its headings."""
    return {"Existing Memories", "New Messages", "Observation Date"} <= _mem0_sections(task).keys()


def extract_for_mem0(task: PromptTask) -> dict[str, list[dict[str, str]]]:
    """Every statement of the user that is not a memory yet; Mem0 only ever adds."""
    sections = _mem0_sections(task)
    known = {memory["text"] for memory in json.loads(sections["Existing Memories"])}
    new = [statement for statement in dict.fromkeys(statements(sections["New Messages"])) if statement not in known]
    return {"memory": [{"id": str(index), "text": text, "attributed_to": "user"} for index, text in enumerate(new)]}


def _mem0_sections(task: PromptTask) -> dict[str, str]:
    """The sections of the prompt by their headings; of repeated ones the last."""
    first = task.user_texts[0] if task.user_texts else ""
    return {match["title"]: match["body"].strip() for match in MEM0_SECTION.finditer(first)}
