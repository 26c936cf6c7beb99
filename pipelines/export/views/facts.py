"""Users whose facts end as documents, questions and sessions."""

from collections.abc import Iterator

from pipelines.evaluation.answered.fact_tasks import FactTasks, told_events
from pipelines.export.documents import Export, export_id
from pipelines.export.rows import ExportedDocument, ExportedQuestion
from pipelines.export.session_traces import Trace, TraceMessage

LOST_OF_FACTS = (
    "This is the view of a harness that ingests first. Lost are the questions at each moment of a deletion, what choosing each "
    "wrong answer means, and with these the outcomes by kind. Scores are not those of `amemgym evaluate`."
)


def export_facts(tasks: FactTasks) -> Export:
    """Return what each user said and passed on, and every question at the end of a life; choices stand in order of words."""
    export = Export(LOST_OF_FACTS)
    for user in tasks.lives:
        told: dict[int, list[str]] = {}
        for session in user.sessions:
            for number, event in enumerate(told_events(session)):
                document_id = export_id(user.user_id, session.number, number)
                told.setdefault(session.number, []).append(document_id)
                at = session.at.isoformat()
                document = ExportedDocument(id=document_id, user_id=user.user_id, period=session.number, at=at, text=event.text)
                export.documents.append(document)
        last = user.sessions[-1]
        for question in user.questions:
            # In the data their order follows from what they mean.
            options = sorted(choice.text for choice in question.choices)
            needed = [document_id for number in question.bearing for document_id in told[number]]
            exported = ExportedQuestion(
                id=f"{user.user_id}/{question.question_id}",
                user_id=user.user_id,
                period=last.number,
                at=last.at.isoformat(),
                category=question.kind,
                query=question.text,
                options=tuple(options),
                gold_option=options.index(question.right.text),
                gold_answer=question.right.text,
                gold_document_ids=tuple(needed),
            )
            export.questions.append(exported)
    return export


def trace_facts(tasks: FactTasks) -> Iterator[Trace]:
    """Yield what each user said and passed on, in order of time."""
    for user in tasks.lives:
        messages: list[TraceMessage] = []
        for session in user.sessions:
            messages += [TraceMessage("user", event.text, at=session.at) for event in told_events(session)]
        yield Trace(user.user_id, f"What {user.name} said", messages)
