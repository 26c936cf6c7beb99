"""The benchmark MEMGYM-CODEQA: a package and its team, the question about them, and what a release holds of it."""

from collections.abc import Mapping
from dataclasses import replace

from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.questions import CODE_QUESTIONS, READING
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeTask
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import CODE_SOURCES, ready_to_execute
from assets.code_qa.tables import TABLES
from assets.code_qa.team.calls import keep_tellable, patches_of
from assets.memory_items.ablation import READ
from assets.memory_items.benchmark import BY_READING, AcceptedTask, document_benchmark
from assets.memory_items.tasks import TaskLengths
from assets.recipe.code_qa import CodeQaRecipe


def what_can_be_run_again(lengths: TaskLengths, sources: CodeSources, behaviours: CodeBehaviours) -> Mapping[str, object]:
    """Return the package, and the behaviours whose calls stand in the longest text, or those of patches that do."""
    told = "\n".join(document.text for document in lengths.lengths[-1].documents)
    calls: set[str] = set()
    for patch in patches_of(keep_tellable(behaviours.behaviours)).values():
        if patch.name in told:
            calls.add(patch.behaviour.call)
    kept = tuple(behaviour for behaviour in behaviours.behaviours if behaviour.call in told or behaviour.call in calls)
    return {"package": sources.package, "files": sources.files, "behaviours": kept}


CODE_QA = document_benchmark(
    "code_",
    recipe=CodeQaRecipe,
    ask=CODE_QUESTIONS,
    certify=replace(BY_READING, calls={READ: READING.last_ablation()}),
    accept=AcceptedTask(
        record=CodeTask,
        noun="question",
        own_fields=what_can_be_run_again,
        needs=(CODE_SOURCES, CODE_BEHAVIOURS),
        tables=TABLES,
    ),
    resolve=ready_to_execute,
)
