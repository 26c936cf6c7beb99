"""The benchmark MEMGYM-DR: a world or real documents, a question, and readers of the final bytes."""

from dataclasses import replace

from assets.deep_research.corpus.sampling import with_corpus_digest
from assets.deep_research.lengths import DR_LENGTHS
from assets.deep_research.questions import DR_QUESTIONS
from assets.deep_research.reading_sizes import ANSWER, reading_tokens
from assets.engine.stage import PromptCalls
from assets.memory_items.ablation import READ
from assets.memory_items.benchmark import BY_READING, document_benchmark
from assets.recipe.deep_research import DeepResearchRecipe


def _readings(recipe: DeepResearchRecipe) -> float:
    """Return how often a task is read, for the forecast."""
    return float(recipe.ablation.votes * len(reading_tokens(recipe)))


def _mean_tokens(recipe: DeepResearchRecipe) -> float:
    """Return the mean length of these readings."""
    tokens = reading_tokens(recipe)
    return sum(tokens) / len(tokens)


DEEP_RESEARCH = document_benchmark(
    "dr_",
    recipe=DeepResearchRecipe,
    ask=DR_QUESTIONS,
    certify=replace(BY_READING, calls={READ: PromptCalls(_readings, reading=_mean_tokens, writing=ANSWER)}),
    lengths=DR_LENGTHS,
    resolve=with_corpus_digest,
)
