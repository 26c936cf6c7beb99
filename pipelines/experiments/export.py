"""A release as documents and questions, for harnesses that ingest and ask: Parquet and JSONL, and what is lost that way.

A question may go by the documents of its group until its period alone. On AMemGym a group is a user, a document the message
that opens a session, and a question is asked after every period. On documents in turns a group is a task at one length, its
periods are the turns, and the question comes after the last. Whoever ingests everything first needs a namespace for each group
and period, as `agent_memory_benchmark.py` has it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from assets.amemgym.records.episode import Episode
from assets.memory_items.documents import ItemDocument
from assets.records.base import Record
from dataset_card.release.writers import write_durably
from pipelines.evaluation.amemgym.tasks import AMemGymTasks
from pipelines.evaluation.document_tasks import DocumentItem, DocumentTasks
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import write_table

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


FILES = {"README.md", *(f"{table}.{ending}" for table in ("documents", "questions") for ending in ("parquet", "jsonl"))}


class ExportedDocument(Record):
    """A message of a user, or a document of a task; in order of time by group."""

    id: str = Field(description="unique in the file")
    user_id: str = Field(description="the group: whose message it is, or of which task at which length")
    period: int = Field(description="in which period it was written, or in which turn it arrives, from 0")
    at: str = Field(description="time in the episode, ISO; empty where it has none")
    text: str = Field(description="the message, or the document with its title")


class ExportedQuestion(Record):
    """A question after a period, or after the last turn."""

    id: str = Field(description="unique in the file")
    user_id: str = Field(description="the group: who asks, or which task at which length")
    period: int = Field(description="after which period or turn; documents of later ones may not be seen")
    query: str = Field(description="the question")
    shown: tuple[str, ...] = Field(default=(), description="what is read with the question and no document, such as code")
    options: tuple[str, ...] = Field(description="answers to choose from, in the order of the data; none where it is free")
    gold_option: int | None = Field(description="place of the right one, from 0; none where the answer is free")
    gold_answer: str = Field(description="the right answer")
    gold_document_ids: tuple[str, ...] = Field(description="the documents that told last what the answer takes")


def export_tasks(tasks: AMemGymTasks | DocumentTasks, folder: Path) -> tuple[int, int]:
    """Write both tables and a page on them; how many documents and questions there are.

    Raises EvaluationError for a folder that holds anything but an earlier export, and OSError.
    """
    _check_free(folder)
    if isinstance(tasks, AMemGymTasks):
        episodes = tasks.dataset.episodes
        documents = [document for episode in episodes for document in documents_of(episode)]
        questions = [question for episode in episodes for question in questions_of(episode)]
    else:
        documents = [document for item in tasks.documents for document in documents_of_item(item)]
        questions = list(map(question_of_item, tasks.documents))
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, "documents", documents, kind=ExportedDocument)
    _write(folder, "questions", questions, kind=ExportedQuestion)
    write_durably(folder / "README.md", _page(tasks).encode())
    return len(documents), len(questions)


def _check_free(folder: Path) -> None:
    """An export replaces an earlier one, and nothing else."""
    there = {path.name for path in folder.iterdir()} if folder.exists() else set[str]()
    if there and (there - FILES or "questions.jsonl" not in there):
        foreign = sorted(there - FILES) or sorted(there)
        raise EvaluationError(
            f"{folder} holds files of no export, such as {foreign[0]}; give a new or empty folder with --out."
        )


def lost(tasks: AMemGymTasks | DocumentTasks) -> str:
    """What of the release harnesses that ingest first do not get."""
    return LOST_OF_DIALOGUES if isinstance(tasks, AMemGymTasks) else LOST_OF_DOCUMENTS


def documents_of(episode: Episode) -> list[ExportedDocument]:
    """The user's opening messages."""
    return [
        ExportedDocument(
            id=_document_id(episode.user_id, period, number),
            user_id=episode.user_id,
            period=period,
            at=session.session_time.isoformat(),
            text=session.query,
        )
        for period, lived in enumerate(episode.periods)
        for number, session in enumerate(lived.sessions)
    ]


def _document_id(group: str, period: int, number: int) -> str:
    return f"{group}/{period:02}/{number:02}"


def questions_of(episode: Episode) -> list[ExportedQuestion]:
    """Every question after every period."""
    made = list[ExportedQuestion]()
    told: dict[str, str] = {}
    for period, lived in enumerate(episode.periods):
        for number, session in enumerate(lived.sessions):
            told |= dict.fromkeys(session.exposed_states, _document_id(episode.user_id, period, number))
        for question in episode.questions:
            places = [option.choice_id for option in question.answer_choices]
            gold = places.index(question.golden[period])
            needed = {told[name] for name in question.required_info if name in told}
            made.append(
                ExportedQuestion(
                    id=f"{episode.user_id}/{period:02}/{question.question_id}",
                    user_id=episode.user_id,
                    period=period,
                    query=question.query,
                    options=tuple(option.answer for option in question.answer_choices),
                    gold_option=gold,
                    gold_answer=question.answer_choices[gold].answer,
                    gold_document_ids=tuple(sorted(needed)),
                )
            )
    return made


def _numbered(item: DocumentItem) -> Iterator[tuple[str, int, ItemDocument]]:
    """Every document with its id and its turn."""
    for period, turn in enumerate(item.sized.turns):
        for number, document in enumerate(turn.documents):
            yield _document_id(item.item_id, period, number), period, document


def documents_of_item(item: DocumentItem) -> list[ExportedDocument]:
    """The task's documents at this length, as a memory receives them."""
    return [
        ExportedDocument(id=name, user_id=item.item_id, period=period, at="", text=document.perceived)
        for name, period, document in _numbered(item)
    ]


def question_of_item(item: DocumentItem) -> ExportedQuestion:
    """The task's question, with what is shown beside it."""
    task, answer = item.task, item.task.answer
    needed = {fact.fact_id for fact in task.hops}
    return ExportedQuestion(
        id=f"{item.item_id}/question",
        user_id=item.item_id,
        period=len(item.sized.turns) - 1,
        query=task.question,
        shown=tuple(one.perceived for one in task.shown_with_question),
        options=answer.options,
        gold_option=answer.options.index(answer.value) if answer.options else None,
        gold_answer=answer.value,
        gold_document_ids=tuple(name for name, _, document in _numbered(item) if needed & {*document.facts}),
    )


def _write(folder: Path, name: str, rows: Sequence[Record], *, kind: type[Record]) -> None:
    write_table(folder / f"{name}.parquet", rows, kind=kind)
    lines = "".join(f"{row.model_dump_json()}\n" for row in rows)
    write_durably(folder / f"{name}.jsonl", lines.encode())


def _page(tasks: AMemGymTasks | DocumentTasks) -> str:
    tables = "\n\n".join(
        f"## `{name}.parquet`, `{name}.jsonl`\n\n| column | holds |\n|---|---|\n"
        + "\n".join(f"| `{column}` | {field.description} |" for column, field in kind.model_fields.items())
        for name, kind in (("documents", ExportedDocument), ("questions", ExportedQuestion))
    )
    info = tasks.info
    return f"# {info.name} for other harnesses\n\n{lost(tasks)}\n\nDigest of the data set: `{info.digest}`.\n\n{tables}\n"
