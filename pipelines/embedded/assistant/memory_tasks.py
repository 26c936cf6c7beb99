"""Memory work: facts and notes out of a conversation, changes of memories, what a text reveals, and memory policies.

A policy is the list of kinds of information that notes are taken of.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import as_words, find_topic, rarity, read_value, read_values, stems
from pipelines.embedded.task import PromptTask

USER_LINE = re.compile(r"^(?:\[[^\]]*\] )?user: (?:\[Current Time: [^\]]*\]\s*)?(?P<text>.*)$", re.MULTILINE)
KINDS = re.compile(r"<kinds>\n(?P<lines>.*?)\n</kinds>", re.DOTALL)
SENTENCE = re.compile(r"[^.?!]+[.?!]*")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
MIN_NAME_SHARE = 1 / 3  # a line that has so much of a variable's name, by rarity, names the variable
MEM0_SECTION = re.compile(r"^## (?P<title>[A-Z][A-Za-z ]+)\n(?P<body>.*?)(?=^## |^# Output:|\Z)", re.MULTILINE | re.DOTALL)
MAX_LINES_ADDED = 4  # in one rewriting: a careful editor changes a few things at a time
LINE_HEAD = re.compile(r"(?:\[[^\]]*\] )?(?:user|assistant|document|tool): ")
REQUEST_WORDS = stems("please forget everything kept called name keep turn again want good")
MAX_CHARACTERS = r"at most\s+(\d+)\s+characters"


def statements(conversation: str) -> list[str]:
    """Return the sentences of the user that state something; questions do not, and interjections neither."""
    found: list[str] = []
    for line in USER_LINE.finditer(conversation):
        for sentence in map(str.strip, SENTENCE.findall(line["text"])):
            if len(sentence.split()) > 3 and not sentence.endswith("?"):
                found.append(sentence)
    return found


@lru_cache(maxsize=5_000)
def settled_variables(text: str) -> frozenset[str]:
    """Return the variables of the bank that a text settles."""
    return frozenset(read_values(text, load_bank().values))


def extract_facts(task: PromptTask) -> dict[str, list[str]]:
    """Return the reply to a request for facts: each statement of the user is one."""
    return {"facts": statements(task.text("conversation"))}


def reconcile(task: PromptTask) -> dict[str, list[dict[str, str]]]:
    """Replace the memory that settles the same variables by the fact; any other fact is new."""
    memories: list[dict[str, str]] = task.data("memories")
    return {"memory": list(map(partial(_memory_change, memories=memories), task.data("facts")))}


def _memory_change(fact: str, *, memories: list[dict[str, str]]) -> dict[str, str]:
    settled = settled_variables(fact)
    for memory in memories:
        if memory["text"].endswith(fact):
            return {"id": memory["id"], "text": fact, "event": "NONE"}
        if settled and settled == settled_variables(memory["text"]):
            return {"id": memory["id"], "text": fact, "event": "UPDATE"}
    return {"id": "", "text": fact, "event": "ADD"}


def update_notes(task: PromptTask) -> dict[str, str]:
    """Write one entry for each variable that a statement settles and that the list of kinds names; all, where none is given."""
    kinds = KINDS.search(task.system)
    notes: dict[str, str] = {}
    for sentence in statements(task.text("conversation")):
        for name in sorted(settled_variables(sentence)):
            if kinds is None or _any_names(kinds["lines"].splitlines(), name):
                notes[name] = sentence
    return notes


def _any_names(lines: Sequence[str], variable: str) -> bool:
    """Return True when any line of a policy names the variable."""
    return any(_names(line, variable) for line in lines)


@lru_cache(maxsize=50_000)
def _names(line: str, variable: str) -> bool:
    words = stems(as_words(variable))
    shared = sum(map(rarity, words & stems(line)))
    return bool(words) and shared >= MIN_NAME_SHARE * sum(map(rarity, words))


def update_summary(task: PromptTask) -> dict[str, str]:
    """Add each new statement to the summary as a line; it replaces lines that settle the same variables."""
    lines: list[str] = task.text("summary").splitlines()
    for statement in statements(task.text("conversation")):
        settled = settled_variables(statement)
        for line in list(lines):
            if line == statement or (settled and settled_variables(line) == settled):
                lines.remove(line)
        lines.append(statement)
    most_words = task.number(r"(\d+) words at most", default=400)
    # The oldest lines go first: what has changed since stands in later ones.
    while len(" ".join(lines).split()) > most_words and len(lines) > 1:
        lines.pop(0)
    return {"summary": "\n".join(lines) or "Nothing yet."}


def leave_out_forgotten(task: PromptTask) -> dict[str, list[dict[str, str]]]:
    """Drop each sentence of the user that shares rare words of the request."""
    words = stems(task.text("request")) - REQUEST_WORDS
    return drop_sentences(task, lambda sentence: bool(words & stems(sentence)))


def drop_sentences(task: PromptTask, tells: Callable[[str], bool]) -> dict[str, list[dict[str, str]]]:
    """Return the texts of the task that change when each sentence that `tells` what is forgotten is dropped."""
    found: list[dict[str, str]] = []
    for number, text in task.data("texts").items():
        sentences = SENTENCE_END.split(text)
        kept = [sentence for sentence in sentences if not tells(sentence)]
        if len(kept) < len(sentences):
            head = LINE_HEAD.match(text)
            if head and kept and not kept[0].startswith(head[0]):
                kept.insert(0, head[0].strip())
            found.append({"id": number, "text": " ".join(kept)})
    return {"texts": found}


def describe_note(task: PromptTask) -> dict[str, Any]:
    """Describe a note: the rarest words as keywords, the first words as context, and the settled variables as tags."""
    content = task.text("content")
    rarest = sorted(stems(content), key=lambda word: (-rarity(word), word))[:5]
    tags = list(map(as_words, sorted(settled_variables(content))))
    return {"keywords": rarest or ["talk"], "context": " ".join(content.split()[:12]), "tags": tags or ["talk"]}


def link_note(task: PromptTask) -> dict[str, Any]:
    """Link a note to the neighbours that settle one of the same variables; nothing else changes."""
    note = task.data("note")
    settled = settled_variables(note["note"])
    links: list[str] = []
    for neighbour in task.data("neighbours"):
        if settled & settled_variables(neighbour["note"]):
            links.append(neighbour["id"])
    return {"links": links, "tags": note["tags"], "updates": []}


def find_boundary(task: PromptTask) -> dict[str, Any]:
    """Begin a new episode where the topic is another."""
    before = find_topic(task.text("episode"))
    after = find_topic(task.text("new"))
    return {"boundary": before != after, "confidence": 0.9}


def narrate_episode(task: PromptTask) -> dict[str, str]:
    """Repeat the user's statements, under the name of their topic."""
    episode = task.text("episode")
    topic = find_topic(episode)
    story = " ".join(statements(episode)) or "They talked about this and that."
    return {"title": as_words(topic.topic) if topic else "small talk", "story": story}


