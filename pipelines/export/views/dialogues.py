"""Users of AMemGym as documents, questions and sessions."""

from collections.abc import Iterator

from assets.amemgym.records.episode import Episode
from pipelines.evaluation.amemgym.tasks import AMemGymTasks
from pipelines.export.documents import Export, export_id
from pipelines.export.rows import ExportedDocument, ExportedQuestion
from pipelines.export.session_traces import Trace, TraceMessage

LOST_OF_DIALOGUES = (
    "This is the off-policy view: the opening messages alone. Lost are the replies of the assistant that is evaluated, the "
    "user's follow-ups to them, the state probes, and with these the failures by stage. Scores are not those of "
    "`amemgym evaluate`."
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
            document_id = export_id(episode.user_id, period, number)
            if not session.is_noise:
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


def trace_dialogues(tasks: AMemGymTasks) -> Iterator[Trace]:
    """Yield what each user said over all periods, in order of time; a release has no assistant's replies."""
    for episode in tasks.dataset.episodes:
        messages: list[TraceMessage] = []
        for period in episode.periods:
            for session in period.sessions:
                messages.append(TraceMessage("user", session.query, at=session.session_time))
        yield Trace(episode.user_id, f"What {episode.user_profile.name} said", messages)
