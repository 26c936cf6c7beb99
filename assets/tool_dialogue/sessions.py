"""Stage `td_sessions`: earlier sessions with customers, told by a writer; a reader finds again what each settled."""

from assets.engine.stage import PromptCalls
from assets.llm.ports import LanguageModel
from assets.memory_items.benchmark import told_stage
from assets.memory_items.recovery import RECOVER
from assets.memory_items.world.filler import documents_of_cluster, write_documents, written_per_task
from assets.memory_items.world.writing import DocumentWriter, ToldDocuments
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.tool_dialogue.desk import ServiceDesk
from assets.tool_dialogue.domain import domain_in
from assets.tool_dialogue.records import ToolWorld
from assets.tool_dialogue.worlds import TD_WORLDS, shared_clusters

OF_CHAIN = 2  # times as many sessions has a cluster as one of a chain has documents


async def write_sessions(world: ToolWorld, *, recipe: ToolDialogueRecipe, model: LanguageModel) -> ToldDocuments:
    """Return the customer's sessions. Raises ItemFailed where the writer tells one of them otherwise than planned."""
    domain = domain_in(world.company)
    writer = DocumentWriter(ServiceDesk(domain, world.errand.customer), recipe, model)
    return await write_documents(writer, shared_clusters(domain, recipe), world, worlds=len(recipe.domains))


def _sessions_per_task(recipe: ToolDialogueRecipe) -> float:
    return OF_CHAIN * written_per_task(recipe, spare=ServiceDesk.spare_clusters, worlds=len(recipe.domains))


TD_SESSIONS = told_stage(
    "td_sessions",
    write_sessions,
    needs=(TD_WORLDS,),
    prompts=(ServiceDesk.write_prompt,),
    calls={
        ServiceDesk.write_prompt: PromptCalls(_sessions_per_task, reading=1500, writing=330),
        RECOVER: PromptCalls(lambda recipe: OF_CHAIN * documents_of_cluster(recipe), reading=600, writing=30),
    },
    description="Earlier sessions: phone calls, chats, letters, visits to the desk, each written around what it settles, with "
    "the calls that a clerk made. A reader finds all that each session settles again in its final text.",
    version=5,
)
