"""Plays tau2's agent and user. The agent knows the right calls, and uses a value only where it can read it.

That shows that the tasks work: whoever cannot read what left the window repeats calls, or does not know how to go on.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from assets.worlds.steps import written_call
from pipelines.agents.tau2_world import CASE, GoldCall, Tau2Task, argument_text, leaf_texts, task_named
from pipelines.embedded.memory_items.calls import recall_once, recalled_texts
from pipelines.embedded.task import PromptTask

LONGEST_READ = 60  # characters of a value; longer ones an agent words itself
DONE = "That is done."
CANNOT = "I am sorry, I cannot go on:"
PLEASE_USE = re.compile(r"Please use (?P<tool>\w+) with (?P<arguments>\{.*?\})\.", re.DOTALL)
SKIPPED = ("calculate",)  # calls that change nothing, and whose arguments nobody says


def _case_in(task: PromptTask) -> Tau2Task | None:
    """Return the task of the case that the agent was told; None where there is none."""
    for text in task.user_texts:
        _, found, rest = text.partition(CASE)
        if found:
            return task_named(rest.partition("\n")[0].strip())
    return None


def act_in_case(task: PromptTask) -> dict[str, Any] | None:
    """Return the next of the right calls, as far as what was said and recalled shows what was done; None without a case."""
    case = _case_in(task)
    if case is None:
        return None
    done = _done_so_far(task)
    read = _readable(task)
    for call in case.gold:
        if call.tool in SKIPPED or call.text in done:
            continue
        unread = _first_unread_argument(call, read)
        if unread:
            return recall_once(f"What is {unread}?", task) or _say(f"{CANNOT} I do not know {unread}.")
        if call.by_user:
            return _say(f"Please use {call.tool} with {json.dumps(dict(call.arguments))}.")
        arguments = [{"name": name, "value": argument_text(value)} for name, value in call.arguments.items()]
        return {"action": "call", "tool": call.tool, "arguments": arguments, "text": None}
    told = [text for text in case.values_to_tell if text.casefold() in read]
    words = " ".join([DONE, *told])
    return _finish() if words in done else _say(words)


def play_user(task: PromptTask) -> dict[str, Any]:
    """Tell the whole scenario at first, do on one's own device what the agent asks for, and go when it is done."""
    dialogue = task.text("dialogue")
    if not dialogue:
        return _say(task.text("scenario"))
    said = dialogue.rpartition("agent: ")[2]
    asked = PLEASE_USE.search(said)
    if asked and "you used" not in said:
        arguments = [{"name": name, "value": argument_text(value)} for name, value in json.loads(asked["arguments"]).items()]
        return {"action": "call", "tool": asked["tool"], "arguments": arguments, "text": None}
    if DONE in said or CANNOT in said:
        return _finish()
    return _say("I have done that." if asked else "Yes, please go on.")


def _done_so_far(task: PromptTask) -> str:
    """Return all that shows what was done: calls and words of the agent in sight, and what was recalled."""
    shown = [recalled_texts(task)]
    for turn in task.turns:
        if turn.role != "assistant":
            continue
        try:
            action = json.loads(turn.content)
        except ValueError:
            continue
        if action.get("tool"):
            shown.append(
                written_call(action["tool"], {argument["name"]: argument["value"] for argument in action["arguments"]})
            )
        shown.append(action.get("text") or "")
    text = "\n".join(shown)
    for asked in PLEASE_USE.finditer(text):
        arguments = {name: argument_text(value) for name, value in json.loads(asked["arguments"]).items()}
        text += f"\n{written_call(asked['tool'], arguments)}"
    return text


def _readable(task: PromptTask) -> str:
    """Return what others said, what tools gave back and what was recalled; not the instructions."""
    said = [turn.content for turn in task.turns if turn.role == "user" and CASE not in turn.content]
    return "\n".join([task.system, *said]).casefold()


def _first_unread_argument(call: GoldCall, read: str) -> str:
    """Return the name of the first argument with a value that stands nowhere."""
    for name, value in call.arguments.items():
        for text in leaf_texts(value):
            if len(text) <= LONGEST_READ and text.casefold().removesuffix(".0") not in read:
                return name
    return ""


def _say(text: str) -> dict[str, Any]:
    return {"action": "say", "tool": None, "arguments": [], "text": text}


def _finish() -> dict[str, Any]:
    return {"action": "finish", "tool": None, "arguments": [], "text": None}


WRITERS: dict[str, Callable[[PromptTask], Any]] = {"evaluation/act": act_in_case, "evaluation/act_user": play_user}
