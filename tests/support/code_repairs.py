"""A small code repair with everything that its stages make of it, told and repaired by the embedded model in process."""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from assets.code_qa.records.questions import CodeDocuments
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import draw_sources, with_package_digests
from assets.code_repair.instances import accept_repair, certify_repairs
from assets.code_repair.mutants import seed_fault
from assets.code_repair.records import RepairIssue, RepairTask, SeededFault
from assets.code_repair.sessions import tell_team_sessions
from assets.code_repair.tasks import arrange_team_sessions, file_issue
from assets.llm.ports import LanguageModel
from assets.memory_items.tasks import TaskAblation, TaskLengths
from assets.recipe.code_repair import CodeRepairRecipe
from assets.recipe.loading import units
from assets.records.base import ItemRecord
from tests.support.coroutines import run
from tests.support.research_tasks import EmbeddedModel
from validation.rules import RecordsByStage


def repair_recipe(**fields: Any) -> CodeRepairRecipe:
    """One repair of a package with many functions, at one length, unless the fields say otherwise."""
    given: dict[str, Any] = {"num_tasks": 1, "num_reserve": 0, "lengths": (6000,), "num_tellings": 2}
    given["packages"] = [{"name": "humanfriendly", "version": version("humanfriendly"), "modules": ["humanfriendly.text"]}]
    given["behaviours"] = {"min_behaviours": 8}
    return with_package_digests(CodeRepairRecipe.model_validate({"variant": "small repairs", **given, **fields}))


@dataclass(frozen=True)
class MadeRepair:
    """A task's record of every stage."""

    sources: CodeSources
    seeded: SeededFault
    sessions: CodeDocuments
    issue: RepairIssue
    lengths: TaskLengths
    certificates: TaskAblation
    instance: RepairTask

    @property
    def records(self) -> RecordsByStage:
        """By stage and item, as rules read them."""
        records: dict[str, ItemRecord] = {
            "cr_sources": self.sources,
            "cr_mutants": self.seeded,
            "cr_sessions": self.sessions,
            "cr_tasks": self.issue,
            "cr_lengths": self.lengths,
            "cr_certificates": self.certificates,
            "cr_instances": self.instance,
        }
        return {stage: {self.sources.task_id: record} for stage, record in records.items()}


async def make_repair(sources: CodeSources, *, recipe: CodeRepairRecipe, model: LanguageModel) -> MadeRepair:
    """Take a task through all stages."""
    seeded = await seed_fault(sources, recipe=recipe, model=model)
    sessions = await tell_team_sessions(sources, seeded, recipe=recipe, model=model)
    issue = await file_issue(seeded, sessions, recipe=recipe, model=model)
    lengths = await arrange_team_sessions(seeded, sessions, issue, recipe=recipe, model=model)
    certificates = await certify_repairs(sessions, issue, lengths, recipe=recipe, model=model)
    instance = await accept_repair(sessions, issue, lengths, certificates, recipe=recipe, model=model)
    return MadeRepair(sources, seeded, sessions, issue, lengths, certificates, instance)


@cache
def made_repair() -> MadeRepair:
    """The one task of the small recipe; made once."""
    recipe = repair_recipe()
    ((_, sources),) = draw_sources(recipe, units(recipe)[0])
    return run(make_repair(sources, recipe=recipe, model=EmbeddedModel()))
