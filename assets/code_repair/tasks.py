"""Stages `cr_tasks`, the issue in words, and `cr_lengths`: the sessions before it, in turns at each length."""

from assets.code_qa.records.questions import CodeDocuments
from assets.code_repair.issue import issue_text
from assets.code_repair.mutants import CR_MUTANTS
from assets.code_repair.records import RepairIssue, SeededFault
from assets.code_repair.sessions import CR_SESSIONS
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.lengths import length_rows
from assets.memory_items.operations import planned_facts
from assets.memory_items.questions import TaskChain, chain_question_rows
from assets.memory_items.tasks import TaskLengths
from assets.memory_items.told_documents import arrange_documents
from assets.recipe.code_repair import CodeRepairRecipe
from assets.records.answers import TypedAnswer
from assets.reporting.asset_description import AssetDescription


async def file_issue(
    seeded: SeededFault, sessions: CodeDocuments, *, recipe: CodeRepairRecipe, model: LanguageModel
) -> RepairIssue:
    """Word the issue, which leaves the rule to the sessions. Raises ItemFailed where these settle none."""
    repair = seeded.repair
    hops = planned_facts("follow", seeded.chain, sessions.facts)
    TaskChain(seeded.task_id, hops, sessions.facts, sessions.documents).expect_one_answer()
    ticket = seeded.chain[0].subject
    return RepairIssue(
        task_id=seeded.task_id,
        hops=tuple(hops),
        starts=(ticket,),
        question=issue_text(repair, ticket, SeededRandom(recipe.world_seed, seeded.task_id, "issue")),
        answer=TypedAnswer(kind="code", value=repair.rule, near_misses=(repair.patches[1 - repair.settled].rule,)),
        gate_records=(),
        repair=repair,
    )


async def arrange_team_sessions(
    seeded: SeededFault, sessions: CodeDocuments, issue: RepairIssue, *, recipe: CodeRepairRecipe, model: LanguageModel
) -> TaskLengths:
    """Arrange the sessions in turns, then add filler up to each length. Raises ItemFailed where a length cannot be met."""
    return arrange_documents(sessions, issue, rival_first=seeded.rival_first, recipe=recipe)


CR_TASKS = Stage(
    name="cr_tasks",
    record=RepairIssue,
    make=file_issue,
    needs=(CR_MUTANTS, CR_SESSIONS),
    description=AssetDescription(
        group="issues",
        description="The issue in words: the failing call, and two patches. One rule, which only the sessions hold, "
        "decides which patch is right.",
        rows=chain_question_rows,
        paper="MemGym",
    ),
)
CR_LENGTHS = Stage(
    name="cr_lengths",
    record=TaskLengths,
    make=arrange_team_sessions,
    needs=(CR_MUTANTS, CR_SESSIONS, CR_TASKS),
    description=AssetDescription(
        group="items",
        description="Each task's sessions in turns, at every length, counted by what a memory receives. Filler is sessions of "
        "the same team about other functions.",
        rows=length_rows,
        paper="MemGym",
    ),
)
