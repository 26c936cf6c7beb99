"""Stage `dr_instances`: the accepted tasks, which are what is released."""

from assets.deep_research.ablation import DR_ABLATION, required_conditions
from assets.deep_research.lengths import DR_LENGTHS
from assets.deep_research.questions import DR_QUESTIONS
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.facts import ResearchQuestion
from assets.deep_research.records.tasks import ResearchTask, TaskAblation, TaskLengths
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.certificates import certificate_problems
from assets.records.base import ItemFailed
from assets.reporting.asset_description import AssetDescription, Row


async def accept(
    question: ResearchQuestion,
    lengths: TaskLengths,
    ablation: TaskAblation,
    *,
    recipe: DeepResearchRecipe,
    model: LanguageModel,
) -> ResearchTask:
    """The task, if each length is still what its certificate stands for; else ItemFailed."""
    task = ResearchTask(
        task_id=question.task_id,
        question=question.question,
        answer=question.answer,
        hops=question.hops,
        eviction=recipe.eviction,
        lengths=lengths.lengths,
        certificates=ablation.certificates,
    )
    for problem in uncertified(task):
        raise ItemFailed("rule_violated", f"The task is not certified: {problem}.")
    return task


def uncertified(task: ResearchTask) -> list[str]:
    """A sentence for each reason why a length of the task is not what its certificate stands for."""
    return [
        f"{sized.target_tokens} tokens: {problem}"
        for sized, certified in task.certified_lengths()
        for problem in certificate_problems(
            certified,
            digest=sized.digest(question=task.question, answer=task.answer),
            conditions=required_conditions(len(task.hops)),
        )
    ]


def _rows(task: ResearchTask) -> list[Row]:
    lengths = ", ".join(str(one.tokens) for one in task.lengths)
    return [{"question": task.question, "answer": task.answer.value, "hops": len(task.hops), "tokens": lengths}]


DR_INSTANCES = Stage(
    name="dr_instances",
    record=ResearchTask,
    make=accept,
    needs=(DR_QUESTIONS, DR_LENGTHS, DR_ABLATION),
    description=AssetDescription(
        group="items",
        description="The accepted tasks: question, typed answer, chain, and the documents at each length with its certificate. "
        "They are the rows of a release.",
        rows=_rows,
        paper="MemGym",
    ),
)