def predict_episode(task: PromptTask) -> dict[str, str]:
    """Predict what is known, the newest of it."""
    known: list[str] = task.data("knowledge")
    return {"prediction": " ".join(known[-3:]) or f"Something about {task.text('title')}."}


def distill_knowledge(task: PromptTask) -> dict[str, list[str]]:
    """Return the statements that the prediction lacks."""
    prediction = task.text("prediction")
    return {"facts": [statement for statement in statements(task.text("episode")) if statement not in prediction]}


def check_turn(task: PromptTask) -> dict[str, list[dict[str, str]]]:
    """Name the tracked values that can be read out of the message, and could not be read out of the opening one."""
    choices = task.data("tracked_variables")
    opening = read_values(task.text("opening_message"), choices)
    told: list[dict[str, str]] = []
    for name, value in read_values(task.text("message"), choices).items():
        if opening.get(name) != value:
            told.append({"variable": name, "value": value})
    return {"told": told}


def extend_policy(task: PromptTask) -> dict[str, Any]:
    """Add lines for a few kinds of information that the feedback shows and no line of the section names yet."""
    lines = task.text("current_section").splitlines()
    added: list[str] = []
    changes: list[str] = []
    for line in _missing_lines(task.data("feedback"), lines):
        if line not in lines and line not in added and len(added) < MAX_LINES_ADDED:
            added.append(line)
            changes.append(f"added {line[2:]}")
    section = _newest_within([*lines, *added], task.number(MAX_CHARACTERS, default=10_000))
    return {"new_types": "\n".join(section), "changes": changes}


def _missing_lines(feedback: Sequence[Mapping[str, Any]], lines: Sequence[str]) -> Iterator[str]:
    """Yield lines for the exposed variables, then for the topics of wrong answers; without answers, for all topics asked."""
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
    """Return the last lines that fit, in order."""
    fitting = list(lines)
    while fitting and len("\n".join(fitting)) > most_characters:
        del fitting[0]
    return fitting


def verify_claims(task: PromptTask) -> dict[str, str]:
    """Say yes where the last line that settles a claim's variable gives it the claimed value, else no."""
    lines = task.text("memory").splitlines()
    return {number: _verdict(claim, lines) for number, claim in task.data("claims").items()}


def _verdict(claim: str, lines: Sequence[str]) -> str:
    name, _, value = claim.partition(": ")
    values = load_bank().values_around(name, value) or (value,)
    for line in reversed(lines):
        reading = read_value(line, name=name, values=values)
        if reading is not None:
            return "yes" if reading == value else "no"
    return "no"


def is_mem0_extraction(task: PromptTask) -> bool:
    """Return True when the library Mem0 (mem0ai 2) asks for what to remember. Its prompt is known by its headings."""
    return {"Existing Memories", "New Messages", "Observation Date"} <= _mem0_sections(task).keys()


def extract_for_mem0(task: PromptTask) -> dict[str, list[dict[str, str]]]:
    """Return every statement of the user that is not a memory yet; Mem0 only ever adds."""
    sections = _mem0_sections(task)
    known = [memory["text"] for memory in json.loads(sections["Existing Memories"])]
    added: list[dict[str, str]] = []
    for statement in dict.fromkeys(statements(sections["New Messages"])):
        if statement not in known:
            added.append({"id": str(len(added)), "text": statement, "attributed_to": "user"})
    return {"memory": added}


def _mem0_sections(task: PromptTask) -> dict[str, str]:
    """Return the sections of the prompt by their headings; of repeated ones the last."""
    first = task.user_texts[0] if task.user_texts else ""
    return {match["title"]: match["body"].strip() for match in MEM0_SECTION.finditer(first)}
