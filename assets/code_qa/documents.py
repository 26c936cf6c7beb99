"""Stage `code_documents`: the notes that tell decisions and behaviours among others; a reader finds each of them again."""

from typing import Any

from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.decisions import CODE_DECISIONS
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeDecisions
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import CODE_SOURCES
from assets.code_qa.team.world import TeamWorld
from assets.engine.stage import Stage
from assets.memory_items.benchmark import told_stage
from assets.memory_items.tasks import TaskDocuments
from assets.recipe.code_qa import PackageRecipe


def team_stage(name: str, world: type[TeamWorld], *, needs: tuple[Stage[Any], ...], description: str) -> Stage[TaskDocuments]:
    """Return the stage in which what a team of this kind wrote is told. `needs`: its package, the calls, and its decisions."""

    def team_of(sources: CodeSources, behaviours: CodeBehaviours, _: CodeDecisions, recipe: PackageRecipe) -> TeamWorld:
        return world.of(sources, behaviours, recipe)

    prompts = (*world.tell_prompts, world.phrase_prompt)
    return told_stage(name, team_of, needs=needs, prompts=prompts, group="questions", description=description)


CODE_DOCUMENTS = team_stage(
    "code_documents",
    TeamWorld,
    needs=(CODE_SOURCES, CODE_BEHAVIOURS, CODE_DECISIONS),
    description="The team's notes: bug reports, reviews, tickets, incident notes, commit messages and design notes, signed "
    "and dated. Each shows a call as it was run; a reader finds all that it states again in the final text.",
)
