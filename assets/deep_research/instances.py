"""Stages `dr_ablation`, in which readers read the final bytes, and `dr_instances`: the accepted tasks, which are released."""

from assets.deep_research.lengths import DR_LENGTHS
from assets.deep_research.questions import DR_QUESTIONS
from assets.deep_research.reading_sizes import ANSWER, reading_tokens
from assets.engine.stage import PromptCalls, Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import READ
from assets.memory_items.final_ablation import accepted_rows, certificate_rows, certified_task, certify_lengths
from assets.memory_items.tasks import MemoryTask, TaskAblation, TaskLengths, TaskQuestion
from assets.recipe.deep_research import DeepResearchRecipe
from assets.reporting.asset_description import AssetDescription


async def accept_task(
    question: TaskQuestion, lengths: TaskLengths, ablation: TaskAblation, *, recipe: DeepResearchRecipe, model: LanguageModel
) -> MemoryTask:
    """Return the task, if each length is still the one that was certified. Raises ItemFailed."""
    return certified_task(MemoryTask, asked=question, lengths=lengths, ablation=ablation, eviction=recipe.eviction)


def _readings(recipe: DeepResearchRecipe) -> float:
    """Return how often a task is read, for the forecast."""
    return float(recipe.ablation.votes * len(reading_tokens(recipe)))


def _mean_tokens(recipe: DeepResearchRecipe) -> float:
    """Return the mean length of these readings."""
    tokens = reading_tokens(recipe)
    return sum(tokens) / len(tokens)


DR_ABLATION = Stage(
    name="dr_ablation",
    record=TaskAblation,
    make=certify_lengths,
    version=2,
    needs=(DR_QUESTIONS, DR_LENGTHS),
    prompts=(READ,),
    calls={READ: PromptCalls(_readings, reading=_mean_tokens, writing=ANSWER)},
    description=AssetDescription(
        group="items",
        description="Readers answer from the final bytes: from nothing, from the facts, without each one of them, from filler, "
        "from the last turns, from everything. What passes gets a certificate with its digest; an error never does.",
        rows=certificate_rows,
        paper="MemGym",
    ),
)
DR_INSTANCES = Stage(
    name="dr_instances",
    record=MemoryTask,
    make=accept_task,
    version=2,
    needs=(DR_QUESTIONS, DR_LENGTHS, DR_ABLATION),
    description=AssetDescription(
        group="items",
        description="The accepted tasks: question, typed answer, chain, and the documents at each length with its certificate. "
        "They are the rows of a release.",
        rows=accepted_rows,
        paper="MemGym",
    ),
)
