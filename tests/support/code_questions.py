"""A small question about an installed package with everything that its stages make of it; its calls are really run."""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from assets.code_qa.behaviours import execute_behaviours
from assets.code_qa.decisions import CODE_DECISIONS
from assets.code_qa.pipeline import CODE_QA
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeDecisions, CodeQuestion, CodeTask
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import draw_sources, with_package_digests
from assets.code_qa.team.relations import OUTCOME
from assets.memory_items.tasks import TaskAblation, TaskDocuments, TaskLengths
from assets.recipe.code_qa import CodeQaRecipe
from assets.recipe.recipe import units
from assets.records.base import ItemRecord
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.made_stages import make_records
from validation.rules import RecordsByStage


@cache
def code_recipe(num_tasks: int = 12) -> CodeQaRecipe:
    """Two or three facts on one package at one length."""
    fields: dict[str, Any] = {
        "variant": "small code",
        "num_tasks": num_tasks,
        "num_reserve": 0,
        "min_hops": 2,
        "max_hops": 3,
        "lengths": (8000,),
        "packages": [{"name": "humanfriendly", "version": version("humanfriendly"), "modules": ["humanfriendly.text"]}],
        "behaviours": {"min_behaviours": 8},
    }
    return with_package_digests(CodeQaRecipe.model_validate(fields))


@dataclass(frozen=True)
class MadeQuestion:
    """A question's record of every stage."""

    sources: CodeSources
    behaviours: CodeBehaviours
    decisions: CodeDecisions
    documents: TaskDocuments
    question: CodeQuestion
    lengths: TaskLengths
    ablation: TaskAblation
    instance: CodeTask

    @property
    def records(self) -> RecordsByStage:
        """By stage and item, as rules read them."""
        records: dict[str, ItemRecord] = {
            "code_sources": self.sources,
            "code_behaviours": self.behaviours,
            "code_decisions": self.decisions,
            "code_documents": self.documents,
            "code_questions": self.question,
            "code_lengths": self.lengths,
            "code_ablation": self.ablation,
            "code_instances": self.instance,
        }
        return {stage: {self.sources.task_id: record} for stage, record in records.items()}


async def make(sources: CodeSources) -> MadeQuestion:
    """Take a question through all stages."""
    records = await make_records(CODE_QA, sources, recipe=code_recipe(), model=EmbeddedModel())
    return MadeQuestion(*records.values())


@cache
def made_question() -> MadeQuestion:
    """The first question of the small recipe whose answer is what a call comes to; made once."""
    recipe, model = code_recipe(), EmbeddedModel()
    for _, sources in draw_sources(recipe, units(recipe)[0]):
        behaviours = run(execute_behaviours(sources, recipe=recipe, model=model))
        decisions = run(CODE_DECISIONS.make(sources, behaviours, recipe=recipe, model=model))
        superseded = any(plan.role == "superseded" for plan in decisions.plans)
        if decisions.chain[-1].relation == OUTCOME and superseded:
            return run(make(sources))
    raise AssertionError("No question of the small recipe asks what a call comes to.")
