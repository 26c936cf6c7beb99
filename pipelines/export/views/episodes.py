"""Acted tasks as sessions."""

from collections.abc import Iterator

from assets.tool_dialogue.dialogue import ToolDialogue
from assets.tool_dialogue.records import ToolTask
from pipelines.evaluation.acted.tool_dialogues import ToolTasks
from pipelines.export.session_traces import Trace, TraceMessage, call_messages


def trace_episodes(tasks: ToolTasks) -> Iterator[Trace]:
    """Yield each acted task at each length: its sessions, the request, and the calls that are right, really carried out."""
    for item in tasks.documents:
        task = item.task
        assert isinstance(task, ToolTask)
        world = ToolDialogue(task)
        messages = [TraceMessage("system", world.rules)]
        messages += [TraceMessage("user", event.text) for event in item.events]
        messages.append(TraceMessage("user", world.opening))
        for number, call in enumerate(task.calls, start=1):
            result = world.call(call.tool, call.arguments)
            messages += call_messages(number, call.tool, call.arguments, result=result)
        farewell = f"That is done; the reference is {task.said}."
        messages += [TraceMessage("assistant", farewell), TraceMessage("user", world.say(farewell))]
        yield Trace(item.item_id, task.question, messages, outcome=float(not world.failed_by))
