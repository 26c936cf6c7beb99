"""Documents in turns for the runner, whatever benchmark they are of: written turn by turn, out of sight, then asked about."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import ValidationError

from assets.llm.answer_text import extract_json
from assets.llm.structured_output import schema_of_model
from assets.memory_items.ablation import ReaderReply
from assets.memory_items.documents import PARAGRAPHS, ItemDocument, SizedItem, Turn
from assets.memory_items.final_ablation import stating_document
from assets.memory_items.tasks import MemoryTask
from assets.records.answers import TypedAnswer, is_right
from assets.reporting.plurals import counted
from assets.text.words import count_tokens, spells
from pipelines.evaluation.answered.releases import read_release_rows, release_info
from pipelines.evaluation.arms import TextsAtHand
from pipelines.evaluation.metrics.control import asks_control
from pipelines.evaluation.metrics.evidence import Evidence, PerceivedTexts
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import Answer, ReadableTask, joined_text
from pipelines.evaluation.records import OF_MEMORY, AnswerRow, AskKind, RunManifest, Status
from pipelines.evaluation.run import DatasetInfo
from pipelines.evaluation.timeline.steps import Ask, AskedQuestion, Json, Perceived, Settle, Step, Timeline, Write
from pipelines.memories.contract import MemoryEvent, Task, lines_of
from prompts.catalogue import load_prompt
from prompts.template import Message

R = TypeVar("R", bound=MemoryTask)
D = TypeVar("D", bound="DocumentTasks")
ASK = "memory_items/ask"
NOUN = "task"
NEAR = 20  # items among which another one is looked for
# Of recalled text: less than the shortest task, so that a memory has to choose, and enough for a search by words to reach some.
BUDGET = 6_000


@dataclass(frozen=True)
class DocumentItem(AskedQuestion):
    """A task at one of its lengths, with its question after the last turn; intervals are over tasks, not over lengths.

    `stranger`: another task, whose facts stand in the memory's place in an arm.
    """

    task: MemoryTask
    sized: SizedItem
    language: str
    stranger: "DocumentItem | None" = None
    kind: AskKind = "question"

    @property
    def item_id(self) -> str:
        return f"{self.task.task_id} at {self.sized.target_tokens}"

    @cached_property
    def events(self) -> list[MemoryEvent]:
        """All that is written, in order."""
        return list(map(event_of, self.sized.documents))

    @property
    def item(self) -> str:
        return self.task.task_id

    @property
    def tokens(self) -> int:
        return count_tokens(self.task.full_question)

    @property
    def facts(self) -> list[str]:
        """The facts that the answer takes, each as its document states it."""
        documents = list(self.sized.documents)
        return [stating_document(fact, documents).text_with_title for fact in self.task.hops]

    @cached_property
    def evidence(self) -> Evidence:
        """The paragraphs that state these facts, among those of all documents."""
        paragraphs = dict[str, list[str]]()
        for document in self.sized.documents:
            paragraphs[document.text_with_title] = document.text.split(PARAGRAPHS)
        documents = list(self.sized.documents)
        needed = dict[str, list[str]]()
        for fact in self.task.hops:
            paragraphs_of_fact = stating_document(fact, documents).text.split(PARAGRAPHS)
            needed.setdefault(fact.document_id, []).extend(paragraphs_of_fact)
        return Evidence(PerceivedTexts.of(self.events, parts=paragraphs), list(needed.values()))

    @property
    def values(self) -> list[str]:
        """The parts of these facts that have to be remembered, in the words of the documents."""
        texts = {document.document_id: document.text for document in self.sized.documents}
        return [texts[fact.document_id][fact.start : fact.end] for fact in self.task.hops]

    def render(self) -> ReadableTask[str]:
        """The question with what is in sight; read as "" where the reasoner says that nothing tells."""
        prompt = load_prompt(ASK).render(question=self.task.full_question, language=self.language)
        window = list[Message]()
        # Not [-n:], which would be all turns where none is visible.
        for turn in self.sized.turns[len(self.sized.turns) - self.task.eviction.visible_turns :]:
            for document in turn.documents:
                window.append(Message("user", document.text_with_title))
        for document in self.task.shown_with_question:
            window.append(Message("user", document.text_with_title))
        task = Task(
            text=joined_text(prompt.messages),
            query=self.task.question,
            window=tuple(window),
            schema_name="memory_items_ask",
            json_schema=schema_of_model(ReaderReply).json_schema,
        )
        return ReadableTask(task, read_answer)

    def verdict(self, value: Any, *, period: int) -> dict[str, Any]:
        answer = self.task.answer
        return {"expected": answer.value, "given": value or "", "status": _status(answer, value)}

    def texts_given(self, given: Answer[str]) -> Sequence[str]:
        """Return the texts that the answer could rest on."""
        return given.recalled

    def rows(self, given: Answer[str], seen: Perceived) -> list[AnswerRow]:
        values = self.values
        texts = self.texts_given(given)
        found = 0
        for value in values:
            found += any(spells(text, value) for text in texts)
        evidence = self.evidence.columns(texts) if given.kind in OF_MEMORY else {}
        period = len(self.sized.turns) - 1
        row = AnswerRow(
            user_id=self.task.task_id,
            period=period,
            item=self.item,
            **self.verdict(given.value, period=period),
            options=len(self.task.answer.options),
            shown=0,
            required=len(values),
            age=0,
            asked=self.readable.task.text,
            written=len(seen.events),
            written_tokens=self.sized.tokens,
            length=self.sized.target_tokens,
            fact_recall=round(found / len(values), 6),
            **evidence,
            **given.columns,
        )
        return [row]

    def texts(self, seen: Perceived, *, seed: int) -> TextsAtHand:
        documents = list(self.sized.documents)
        return TextsAtHand(
            self.facts,
            lines_of(seen.events),
            others=[document.text_with_title for document in documents if document.role != "support"],
            stale=[document.text_with_title for document in documents if document.role == "superseded"],
            another=self.stranger.facts if self.stranger else (),
            path=(seed, self.item_id),
        )

    @property
    def page_fields(self) -> Json:
        return {"query": self.task.question, "required": [], "options": []}


def event_of(document: ItemDocument) -> MemoryEvent:
    """Return what a memory perceives of a document."""
    return MemoryEvent(document.text_with_title, "document")


def _status(answer: TypedAnswer, given: str | None) -> Status:
    if not given:
        return "unscored" if given is None else "unknown"
    return "right" if is_right(answer, given) else "wrong"


def read_answer(reply: str) -> str:
    """Return the answer in a reply, "" for null. Raises ValueError for a reply that is none."""
    content = extract_json(reply, keys=("answer",))
    try:
        return ReaderReply.model_validate(content).answer or ""
    except ValidationError as error:
        raise ValueError('Answer with one JSON object that has the key "answer".') from error


def read_document_tasks(folder: Path, record: type[MemoryTask]) -> "DocumentTasks":
    """Return the tasks of a verified release; `record` is that of its benchmark's finished items. Raises EvaluationError."""
    return release_items(folder, record, item=DocumentItem, tasks=DocumentTasks, ask=ASK)


