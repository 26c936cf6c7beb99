"""The function that answers each prompt of user facts."""

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from assets.records.answers import read_date
from assets.user_facts.questions import WORDINGS, Reader, choice_text
from assets.user_facts.records import QuestionForm
from assets.user_facts.sessions import reading_of
from assets.user_facts.states import Dated
from pipelines.embedded.assistant.memory_tasks import drop_sentences
from pipelines.embedded.task import PromptTask
from pipelines.embedded.user_facts.matters import draft_list, known_matters, read_pairs
from pipelines.embedded.user_facts.sentences import (
    SENTENCES,
    SMALL_TALK,
    case_words,
    read_line,
    read_statements,
)

MEMORIES = re.compile(r"<memories>\n(?P<lines>.*?)\n</memories>", re.DOTALL)
OPTION = re.compile(r"^(?P<number>\d+)\. (?P<text>.+)$", re.MULTILINE)
ALWAYS = date.min  # of a line that tells no day
LAST = date.max


def tell_session(task: PromptTask) -> dict[str, str]:
    """Make a sentence of each statement; without any, small talk."""
    rng = task.rng("session")
    said: list[str] = []
    for statement in task.data("statements"):
        cases = "; ".join(case_words(case["if"], case["then"]) for case in statement.get("cases", ()))
        other = statement.get("other matter") or statement.get("whose", "")
        words = {
            "label": statement["matter"],
            "value": statement.get("value", ""),
            "until": statement.get("day", ""),
            "other": other,
            "cases": cases,
        }
        said.append(rng.choice(SENTENCES[statement["what"]]).format(**words))
    said += rng.sample(SMALL_TALK, task.data("talk"))
    return {"message": " ".join(rng.shuffled(said)) or rng.choice(SMALL_TALK)}


def write_mail(task: PromptTask) -> dict[str, str]:
    """Write a mail that tells the value."""
    sentence = task.rng("mail").choice(SENTENCES["refed"])
    words = sentence.format(label=task.text("matter"), value=task.text("value"), other=task.text("name"))
    return {"mail": f"The list for the coming season is done. {words}"}


def read_session(task: PromptTask) -> dict[str, str]:
    """Say of each matter what the message does to it, and of each case what follows."""
    read = reading_of(read_statements(task.text("message")))
    return {number: read[label] for number, label in task.data("matters").items() if label in read}


def answer_question(task: PromptTask) -> dict[str, int]:
    """Answer by the recalled lines: what is said later counts, and each shape of a correction is understood."""
    options = {match["text"]: int(match["number"]) for match in OPTION.finditer(task.text("choices"))}
    form, found = _read_question(task.text("question"))
    matter = known_matters()[found["label"]].name
    premise = found.get("premise", "")
    day = read_date(found["day"]) if "day" in found else None
    value = Reader(_read_recalled(task), LAST).known_value(matter, form, day)
    unknown = options[choice_text("", form, premise=premise)]
    return {"answer": options.get(choice_text(value, form, premise=premise), unknown)}


def _read_recalled(task: PromptTask) -> list[Dated]:
    memories = MEMORIES.search(task.system)
    lines = memories["lines"].replace("&lt;", "<").replace("&#91;", "[").splitlines() if memories else []
    found: list[Dated] = []
    for line in lines:
        day, statements = read_line(line)
        found.append(Dated(day or ALWAYS, statements))
    return found


def _read_question(text: str) -> tuple[QuestionForm, Mapping[str, str]]:
    """Return the form of a question and what stands in its slots. Raises ValueError for one that is none of ours."""
    for form, wordings in WORDINGS.items():
        for wording in wordings:
            parts = re.split(r"\{(\w+)\}", wording)
            words = [f"(?P<{part}>.+?)" if number % 2 else re.escape(part) for number, part in enumerate(parts)]
            match = re.fullmatch("".join(words), text)
            if match and match["label"] in known_matters():
                return form, match.groupdict()
    raise ValueError(f"{text!r} is no question about a fact")


def leave_out_forgotten(task: PromptTask) -> dict[str, list[dict[str, str]]] | None:
    """Drop each sentence of the user about a matter that the request names; None where it names none."""
    forgotten = {statement.matter for statement in read_statements(task.text("request")) if statement.shape == "forget"}

    def tells(sentence: str) -> bool:
        _, statements = read_line(sentence)
        return any(statement.matter in forgotten and statement.shape != "other" for statement in statements)

    return drop_sentences(task, tells) if forgotten else None


WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    "facts_matters/draft": draft_list,
    "facts_matters/read": read_pairs,
    "facts_sessions/tell": tell_session,
    "facts_sessions/mail": write_mail,
    "facts_sessions/read": read_session,
    "facts_questions/ask": answer_question,
    "memories/leave_out_forgotten": leave_out_forgotten,
}
