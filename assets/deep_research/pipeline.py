"""The benchmark MEMGYM-DR: a world or real documents, a question, and readers of the final bytes."""

from dataclasses import replace

from assets.deep_research.corpus.sampling import with_corpus_digest
from assets.deep_research.lengths import DR_LENGTHS
from assets.deep_research.questions import DR_QUESTIONS, READING
from assets.memory_items.ablation import READ
from assets.memory_items.benchmark import BY_READING, document_benchmark
from assets.recipe.deep_research import DeepResearchRecipe

DEEP_RESEARCH = document_benchmark(
    "dr_",
    recipe=DeepResearchRecipe,
    ask=DR_QUESTIONS,
    certify=replace(BY_READING, calls={READ: READING.last_ablation()}),
    lengths=DR_LENGTHS,
    resolve=with_corpus_digest,
)
