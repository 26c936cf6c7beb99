"""Stage `code_documents`: the notes that tell decisions and behaviours among others; a reader finds each of them again."""

from typing import Any

from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.decisions import CODE_DECISIONS, shared_decisions
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeDecisions
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import CODE_SOURCES
from assets.code_qa.team.world import TeamWorld
from assets.engine.stage import PromptCalls, Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.benchmark import told_stage
from assets.memory_items.recovery import RECOVER
from assets.memory_items.tasks import TaskDocuments
from assets.memory_items.world.filler import documents_of_cluster, write_documents, written_per_task
from assets.memory_items.world.writing import DocumentWriter, ToldDocuments
from assets.recipe.code_qa import PackageRecipe


def team_stage(
    name: str, world: type[TeamWorld], *, version: int, needs: tuple[Stage[Any], ...], description: str
) -> Stage[TaskDocuments]:
    """Return the stage in which what a team of this kind wrote is told. `needs`: its package, the calls, and its decisions."""

    async def write_notes(
        sources: CodeSources,
        behaviours: CodeBehaviours,
        decisions: CodeDecisions,
        *,
        recipe: PackageRecipe,
        model: LanguageModel,
    ) -> ToldDocuments:
        team = world.of(sources, behaviours, recipe)
        writer = DocumentWriter(team, recipe, model)
        shared = shared_decisions(team, sources, recipe=recipe)
        return await write_documents(writer, shared, decisions, worlds=len(recipe.packages))

    def notes_per_task(recipe: PackageRecipe) -> float:
        return written_per_task(recipe, spare=world.spare_clusters, worlds=len(recipe.packages))

    calls = {
        world.write_prompt: PromptCalls(notes_per_task, reading=1500, writing=330),
        RECOVER: PromptCalls(documents_of_cluster, reading=600, writing=30),
    }
    return told_stage(
        name,
        write_notes,
        needs=needs,
        prompts=(world.write_prompt,),
        calls=calls,
        description=description,
        version=version,
    )


CODE_DOCUMENTS = team_stage(
    "code_documents",
    TeamWorld,
    version=9,
    needs=(CODE_SOURCES, CODE_BEHAVIOURS, CODE_DECISIONS),
    description="The team's notes: bug reports, reviews, tickets, incident notes, commit messages and design notes, signed "
    "and dated. Each shows a call as it was run; a reader finds all that it states again in the final text.",
)
