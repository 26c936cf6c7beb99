"""Documents in turns for the runner, whatever benchmark they are of: written turn by turn, out of sight, then asked about."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Self, TypeVar

from pydantic import ValidationError

from assets.llm.structured_output import extract_json, schema_of_model
from assets.memory_items.ablation import ReaderReply
from assets.memory_items.documents import SizedItem, Turn
from assets.memory_items.final_ablation import SENTENCE_END, stated
from assets.memory_items.tasks import MemoryTask
from assets.records.answers import TypedAnswer, is_right
from assets.reporting.plurals import counted
from assets.text.words import count_tokens, spells
from pipelines.evaluation.answered.releases import read_release_rows, release_info
from pipelines.evaluation.arms import TextsAtHand
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.forecast import ItemSize
from pipelines.evaluation.isolated import EventRow, ReasonerWithMemory, Recalling, answer_in_conditions, recall_and_answer
from pipelines.evaluation.metrics.control import asks_control
from pipelines.evaluation.metrics.evidence import Evidence, PerceivedTexts
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import Answer, ReadableTask, joined_text, value_in_reply
from pipelines.evaluation.records import OF_MEMORY, AnswerRow, AnswersStep, DialogueTurn, RunManifest, Status
from pipelines.evaluation.report.page import Json, PageItem
from pipelines.evaluation.run import ENDS_ITEM, DatasetInfo, ItemRows, ItemStopped, Run
from pipelines.evaluation.spending import StepUsage, memory_call
from pipelines.memories.contract import MemoryEvent, Task, lines_of
from pipelines.memories.hosting import HostedMemory
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
class DocumentItem:
    """A task at one of its lengths; its items at other lengths are resampled together with it."""

    task: MemoryTask
    sized: SizedItem

    @property
    def item_id(self) -> str:
        return f"{self.cluster} at {self.sized.target_tokens}"

    @property
    def cluster(self) -> str:
        """Whose documents these are: what is asked of the same documents is resampled together."""
        return self.task.task_id

    @property
    def questions(self) -> "Sequence[DocumentItem]":
        """What is asked after the last turn: the task's own question."""
        return (self,)

    @property
    def batches(self) -> list[list[MemoryEvent]]:
        """The documents as they are written, turn by turn."""
        batches = list[list[MemoryEvent]]()
        for turn in self.sized.turns:
            batches.append([MemoryEvent(document.perceived, "document") for document in turn.documents])
        return batches

    @property
    def events(self) -> list[MemoryEvent]:
        """All that is written, in order."""
        return sum(self.batches, list[MemoryEvent]())

    @property
    def facts(self) -> list[str]:
        """The facts that the answer takes, each as its document states it."""
        documents = list(self.sized.documents)
        return [stated(fact, documents).perceived for fact in self.task.hops]

    @cached_property
    def evidence(self) -> Evidence:
        """The sentences that state these facts, among those of all documents."""
        sentences = dict[str, list[str]]()
        for document in self.sized.documents:
            sentences[document.perceived] = SENTENCE_END.split(document.text)
        documents = list(self.sized.documents)
        needed = dict[str, list[str]]()
        for fact in self.task.hops:
            needed.setdefault(fact.document_id, []).append(stated(fact, documents).text)
        return Evidence(PerceivedTexts.of(self.events, parts=sentences), list(needed.values()))

    @property
    def values(self) -> list[str]:
        """The parts of these facts that have to be remembered, in the words of the documents."""
        texts = {document.document_id: document.text for document in self.sized.documents}
        return [texts[fact.document_id][fact.start : fact.end] for fact in self.task.hops]

    def asked(self, *, language: str) -> ReadableTask[str]:
        """Return the question with what is in sight; read as "" where the reasoner says that nothing tells."""
        prompt = load_prompt(ASK).render(question=self.task.question, language=language)
        window = list[Message]()
        # Not [-n:], which would be all turns where none is visible.
        for turn in self.sized.turns[len(self.sized.turns) - self.task.eviction.visible_turns :]:
            for document in turn.documents:
                window.append(Message("user", document.perceived))
        for document in self.task.shown_with_question:
            window.append(Message("user", document.perceived))
        task = Task(
            text=joined_text(prompt.messages),
            query=self.task.question,
            window=tuple(window),
            schema_name="memory_items_ask",
            json_schema=schema_of_model(ReaderReply).json_schema,
        )
        return ReadableTask(task, read_answer)

    def row(self, given: Answer[str], *, asked: str) -> AnswerRow:
        """Return the answer's row, graded by program."""
        answer = self.task.answer
        values = self.values
        found = 0
        for value in values:
            found += any(spells(text, value) for text in given.recalled)
        evidence = self.evidence.columns(given.recalled) if given.kind in OF_MEMORY else {}
        return AnswerRow(
            user_id=self.cluster,
            period=len(self.sized.turns) - 1,
            item=self.task.task_id,
            expected=answer.value,
            given=given.value or "",
            status=_status(answer, given.value),
            options=len(answer.options),
            shown=0,
            required=len(values),
            age=0,
            asked=asked,
            written=len(self.events),
            written_tokens=self.sized.tokens,
            length=self.sized.target_tokens,
            fact_recall=round(found / len(values), 6),
            **evidence,
            **given.columns,
        )


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
    folder: Path, record: type[R], *, item: Callable[[R, SizedItem], "DocumentItem"], tasks: type[D], ask: str
) -> D:
    """Return the tasks of a release, an `item` for each length. `ask`: the prompt that they are asked with."""
    rows = read_release_rows(folder, record)
    items = list[DocumentItem]()
    for row in rows:
        for sized in row.lengths:
            items.append(item(row, sized))
    info = release_info(folder, noun=NOUN, users=[row.task_id for row in rows], ask=ask, tokens=BUDGET)
    # The shortest first: an endpoint that refuses long texts ends items late.
    return tasks(info, tuple(sorted(items, key=lambda one: one.sized.target_tokens)))


