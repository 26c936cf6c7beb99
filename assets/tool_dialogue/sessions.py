"""Stage `td_sessions`: earlier sessions with customers, told by a writer; a reader finds again what each settled."""

from assets.engine.stage import PromptCalls
from assets.llm.ports import LanguageModel
from assets.memory_items.benchmark import told_stage
from assets.memory_items.recovery import RECOVER
from assets.memory_items.world.writing import ToldDocuments
from assets.recipe.tool_dialogue import ToolDialogueRecipe
from assets.tool_dialogue.desk import SESSION_KINDS, ServiceDesk
from assets.tool_dialogue.domain import domain_in
from assets.tool_dialogue.records import ToolWorld
from assets.tool_dialogue.tellings import tell_documents
from assets.tool_dialogue.worlds import TD_WORLDS

MATTERS = 8  # of a company, about
SESSIONS = 26  # of a task's own, about


async def tell_sessions(world: ToolWorld, *, recipe: ToolDialogueRecipe, model: LanguageModel) -> ToldDocuments:
    """Return the customer's sessions. Templates tell them: they name one customer, so that no other task could share them."""
    desk = ServiceDesk(domain_in(world.company), world.errand.customer)
    return await tell_documents(desk, world, recipe=recipe, model=model)


def _share_of_sets(recipe: ToolDialogueRecipe) -> float:
    """Return a task's share of the sets of tellings, each of which is asked for once in a company."""
    return min(recipe.num_styles * len(recipe.domains), recipe.num_tasks) / recipe.num_tasks


def _tellings_asked(recipe: ToolDialogueRecipe) -> float:
    return _share_of_sets(recipe) * len(SESSION_KINDS)


def _phrases_asked(recipe: ToolDialogueRecipe) -> float:
    return _share_of_sets(recipe) * MATTERS


def _told_tokens(recipe: ToolDialogueRecipe) -> float:
    return 230.0 * recipe.num_tellings


def _phrased_tokens(recipe: ToolDialogueRecipe) -> float:
    return 9.0 * recipe.num_tellings


TD_SESSIONS = told_stage(
    "td_sessions",
    tell_sessions,
    needs=(TD_WORLDS,),
    prompts=(ServiceDesk.tell_prompt, ServiceDesk.phrase_prompt),
    calls={
        ServiceDesk.tell_prompt: PromptCalls(_tellings_asked, reading=950, writing=_told_tokens),
        ServiceDesk.phrase_prompt: PromptCalls(_phrases_asked, reading=440, writing=_phrased_tokens),
        RECOVER: PromptCalls(SESSIONS, reading=600, writing=30),
    },
    description="Earlier sessions: phone calls, chats, letters, visits to the desk, with the lookups that a clerk made, "
    "which were really carried out. A reader finds all that each session settles again in its final text.",
)
