"""Acts in any world that the embedded model knows: tau2's cases by their number, issues of code, else our companies."""

from typing import Any

from assets.code_qa.team.relations import RULING
from assets.code_repair.copy import next_step
from assets.code_repair.issue import read_issue
from pipelines.agents.episode import RECALL
from pipelines.embedded.assistant.tau2 import act_in_case, case_in
from pipelines.embedded.memory_items.reading import settled_facts
from pipelines.embedded.task import PromptTask
from pipelines.embedded.tool_dialogue.acting import act as act_for_company
from pipelines.embedded.tool_dialogue.acting import recall_once, recalled_texts
from pipelines.embedded.tool_dialogue.calls import calls_made


def act_in_any_world(task: PromptTask) -> dict[str, Any]:
    """Return the next action of the dialogue that the messages show."""
    case = case_in(task)
    if case is not None:
        return act_in_case(task, case)
    return _act_on_issue(task) or act_for_company(task)


def _act_on_issue(task: PromptTask) -> dict[str, Any] | None:
    """Return the next action of a repair; None where no message is an issue.

    It tries both patches, and keeps the one with which the rule that it read holds, or guesses.
    """
    issue = next(filter(None, map(read_issue, task.user_texts)), None)
    if issue is None:
        return None
    rule = settled_facts(recalled_texts(task), issue.ticket, (RULING.name,)).get(RULING.name, "")
    if not rule:
        recalling = recall_once(f"{issue.ticket}: what it settles", task)
        if recalling is not None:
            return recalling
    done = [(call, reply) for call, reply in calls_made(task.turns) if call.tool != RECALL]
    call = next_step(issue, rule, done)
    if call is None:
        return {"action": "finish", "tool": None, "arguments": [], "text": None}
    arguments = [{"name": name, "value": value} for name, value in call.arguments.items()]
    return {"action": "call", "tool": call.tool, "arguments": arguments, "text": None}
