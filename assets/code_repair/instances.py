"""Stages `cr_certificates`, in which a program repairs on the final bytes, and `cr_instances`: the accepted repairs."""

import asyncio
from collections.abc import Sequence

from assets.code_qa.execution.sandbox import PROCESSES
from assets.code_qa.records.questions import CodeDocuments
from assets.code_repair.copy import PackageCopy, repair_by_program
from assets.code_repair.questions import session_questions
from assets.code_repair.records import RepairIssue, RepairTask
from assets.code_repair.sessions import CR_SESSIONS
from assets.code_repair.tasks import CR_LENGTHS, CR_TASKS
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.acting import TIMES, certify_by_acting
from assets.memory_items.facts import Fact
from assets.memory_items.final_ablation import accepted_rows, certificate_rows, certified_task
from assets.memory_items.tasks import TaskAblation, TaskLengths
from assets.recipe.code_repair import CodeRepairRecipe
from assets.reporting.asset_description import AssetDescription

PROGRAM = "the program that tries both patches"


async def certify_repairs(
    sessions: CodeDocuments, issue: RepairIssue, lengths: TaskLengths, *, recipe: CodeRepairRecipe, model: LanguageModel
) -> TaskAblation:
    """Repair on every length as it will be released. Raises ItemFailed where a condition does not come out as it must."""
    ends: dict[str | None, list[bool]] = {}

    async def ended(rule: str | None) -> bool:
        # What was acted with a rule at the first length is not acted again: the copy is the same at each.
        known = ends.setdefault(rule, [])
        if len(known) < TIMES:
            known.append(await _graded(issue, rule))
            return known[-1]
        return all(known)

    async def passes(facts: Sequence[Fact] | None) -> bool:
        # Without a rule the program leaves the copy as it is: nothing that it was given says which patch is right.
        return await ended(facts[0].value if facts else None)

    async def guess() -> bool:
        return await ended("")

    return await certify_by_acting(
        issue, lengths, passes=passes, facts=sessions.facts, program=PROGRAM, recipe=recipe, guess=guess
    )


async def _graded(issue: RepairIssue, rule: str | None) -> bool:
    """Act in a new copy, and return True where all hidden calls pass. None: nothing is done; "": a patch is guessed."""

    def graded() -> bool:
        copy = PackageCopy(issue)
        if rule is not None:
            repair_by_program(copy, rule)
        return not copy.failed_by

    return await asyncio.wrap_future(PROCESSES.submit(graded))


async def accept_repair(
    sessions: CodeDocuments,
    issue: RepairIssue,
    lengths: TaskLengths,
    ablation: TaskAblation,
    *,
    recipe: CodeRepairRecipe,
    model: LanguageModel,
) -> RepairTask:
    """Return the task, if each length is still the one that was certified. Raises ItemFailed."""
    return certified_task(
        RepairTask,
        asked=issue,
        lengths=lengths,
        ablation=ablation,
        eviction=recipe.eviction,
        repair=issue.repair,
        questions=session_questions(sessions, lengths, recipe=recipe),
    )


CR_CERTIFICATES = Stage(
    name="cr_certificates",
    record=TaskAblation,
    make=certify_repairs,
    needs=(CR_SESSIONS, CR_TASKS, CR_LENGTHS),
    description=AssetDescription(
        group="items",
        description="A program repairs the final bytes, twice. With the settled rule hidden calls pass; without a repair, or "
        "with filler, the last turns or a rule that does not count, they fail. Results of guesses are counted too.",
        rows=certificate_rows,
        paper="MemGym",
    ),
)
CR_INSTANCES = Stage(
    name="cr_instances",
    record=RepairTask,
    make=accept_repair,
    version=2,
    needs=(CR_SESSIONS, CR_TASKS, CR_LENGTHS, CR_CERTIFICATES),
    description=AssetDescription(
        group="items",
        description="The accepted repairs: issue, package with its fault, both patches, hidden calls, sessions at each length "
        "with their certificate, and keyed questions about these sessions. They are the rows of a release.",
        rows=accepted_rows,
        paper="MemGym",
    ),
)
