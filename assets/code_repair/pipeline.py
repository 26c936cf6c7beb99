"""The benchmark of code repairs: its stages, each of which is entered here, and the tables of its releases."""

from assets.code_qa.sources import ready_to_execute
from assets.code_repair.instances import CR_CERTIFICATES, CR_INSTANCES
from assets.code_repair.mutants import CR_MUTANTS
from assets.code_repair.sessions import CR_SESSIONS
from assets.code_repair.sources import CR_SOURCES
from assets.code_repair.tables import TABLES, repair_task_rows
from assets.code_repair.tasks import CR_LENGTHS, CR_TASKS
from assets.engine.benchmark import Benchmark
from assets.memory_items.report import MemoryItemsReport
from assets.recipe.code_repair import CodeRepairRecipe

CODE_REPAIR = Benchmark(
    name="code_repair",
    noun="task",
    recipe=CodeRepairRecipe,
    resolve=ready_to_execute,
    stages=(CR_SOURCES, CR_MUTANTS, CR_SESSIONS, CR_TASKS, CR_LENGTHS, CR_CERTIFICATES, CR_INSTANCES),
    tables=TABLES,
    rows=repair_task_rows,
    report=MemoryItemsReport,
    prefix="cr_",
)
