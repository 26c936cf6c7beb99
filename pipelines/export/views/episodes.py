"""Acted tasks as episodes to act in, and as sessions."""

import json
import re
from collections.abc import Iterator

from assets.tool_dialogue.dialogue import ToolDialogue, report_done
from assets.tool_dialogue.records import ToolTask
from pipelines.evaluation.acted.agent import ACT
from pipelines.evaluation.acted.tool_dialogues import ToolTasks
from pipelines.evaluation.reasoning import joined_text
from pipelines.export.documents import Export
from pipelines.export.environment_files.acted_episodes import ExportedDialogue
from pipelines.export.session_traces import Trace, TraceMessage, call_messages
from pipelines.export.views.documents import add_documents
from prompts.catalogue import load_prompt

# As sessions show a call, and what it gave back on the next line.
CALL = re.compile(r"^>>> (\w+)\((.+)\)\n([\[{].*)$", re.MULTILINE)
ARGUMENT = re.compile(r'(?:, |^)([^=]+)=("(?:[^"\\]|\\.)*")')
LOST_OF_EPISODES = (
    "Lost are the memory as a tool that the agent asks, and the certificates. Scores are not those of `amemgym evaluate`."
)


def export_episodes(tasks: ToolTasks) -> Export:
    """Return each acted task at each length: its sessions as a memory receives them, and its request."""
    export = Export(LOST_OF_EPISODES)
    for item in tasks.documents:
        task = item.task
        assert isinstance(task, ToolTask)
        add_documents(export, item)
        world = ToolDialogue(task)
        dialogue = ExportedDialogue(
            id=f"{item.item_id}/request",
            user_id=item.item_id,
            instructions=joined_text(load_prompt(ACT).render(rules=world.rules, tools=world.tools).messages),
            question=task.question,
            company=task.company,
            rows=task.rows,
            calls=task.calls,
            said=task.said,
        )
        export.dialogues.append(dialogue)
    return export


def trace_episodes(tasks: ToolTasks) -> Iterator[Trace]:
    """Yield each acted task at each length: its sessions, the request, and the calls that are right, really carried out."""
    for item in tasks.documents:
        task = item.task
        assert isinstance(task, ToolTask)
        world = ToolDialogue(task)
        messages = [TraceMessage("system", world.rules)]
        for event in item.events:
            messages += session_messages(event.text, first=len(messages))
        messages.append(TraceMessage("user", world.opening))
        for call in task.calls:
            result = world.call(call.tool, call.arguments)
            messages += call_messages(len(messages), call.tool, call.arguments, result=result)
        farewell = report_done(task.said)
        messages += [TraceMessage("assistant", farewell), TraceMessage("user", world.say(farewell))]
        yield Trace(item.item_id, task.question, messages, outcome=float(not world.failed_by))


def session_messages(text: str, *, first: int) -> Iterator[TraceMessage]:
    """Yield the words of a session, and each of its calls with what it gave back. `first`: numbers of calls begin there."""
    start = 0
    for place, found in enumerate(CALL.finditer(text), start=first):
        yield from _words(text[start : found.start()])
        arguments = {name: json.loads(value) for name, value in ARGUMENT.findall(found[2])}
        yield from call_messages(place, found[1], arguments, result=found[3])
        start = found.end()
    yield from _words(text[start:])


def _words(text: str) -> Iterator[TraceMessage]:
    if text.strip():
        yield TraceMessage("user", text.strip())
