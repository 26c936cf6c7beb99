"""Stages `code_ablation`, in which readers read the final bytes, and `code_instances`: the accepted questions."""

from assets.code_qa.behaviours import CODE_BEHAVIOURS
from assets.code_qa.lengths import CODE_LENGTHS
from assets.code_qa.questions import CODE_QUESTIONS
from assets.code_qa.records.behaviours import Behaviour, CodeBehaviours
from assets.code_qa.records.questions import CodeQuestion, CodeTask
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.sources import CODE_SOURCES
from assets.code_qa.team.world import patches_of, tellable
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.ablation import READ
from assets.memory_items.final_ablation import accepted_rows, certificate_rows, certified_task, certify_lengths
from assets.memory_items.tasks import TaskAblation, TaskLengths
from assets.recipe.code_qa import CodeQaRecipe
from assets.reporting.asset_description import AssetDescription


async def accept_code_task(
    sources: CodeSources,
    behaviours: CodeBehaviours,
    question: CodeQuestion,
    lengths: TaskLengths,
    ablation: TaskAblation,
    *,
    recipe: CodeQaRecipe,
    model: LanguageModel,
) -> CodeTask:
    """Return the question, if each length is still the one that was certified. Raises ItemFailed."""
    told = "\n".join(document.text for document in lengths.lengths[-1].documents)
    return certified_task(
        CodeTask,
        asked=question,
        lengths=lengths,
        ablation=ablation,
        eviction=recipe.eviction,
        package=sources.package,
        files=sources.files,
        behaviours=_told_behaviours(behaviours, told),
        code=question.code,
    )


def _told_behaviours(behaviours: CodeBehaviours, told: str) -> tuple[Behaviour, ...]:
    """Return the behaviours whose calls stand in the text, and those of the patches that do."""
    calls: set[str] = set()
    for patch in patches_of(tellable(behaviours.behaviours)).values():
        if patch.name in told:
            calls.add(patch.behaviour.call)
    return tuple(one for one in behaviours.behaviours if one.call in told or one.call in calls)


CODE_ABLATION = Stage(
    name="code_ablation",
    record=TaskAblation,
    make=certify_lengths,
    version=2,
    needs=(CODE_QUESTIONS, CODE_LENGTHS),
    prompts=(READ,),
    description=AssetDescription(
        group="items",
        description="Readers answer from the final bytes: from nothing, from the facts, without each one of them, from the "
        "code shown with the question, from filler, from the last turns, from everything. An error never certifies.",
        rows=certificate_rows,
        paper="MemGym",
    ),
)
CODE_INSTANCES = Stage(
    name="code_instances",
    record=CodeTask,
    make=accept_code_task,
    version=2,
    needs=(CODE_SOURCES, CODE_BEHAVIOURS, CODE_QUESTIONS, CODE_LENGTHS, CODE_ABLATION),
    description=AssetDescription(
        group="items",
        description="The accepted questions: typed answer, facts, the notes at each length with its certificate, and the "
        "package's files and calls, so that every result can be run again. They are the rows of a release.",
        rows=accepted_rows,
        paper="MemGym",
    ),
)
