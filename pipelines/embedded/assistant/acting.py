"""Acts in any world that the embedded model knows: tau2's cases by their number, issues of code, else our companies."""

from typing import Any

from pipelines.embedded.assistant.tau2 import act_in_case, case_in
from pipelines.embedded.code_repair.acting import act_on_issue
from pipelines.embedded.task import PromptTask
from pipelines.embedded.tool_dialogue.acting import act as act_for_company


def act_in_any_world(task: PromptTask) -> dict[str, Any]:
    """Return the next action of the dialogue that the messages show."""
    case = case_in(task)
    if case is not None:
        return act_in_case(task, case)
    return act_on_issue(task) or act_for_company(task)
