"""Tasks over documents in turns as documents, questions and sessions."""

from collections.abc import Iterator, Mapping

from pipelines.evaluation.answered.document_tasks import DocumentItem, DocumentTasks
from pipelines.export.documents import Export, export_id
from pipelines.export.rows import ExportedDocument, ExportedQuestion
from pipelines.export.session_traces import Trace, TraceMessage

LOST_OF_DOCUMENTS = (
    "This is the view of a harness that ingests first. Lost are the turns as they leave the window, so that a memory no longer "
    "has to choose before it knows more, and the certificates. Scores are not those of `amemgym evaluate`."
)


def export_documents(tasks: DocumentTasks) -> Export:
    """Return each task at each length with its own documents, as a memory receives them, and its question after the last."""
    export = Export(LOST_OF_DOCUMENTS)
    for item in tasks.documents:
        ids = add_documents(export, item)
        export.questions.append(_exported_question(item, ids))
    return export


def add_documents(export: Export, item: DocumentItem) -> dict[str, str]:
    """Add the documents of a task at one length, as a memory receives them, and return the id that each has in the export."""
    ids = dict[str, str]()
    for period, turn in enumerate(item.sized.turns):
        for number, document in enumerate(turn.documents):
            document_id = export_id(item.item_id, period, number)
            ids[document.document_id] = document_id
            exported = ExportedDocument(
                id=document_id, user_id=item.item_id, period=period, at="", text=document.text_with_title
            )
            export.documents.append(exported)
    return ids


def _exported_question(item: DocumentItem, ids: Mapping[str, str]) -> ExportedQuestion:
    """Return a question about documents, which have these `ids` in the export."""
    task = item.task
    needed = {fact.document_id for fact in task.hops}
    gold = tuple(exported for own, exported in ids.items() if own in needed)
    options = task.answer.options
    return ExportedQuestion(
        id=f"{item.item_id}/question",
        user_id=item.item_id,
        period=len(item.sized.turns) - 1,
        category=f"{item.sized.target_tokens} tokens",
        query=task.full_question,
        shown=tuple(document.text_with_title for document in task.shown_with_question),
        options=options,
        gold_option=options.index(task.answer.value) if options else None,
        gold_answer=task.answer.value,
        answer_kind=task.answer.kind,
        gold_document_ids=gold,
    )


def trace_documents(tasks: DocumentTasks) -> Iterator[Trace]:
    """Yield each task at each length: its documents as they arrive, and each question with the right answer."""
    for item in tasks.documents:
        messages = [TraceMessage("user", event.text) for event in item.events]
        for document in item.task.shown_with_question:
            messages.append(TraceMessage("user", document.text_with_title))
        messages.append(TraceMessage("user", item.task.full_question))
        messages.append(TraceMessage("assistant", item.task.answer.value))
        yield Trace(item.item_id, item.task.full_question, messages, outcome=1.0)
