"""Items of each benchmark as documents and questions, for harnesses that ingest and ask, and as sessions."""

from collections.abc import Iterator, Mapping

from assets.amemgym.records.episode import Episode
from pipelines.evaluation.acted.tool_dialogues import ActedItem, ToolTasks
from pipelines.evaluation.amemgym.tasks import AMemGymTasks
from pipelines.evaluation.answered.document_tasks import DocumentItem, DocumentTasks
from pipelines.evaluation.answered.fact_tasks import FactTasks, told_events
from pipelines.export.documents import Export, ExportedDocument, ExportedQuestion
from pipelines.export.session_traces import Trace, TraceMessage, call_messages

LOST_OF_DIALOGUES = (
    "This is the off-policy view: the opening messages alone. Lost are the replies of the assistant that is evaluated, the "
    "user's follow-ups to them, the state probes, and with these the failures by stage. Scores are not those of "
    "`amemgym evaluate`."
)
LOST_OF_DOCUMENTS = (
    "This is the view of a harness that ingests first. Lost are the turns as they leave the window, so that a memory no longer "
    "has to choose before it knows more, the grading of typed answers by program, and the certificates. Scores are not those "
    "of `amemgym evaluate`."
)
LOST_OF_FACTS = (
    "This is the view of a harness that ingests first. Lost are the questions at each moment of a deletion, what choosing each "
    "wrong answer means, and with these the outcomes by kind. Scores are not those of `amemgym evaluate`."
)


def export_dialogues(tasks: AMemGymTasks) -> Export:
    """Return the opening message of every session, and every question after every period."""
    export = Export(LOST_OF_DIALOGUES)
    for episode in tasks.dataset.episodes:
        _add_user(export, episode)
    return export


def _add_user(export: Export, episode: Episode) -> None:
    told: dict[str, str] = {}
    for period, lived in enumerate(episode.periods):
        for number, session in enumerate(lived.sessions):
            document_id = _document_id(episode.user_id, period, number)
            told |= dict.fromkeys(session.exposed_states, document_id)
            document = ExportedDocument(
                id=document_id,
                user_id=episode.user_id,
                period=period,
                at=session.session_time.isoformat(),
                text=session.query,
            )
            export.documents.append(document)
        for question in episode.questions:
            options = list[str]()
            gold = 0
            for place, option in enumerate(question.answer_choices):
                options.append(option.answer)
                if option.choice_id == question.golden[period]:
                    gold = place
            # The last document that told a value: earlier ones are out of date.
            needed = {told[name] for name in question.required_info if name in told}
            exported = ExportedQuestion(
                id=f"{episode.user_id}/{period:02}/{question.question_id}",
                user_id=episode.user_id,
                period=period,
                at=lived.sessions[-1].session_time.isoformat() if lived.sessions else "",
                category=f"period {period}",
                query=question.query,
                options=tuple(options),
                gold_option=gold,
                gold_answer=options[gold],
                gold_document_ids=tuple(sorted(needed)),
            )
            export.questions.append(exported)


def export_documents(tasks: DocumentTasks) -> Export:
    """Return each task at each length with its own documents, as a memory receives them, and its question after the last."""
    export = Export(LOST_OF_DOCUMENTS)
    for item in tasks.documents:
        _add_item(export, item)
    return export


def _add_item(export: Export, item: DocumentItem) -> None:
    ids = dict[str, str]()
    for period, turn in enumerate(item.sized.turns):
        for number, document in enumerate(turn.documents):
            document_id = _document_id(item.item_id, period, number)
            ids[document.document_id] = document_id
            exported = ExportedDocument(id=document_id, user_id=item.item_id, period=period, at="", text=document.perceived)
            export.documents.append(exported)
    for asked in item.questions:
        name = "question" if asked is item else asked.task.task_id
        export.questions.append(_exported_question(asked, f"{item.item_id}/{name}", ids))


def _exported_question(asked: DocumentItem, question_id: str, ids: Mapping[str, str]) -> ExportedQuestion:
    """Return a question about documents, which have these `ids` in the export."""
    task = asked.task
    needed = {fact.document_id for fact in task.hops}
    gold = tuple(exported for own, exported in ids.items() if own in needed)
    options = task.answer.options
    return ExportedQuestion(
        id=question_id,
        user_id=asked.item_id,
        period=len(asked.sized.turns) - 1,
        category=f"{asked.sized.target_tokens} tokens",
        query=task.question,
        shown=tuple(one.perceived for one in task.shown_with_question),
        options=options,
        gold_option=options.index(task.answer.value) if options else None,
        gold_answer=task.answer.value,
        gold_document_ids=gold,
    )


def _document_id(group: str, period: int, number: int) -> str:
    return f"{group}/{period:02}/{number:02}"


def trace_dialogues(tasks: AMemGymTasks) -> Iterator[Trace]:
    """Yield what each user said over all periods, in order of time; a release has no assistant's replies."""
    for episode in tasks.dataset.episodes:
        messages: list[TraceMessage] = []
        for period in episode.periods:
            for session in period.sessions:
                messages.append(TraceMessage("user", session.query, at=session.session_time))
        yield Trace(episode.user_id, f"What {episode.user_profile.name} said", messages)


def trace_documents(tasks: DocumentTasks) -> Iterator[Trace]:
    """Yield each task at each length: its documents as they arrive, and each question with the right answer."""
    for item in tasks.documents:
        messages = [TraceMessage("user", event.text) for event in item.events]
        for document in item.task.shown_with_question:
            messages.append(TraceMessage("user", document.perceived))
        for asked in item.questions:
            messages.append(TraceMessage("user", asked.task.question))
            messages.append(TraceMessage("assistant", asked.task.answer.value))
        yield Trace(item.item_id, item.questions[0].task.question, messages, outcome=1.0)


def trace_episodes(tasks: ToolTasks) -> Iterator[Trace]:
    """Yield each acted task at each length: its sessions, the request, and the calls that are right, really carried out."""
    for item in tasks.documents:
        assert isinstance(item, ActedItem)
        world = item.world_of_calls()
        messages = [TraceMessage("system", world.rules)]
        messages += [TraceMessage("user", event.text) for event in item.events]
        messages.append(TraceMessage("user", world.opening))
        for number, call in enumerate(item.gold, start=1):
            result = world.call(call.tool, call.arguments)
            messages += call_messages(number, call.tool, call.arguments, result=result)
        if item.farewell:
            messages += [TraceMessage("assistant", item.farewell), TraceMessage("user", world.say(item.farewell))]
        yield Trace(item.item_id, item.task.question, messages, outcome=float(not world.failed_by))


def export_facts(tasks: FactTasks) -> Export:
    """Return what each user said and passed on, and every question at the end of a life; choices stand in order of words."""
    export = Export(LOST_OF_FACTS)
    for user in tasks.lives:
        told: dict[int, list[str]] = {}
        for session in user.sessions:
            for number, event in enumerate(told_events(session)):
                document_id = _document_id(user.user_id, session.number, number)
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
