"""The benchmark MEMGYM-CODEQA: its stages, each of which is entered here, and the tables of its releases."""

from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.decisions import CODE_DECISIONS
from assets.code_qa.documents import CODE_DOCUMENTS
from assets.code_qa.instances import CODE_ABLATION, CODE_INSTANCES
from assets.code_qa.lengths import CODE_LENGTHS
from assets.code_qa.questions import CODE_QUESTIONS
from assets.code_qa.sources import CODE_SOURCES, ready_to_execute
from assets.code_qa.tables import TABLES, code_task_rows
from assets.engine.benchmark import Benchmark
from assets.memory_items.report import MemoryItemsReport
from assets.recipe.code_qa import CodeQaRecipe

CODE_QA = Benchmark(
    name="code_qa",
    noun="question",
    recipe=CodeQaRecipe,
    resolve=ready_to_execute,
    stages=(
        CODE_SOURCES,
        CODE_BEHAVIOURS,
        CODE_DECISIONS,
        CODE_DOCUMENTS,
        CODE_QUESTIONS,
        CODE_LENGTHS,
        CODE_ABLATION,
        CODE_INSTANCES,
    ),
    tables=TABLES,
    rows=code_task_rows,
    report=MemoryItemsReport,
    prefix="code_",
)
