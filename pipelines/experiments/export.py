"""A release as documents and questions, for harnesses that ingest and ask: Parquet and JSONL, and what is lost that way.

A document is a user's message that opens a session. A question is asked after a period and may go by the documents until then
alone: by those of its user whose `period` is not later. Whoever ingests everything first needs a namespace for each user and
period, as `agent_memory_benchmark.py` has it.
"""

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from assets.amemgym.records.episode import Episode
from assets.records.base import Record
from dataset_card.release.writers import write_durably
from pipelines.evaluation.amemgym.dataset import AMemGymDataset
from pipelines.evaluation.folder import write_table

LOST = (
    "This is the off-policy view: the opening messages alone. Lost are the replies of the assistant that is evaluated, the "
    "user's follow-ups to them, the state probes, and with these the failures by stage. Scores are not those of "
    "`amemgym evaluate`."
)


class ExportedDocument(Record):
    """A message of the user, in order of time by user."""

    id: str = Field(description="user, period and session")
    user_id: str = Field(description="whose message it is")
    period: int = Field(description="in which period it was written, from 0")
    at: str = Field(description="time in the episode, ISO")
    text: str = Field(description="the message")


class ExportedQuestion(Record):
    """A question after a period."""

    id: str = Field(description="user, period and question")
    user_id: str = Field(description="who asks")
    period: int = Field(description="after which period; documents of later ones may not be seen")
    query: str = Field(description="the question")
    options: tuple[str, ...] = Field(description="answers to choose from, in the order of the data")
    gold_option: int = Field(description="place of the right one, from 0")
    gold_answer: str = Field(description="the right one")
    gold_document_ids: tuple[str, ...] = Field(description="the documents that told the needed values last")


def export_dataset(dataset: AMemGymDataset, folder: Path) -> tuple[int, int]:
    """Write both tables and a page on them; how many documents and questions there are. Raises OSError."""
    documents = [document for episode in dataset.episodes for document in documents_of(episode)]
    questions = [question for episode in dataset.episodes for question in questions_of(episode)]
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, "documents", documents, kind=ExportedDocument)
    _write(folder, "questions", questions, kind=ExportedQuestion)
    write_durably(folder / "README.md", _page(dataset).encode())
    return len(documents), len(questions)


def documents_of(episode: Episode) -> list[ExportedDocument]:
    """The user's opening messages."""
    return [
        ExportedDocument(
            id=_document_id(episode, period, number),
            user_id=episode.user_id,
            period=period,
            at=session.session_time.isoformat(),
            text=session.query,
        )
        for period, lived in enumerate(episode.periods)
        for number, session in enumerate(lived.sessions)
    ]


def _document_id(episode: Episode, period: int, session: int) -> str:
    return f"{episode.user_id}/{period:02}/{session:02}"


def questions_of(episode: Episode) -> list[ExportedQuestion]:
    """Every question after every period."""
    made = list[ExportedQuestion]()
    told: dict[str, str] = {}
    for period, lived in enumerate(episode.periods):
        for number, session in enumerate(lived.sessions):
            told |= dict.fromkeys(session.exposed_states, _document_id(episode, period, number))
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


def _write(folder: Path, name: str, rows: Sequence[Record], *, kind: type[Record]) -> None:
    write_table(folder / f"{name}.parquet", rows, kind=kind)
    lines = "".join(f"{row.model_dump_json()}\n" for row in rows)
    write_durably(folder / f"{name}.jsonl", lines.encode())


def _page(dataset: AMemGymDataset) -> str:
    tables = "\n\n".join(
        f"## `{name}.parquet`, `{name}.jsonl`\n\n| column | holds |\n|---|---|\n"
        + "\n".join(f"| `{column}` | {field.description} |" for column, field in kind.model_fields.items())
        for name, kind in (("documents", ExportedDocument), ("questions", ExportedQuestion))
    )
    return f"# {dataset.name} for other harnesses\n\n{LOST}\n\nDigest of the data set: `{dataset.digest}`.\n\n{tables}\n"
