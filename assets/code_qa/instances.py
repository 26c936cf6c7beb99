"""Stage `code_instances`: the accepted questions, which are what is released."""

from assets.code_qa.ablation import CODE_ABLATION
from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.lengths import CODE_LENGTHS
from assets.code_qa.questions import CODE_QUESTIONS
from assets.code_qa.recipe import CodeQaRecipe
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeQuestion, CodeTask
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import CODE_SOURCES
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.final_ablation import accepted_rows, expect_certified
from assets.memory_items.tasks import TaskAblation, TaskLengths
from assets.reporting.asset_description import AssetDescription


async def accept(
    sources: CodeSources,
    behaviours: CodeBehaviours,
    question: CodeQuestion,
    lengths: TaskLengths,
    ablation: TaskAblation,
    *,
    recipe: CodeQaRecipe,
    model: LanguageModel,
) -> CodeTask:
    """The question, if each length is still what its certificate stands for; else ItemFailed."""
    told = "\n".join(document.text for document in lengths.lengths[-1].documents)
    task = CodeTask(
        task_id=question.task_id,
        question=question.question,
        answer=question.answer,
        hops=question.hops,
        eviction=recipe.eviction,
        lengths=lengths.lengths,
        certificates=ablation.certificates,
        package=sources.package,
        files=sources.files,
        behaviours=tuple(one for one in behaviours.behaviours if one.call in told),
        code=question.code,
    )
    expect_certified(task)
    return task


CODE_INSTANCES = Stage(
    name="code_instances",
    record=CodeTask,
    make=accept,
    needs=(CODE_SOURCES, CODE_BEHAVIOURS, CODE_QUESTIONS, CODE_LENGTHS, CODE_ABLATION),
    description=AssetDescription(
        group="items",
        description="The accepted questions: typed answer, facts, the notes at each length with its certificate, and the "
        "package's files and calls, so that every result can be run again. They are the rows of a release.",
        rows=accepted_rows,
        paper="MemGym",
    ),
)