def release_items(
    folder: Path, record: type[R], *, item: Callable[[R, SizedItem, str], DocumentItem], tasks: type[D], ask: str
) -> D:
    """Return the tasks of a release, an `item` for each length. `ask`: the prompt that they are asked with."""
    rows = read_release_rows(folder, record)
    info = release_info(folder, noun=NOUN, users=[row.task_id for row in rows], ask=ask, tokens=BUDGET)
    items = list[DocumentItem]()
    for row in rows:
        for sized in row.lengths:
            items.append(item(row, sized, info.language))
    # The shortest first: an endpoint that refuses long texts ends items late.
    return tasks(info, tuple(sorted(items, key=lambda item: item.sized.target_tokens)))


@dataclass(frozen=True)
class DocumentTasks:
    """The tasks of a release of documents in turns, at all their lengths, the shortest first."""

    info: DatasetInfo
    documents: tuple[DocumentItem, ...]

    def first(self, users: int | None) -> Self:
        info = self.info.first(users)
        items = [item for item in self.documents if item.task.task_id in info.users]
        return replace(self, info=info, documents=tuple(items))

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        self.info.check_options(options, whole=whole)
        return {"mode": "document"}

    def timelines(self, manifest: RunManifest) -> list[Timeline]:
        return [self._timeline(place, manifest) for place in range(len(self.documents))]

    def _timeline(self, place: int, manifest: RunManifest) -> Timeline:
        """Return the turns of documents as they are written, then the questions about them."""
        item = self.documents[place]
        steps = list[Step]()
        for number, turn in enumerate(item.sized.turns):
            events = list(map(event_of, turn.documents))
            steps.append(Write(events, f"turn {number}", _shown_turn(turn)))
        stranger = self._stranger_of(place) if manifest.arms or asks_control(manifest) else None
        questions = [replace(item, stranger=stranger)]
        if stranger is not None and asks_control(manifest):
            questions.append(replace(stranger, kind="permuted"))
        end = "the question"
        steps += [Settle(end), Ask("asked", end, questions)]
        length = item.sized.target_tokens
        # Titles alone: the texts of long tasks would make a page that no browser opens; they are in events.parquet.
        return Timeline(item.item_id, item.task.task_id, steps, f"{item.task.task_id} at {length:,}", length)

    def _stranger_of(self, place: int) -> DocumentItem | None:
        """Return the next other task whose answer is nowhere in this one's documents; None where none is near."""
        item = self.documents[place]
        texts = "\n".join(event.text for event in item.events).casefold()
        for offset in range(1, 1 + min(len(self.documents), NEAR)):
            other = self.documents[(place + offset) % len(self.documents)]
            if other.task.task_id != item.task.task_id and other.task.answer.value.casefold() not in texts:
                return other
        return None


def _shown_turn(turn: Turn) -> Json:
    documents = list[Json]()
    for document in turn.documents:
        event = f"{document.role}, {counted(document.tokens, 'token')}"
        documents.append({"at": document.title, "event": event, "exposed": {}, "turns": []})
    return {"end": "", "state": {}, "sessions": documents}
