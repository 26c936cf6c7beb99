"""What must hold of research tasks at each length, beside what holds of every task over documents."""

from collections.abc import Iterator

from assets.deep_research.recipe import DeepResearchRecipe
from assets.memory_items.tasks import TaskLengths, TaskTurns
from validation.memory_items.lengths import length_rules
from validation.rules import Rule, expect


def own_documents_are_unchanged(task: TaskLengths, turns: TaskTurns, _: DeepResearchRecipe) -> Iterator[str]:
    """Each length has the documents of the turns, and beside them filler alone."""
    own = {document.document_id: document for turn in turns.turns for document in turn.documents}
    for sized in task.lengths:
        kept = {document.document_id: document for document in sized.documents if document.role != "filler"}
        yield from expect(kept == own, f"at {sized.target_tokens} tokens the task's own documents are others")


RULES = (
    *length_rules(questions="dr_questions"),
    Rule("own_documents_unchanged", "Lengths differ in filler alone.", own_documents_are_unchanged, reads=("dr_turns",)),
)
