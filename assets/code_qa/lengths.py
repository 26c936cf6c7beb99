"""Stage `code_lengths`: the notes in turns, at each length, with filler that holds no answer."""

from assets.code_qa.documents import CODE_DOCUMENTS
from assets.code_qa.questions import CODE_QUESTIONS
from assets.code_qa.recipe import CodeQaRecipe
from assets.code_qa.records.questions import CodeDocuments, CodeQuestion
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.memory_items.documents import ItemDocument
from assets.memory_items.lengths import at_length, length_rows, usable_filler
from assets.memory_items.tasks import TaskLengths
from assets.memory_items.turns import as_item_document, facts_by_document, in_turns
from assets.reporting.asset_description import AssetDescription, Row


async def fill_lengths(
    documents: CodeDocuments, question: CodeQuestion, *, recipe: CodeQaRecipe, model: LanguageModel
) -> TaskLengths:
    """Arrange the notes in turns, then add filler up to each length. Raises ItemFailed where a length cannot be met."""
    turns = in_turns(
        own_notes(documents, question), question.hops, recipe=recipe, path=(recipe.seed, question.task_id, "turns")
    )
    placed = {document.document_id for turn in turns for document in turn.documents}
    usable = usable_filler(documents.filler, question.hops, placed=placed)
    filler = [as_item_document(one, role="filler") for one in SeededRandom(question.task_id, "filler").shuffled(usable)]
    path = (recipe.seed, question.task_id, "lengths")
    return TaskLengths(
        task_id=question.task_id,
        lengths=tuple(
            at_length(turns, filler, target=target, tolerance=recipe.length_tolerance, path=path) for target in recipe.lengths
        ),
    )


def own_notes(documents: CodeDocuments, question: CodeQuestion) -> list[ItemDocument]:
    """The question's notes, each with the facts in it that the answer takes."""
    needed = facts_by_document(question.hops)
    return [
        as_item_document(one, role="support" if one.document_id in needed else one.role, facts=needed.get(one.document_id, ()))
        for one in documents.documents
    ]


def _rows(task: TaskLengths) -> list[Row]:
    return length_rows(task.lengths)


CODE_LENGTHS = Stage(
    name="code_lengths",
    record=TaskLengths,
    make=fill_lengths,
    needs=(CODE_DOCUMENTS, CODE_QUESTIONS),
    description=AssetDescription(
        group="items",
        description="Each question's notes in turns, at every length, counted by what a memory receives. Filler is notes "
        "of the same team on the same package that hold nothing of the chain.",
        rows=_rows,
        paper="MemGym",
    ),
)
