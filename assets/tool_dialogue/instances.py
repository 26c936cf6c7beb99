"""Stages `td_certificates`, in which a program acts on the final bytes, and `td_instances`: the accepted tasks.

Nothing is certified by what was planned: each condition is a dialogue that is really acted, twice, and graded by its end.
"""

from collections.abc import Sequence

from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.acting import certify_by_acting
from assets.memory_items.facts import Fact
from assets.memory_items.final_ablation import accepted_rows, certificate_rows, certified_task
from assets.memory_items.tasks import TaskAblation, TaskLengths
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.reporting.asset_description import AssetDescription
from assets.tool_dialogue.dialogue import ToolDialogue, act_by_program
from assets.tool_dialogue.domains import domain_in
from assets.tool_dialogue.lengths import TD_LENGTHS
from assets.tool_dialogue.records import ToolRequest, ToolSessions, ToolTask
from assets.tool_dialogue.requests import TD_REQUESTS, arguments_of
from assets.tool_dialogue.sessions import TD_SESSIONS

PROGRAM = "the program that plans errands"


async def certify_dialogues(
    sessions: ToolSessions, request: ToolRequest, lengths: TaskLengths, *, recipe: ToolDialogueRecipe, model: LanguageModel
) -> TaskAblation:
    """Act on every length as it will be released. Raises ItemFailed where a condition does not come out as it must."""

    async def passes(facts: Sequence[Fact] | None) -> bool:
        dialogue = ToolDialogue(request)
        if facts is not None:
            act_by_program(dialogue, arguments_of(request.errand, facts, domain_in(request.company)))
        return not dialogue.failed_by

    return await certify_by_acting(request, lengths, passes=passes, facts=sessions.facts, program=PROGRAM, recipe=recipe)


async def accept_dialogue(
    request: ToolRequest, lengths: TaskLengths, ablation: TaskAblation, *, recipe: ToolDialogueRecipe, model: LanguageModel
) -> ToolTask:
    """Return the task, if each length is still the one that was certified. Raises ItemFailed."""
    return certified_task(
        ToolTask,
        asked=request,
        lengths=lengths,
        ablation=ablation,
        eviction=recipe.eviction,
        errand=request.errand,
        company=request.company,
        rows=request.rows,
        calls=request.calls,
        said=request.said,
    )


TD_CERTIFICATES = Stage(
    name="td_certificates",
    record=TaskAblation,
    make=certify_dialogues,
    needs=(TD_SESSIONS, TD_REQUESTS, TD_LENGTHS),
    description=AssetDescription(
        group="items",
        description="A program acts on the final bytes, twice. With all facts it passes. With none, with one left out, with "
        "filler, the last turns or superseded values it fails, as does doing nothing. What passes gets a certificate.",
        rows=certificate_rows,
        paper="MemGym",
    ),
)
TD_INSTANCES = Stage(
    name="td_instances",
    record=ToolTask,
    make=accept_dialogue,
    needs=(TD_REQUESTS, TD_LENGTHS, TD_CERTIFICATES),
    description=AssetDescription(
        group="items",
        description="The accepted tasks: request, the company's rows, the right calls, and the sessions at each length with "
        "their certificate. They are the rows of a release.",
        rows=accepted_rows,
        paper="MemGym",
    ),
)
