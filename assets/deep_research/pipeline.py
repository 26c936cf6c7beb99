"""The benchmark MEMGYM-DR: its stages, each of which is entered here, and the tables of its releases."""

from assets.deep_research.corpus.sampling import with_corpus_digest
from assets.deep_research.facts import DR_FACTS
from assets.deep_research.instances import DR_ABLATION, DR_INSTANCES
from assets.deep_research.lengths import DR_LENGTHS
from assets.deep_research.questions import DR_QUESTIONS
from assets.deep_research.sources import DR_SOURCES
from assets.deep_research.turns import DR_TURNS
from assets.deep_research.worlds import DR_WORLDS
from assets.engine.benchmark import Benchmark
from assets.memory_items.report import MemoryItemsReport
from assets.memory_items.tables import TABLES, document_task_rows
from assets.recipe.deep_research import DeepResearchRecipe

DEEP_RESEARCH = Benchmark(
    name="deep_research",
    noun="task",
    recipe=DeepResearchRecipe,
    resolve=with_corpus_digest,
    stages=(DR_WORLDS, DR_SOURCES, DR_FACTS, DR_QUESTIONS, DR_TURNS, DR_LENGTHS, DR_ABLATION, DR_INSTANCES),
    tables=TABLES,
    rows=document_task_rows,
    report=MemoryItemsReport,
    prefix="dr_",
)
