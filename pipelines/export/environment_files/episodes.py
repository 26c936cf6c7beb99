"""Episodes over this folder's documents and questions: what is said or read turn by turn, then the question, and its grade.

Needs nothing but Python. A turn is a message of the user, or the documents that arrive together.
"""

import json
import re
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from string import ascii_uppercase

HERE = Path(__file__).parent
GIVEN = re.compile(r"ANSWER:\s*(.+)", re.IGNORECASE)
WORD = re.compile(r"[^\W_]+")
LETTER = re.compile(r"\(?([A-Za-z])\b")


@dataclass(frozen=True)
class MemoryEpisode:
    """One question with all that comes before it. `right`: its letter, or the answer's words where it is free."""

    name: str
    turns: tuple[str, ...]
    question: str
    right: str
    chosen: bool

    @property
    def messages(self) -> tuple[str, ...]:
        """All that the environment says, the question last."""
        return (*self.turns, self.question)

    def grade(self, reply: str) -> float:
        """Return 1 where the reply's last line with ANSWER: is right, else 0."""
        found = GIVEN.findall(reply)
        if not found:
            return 0.0
        given = str(found[-1]).strip()
        if not self.chosen:
            return float(_words(self.right) in _words(given))
        letter = LETTER.match(given)
        return float(letter is not None and letter[1].upper() == self.right)


def _words(text: str) -> str:
    """Return the words in lower case between single spaces, so that one is found as a whole."""
    return f" {' '.join(WORD.findall(text.casefold()))} "


def _rows(name: str) -> list[dict]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def _turns(documents: list[dict]) -> tuple[str, ...]:
    """Return messages with a time as a turn each, and documents of one period as one turn."""
    turns = []
    for _, together in groupby(documents, key=lambda document: document["at"] or document["period"]):
        texts = [f"[{event['at']}] {event['text']}" if event["at"] else event["text"] for event in together]
        turns.append("\n\n".join(texts))
    return tuple(turns)


def _question_text(record: dict) -> str:
    lines = [f"Time of the question: {record['at']}"] if record["at"] else []
    lines += [*record["shown"], record["query"]]
    lines += [f"({letter}) {text}" for letter, text in zip(ascii_uppercase, record["options"], strict=False)]
    form = "the letter of the option that fits what was said" if record["options"] else "the answer alone"
    return "\n".join([*lines, f"End with a line: ANSWER: and {form}."])


def read_episodes() -> list[MemoryEpisode]:
    """Return an episode for each question, in the order of the file."""
    documents: dict[str, list[dict]] = {}
    for row in _rows("documents.jsonl"):
        documents.setdefault(row["user_id"], []).append(row)
    episodes = []
    for row in _rows("questions.jsonl"):
        before = [told for told in documents.get(row["user_id"], []) if told["period"] <= row["period"]]
        right = ascii_uppercase[row["gold_option"]] if row["options"] else row["gold_answer"]
        episodes.append(MemoryEpisode(row["id"], _turns(before), _question_text(row), right, bool(row["options"])))
    return episodes