@dataclass(frozen=True)
class DocumentTasks:
    """The tasks of a release of documents in turns, at all their lengths, the shortest first."""

    info: DatasetInfo
    documents: tuple[DocumentItem, ...]

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(item.item_id for item in self.documents)

    def first(self, users: int | None) -> Self:
        info = self.info.first(users)
        items = [item for item in self.documents if item.cluster in info.users]
        return replace(self, info=info, documents=tuple(items))

    def replaying(self, recorded: FinishedRun) -> Self:
        raise self.info.refused("--replay")

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        self.info.check_options(options, whole=whole)
        return {"mode": "documents"}

    def sizes(self, manifest: RunManifest) -> Iterator[ItemSize]:
        for item in self.documents:
            written = len(item.events)
            yield ItemSize(
                written=written,
                event_tokens=item.sized.tokens / max(1, written),
                questions=[item.sized.tokens] * len(item.questions),
                question_tokens=max(count_tokens(one.task.question) for one in item.questions),
                steps=1,
                controls=len(self.controls(manifest, item.item_id)),
            )

    async def evaluate(self, run: Run, item_id: str, rows: ItemRows) -> None:
        rows.add(await run.step(f"{item_id}/asked", AnswersStep, partial(self._asked, run, self._item(item_id))))

    async def _asked(self, run: Run, item: DocumentItem) -> AnswersStep:
        """Write everything to a new memory, then ask it. Raises ItemStopped."""
        host = run.host(item.cluster)
        place = "the beginning"
        rows = list[AnswerRow]()
        seconds = list[float | None]()
        try:
            memory = await host.new_memory()
            for number, batch in enumerate(item.batches):
                place = f"turn {number}"
                with memory_call("write"):
                    await memory.write(batch)
            place = "the question"
            subject = ReasonerWithMemory(run.reasoner("interview", item_id=item.cluster), memory)
            for question in item.questions:
                task = question.asked(language=self.info.language)
                given = await answer_in_conditions(
                    task,
                    self.subject(run, question, subject),
                    self.subject(run, question, run.bare(item.cluster)),
                    texts=self._texts_at_hand(run.manifest, item, question),
                    manifest=run.manifest,
                )
                rows += [question.row(one, asked=task.task.text) for one in given]
                seconds.append(given[0].seconds)
            rows += await self._asked_controls(run, item, memory)
            await subject.count_stored()
        except ENDS_ITEM as error:
            raise ItemStopped(place, error) from error
        finally:
            await host.close()
        return AnswersStep(answers=tuple(rows), seconds=tuple(seconds), usage=StepUsage(lost_writes=host.lost_writes))

    def subject(self, run: Run, item: DocumentItem, reasoner: ReasonerWithMemory) -> Recalling:
        """Return the side that is asked about this item: the reasoner answers at once, an agent acts first."""
        return reasoner

    def _texts_at_hand(self, manifest: RunManifest, item: DocumentItem, question: DocumentItem) -> TextsAtHand:
        stranger = self._stranger_of(item)
        documents = list(question.sized.documents)
        return TextsAtHand(
            question.facts,
            lines_of(item.events),
            others=[one.perceived for one in documents if one.role != "support"],
            stale=[one.perceived for one in documents if one.role == "superseded"],
            another=stranger.facts if stranger else (),
            path=(manifest.seed, question.item_id),
        )

    async def _asked_controls(self, run: Run, item: DocumentItem, memory: HostedMemory) -> list[AnswerRow]:
        """Ask the memory what is asked of another task, if this run has such a control."""
        stranger = self._stranger_of(item)
        if stranger is None or not asks_control(run.manifest):
            return []
        task = stranger.asked(language=self.info.language)
        subject = ReasonerWithMemory(run.reasoner("interview", item_id=item.cluster), memory)
        asked = self.subject(run, stranger, subject)
        given = await recall_and_answer(task, asked, tokens=run.manifest.tokens, kind="permuted")
        return [stranger.row(given, asked=task.task.text)]

    def _stranger_of(self, item: DocumentItem) -> DocumentItem | None:
        """Return the next question of another task whose answer is nowhere in this one's documents; None where none is near."""
        place = self.documents.index(item)
        texts = "\n".join(event.text for event in item.events).casefold()
        for offset in range(1, 1 + min(len(self.documents), NEAR)):
            other = self.documents[(place + offset) % len(self.documents)]
            for question in other.questions:
                if other.cluster != item.cluster and question.task.answer.value.casefold() not in texts:
                    return question
        return None

    def controls(self, manifest: RunManifest, item_id: str) -> list[AnswerRow]:
        stranger = self._stranger_of(self._item(item_id))
        if stranger is None or not asks_control(manifest):
            return []
        nothing = Answer[str](None, "", 0, "", kind="permuted")
        return [stranger.row(nothing, asked=stranger.task.question)]

    def _item(self, item_id: str) -> DocumentItem:
        return next(item for item in self.documents if item.item_id == item_id)

    def unasked(self, manifest: RunManifest, item_id: str, answers: Sequence[AnswerRow], *, reason: str) -> list[AnswerRow]:
        # All answers of an item are one step: there are all of them, or none.
        if answers:
            return []
        nothing = Answer[str](None, "", 0, reason)
        return [one.row(nothing, asked=one.task.question) for one in self._item(item_id).questions]

    def graded(self, manifest: RunManifest, row: AnswerRow) -> AnswerRow:
        item = next(one for one in self._item(f"{row.user_id} at {row.length}").questions if one.task.task_id == row.item)
        answer = item.task.answer
        given = value_in_reply(item.asked(language=self.info.language), row)
        changes = {"expected": answer.value, "given": given or "", "status": _status(answer, given)}
        return row.model_copy(update=changes)

    def events(self, turns: Sequence[DialogueTurn]) -> Iterator[EventRow]:
        for item in self.documents:
            for event in item.events:
                yield EventRow(
                    cluster=item.cluster,
                    length=item.sized.target_tokens,
                    text=event.text,
                    kind=event.kind,
                    at="",
                    source="",
                )

    def page_items(self, run: FinishedRun) -> list[PageItem]:
        """Titles alone: the texts of long tasks would make a page that no browser opens; they are in events.parquet."""
        items = list[PageItem]()
        for item in self.documents:
            length = item.sized.target_tokens
            questions = list[Json]()
            for one in item.questions:
                questions.append({"id": one.task.task_id, "query": one.task.question, "required": [], "options": []})
            periods = [_shown_turn(turn) for turn in item.sized.turns]
            page = PageItem(item.cluster, f"{item.cluster} at {length:,}", questions=questions, periods=periods, length=length)
            items.append(page)
        return items


def _shown_turn(turn: Turn) -> Json:
    documents = list[Json]()
    for one in turn.documents:
        event = f"{one.role}, {counted(one.tokens, 'token')}"
        documents.append({"at": one.title, "event": event, "exposed": {}, "turns": []})
    return {"end": "", "state": {}, "sessions": documents}
