"""Rules about research tasks at each length, beside those of every task over documents."""

from collections.abc import Iterator

from assets.deep_research.corpus.renaming import any_form_of, packages_of
from assets.memory_items.documents import ItemDocument
from assets.memory_items.tasks import TaskLengths, TaskTurns
from assets.recipe.deep_research import DeepResearchRecipe
from validation.rules import Rule, expect


def own_documents_are_unchanged(task: TaskLengths, turns: TaskTurns, _: DeepResearchRecipe) -> Iterator[str]:
    own: dict[str, ItemDocument] = {}
    for turn in turns.turns:
        for document in turn.documents:
            own[document.document_id] = document
    for sized in task.lengths:
        present = {document.document_id: document for document in sized.documents if document.role != "filler"}
        yield from expect(present == own, f"at {sized.target_tokens} tokens the task's own documents are others")


def packages_are_renamed(task: TaskLengths, recipe: DeepResearchRecipe) -> Iterator[str]:
    if not recipe.source.rename:
        return
    form = any_form_of(packages_of(recipe.source.paths))
    told = {document.document_id: document for sized in task.lengths for document in sized.documents}
    for document in told.values():
        found = form.search(f"{document.title}\n{document.text}")
        if found:
            yield f"document {document.document_id} tells the real name {found[0]!r}"


RULES = (
    Rule("own_documents_unchanged", "Lengths differ in filler alone.", own_documents_are_unchanged, reads=("turns",)),
    Rule("packages_renamed", "No document tells the real name of a package that is read.", packages_are_renamed),
)
