"""Documents in turns for the runner, whatever benchmark they are of: written turn by turn, out of sight, then asked about."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet as pq
from pydantic import ValidationError

from assets.llm.structured_output import extract_json, schema_of_model
from assets.llm.text import count_tokens, spells
from assets.memory_items.ablation import ReaderReply
from assets.memory_items.answers import TypedAnswer, is_right
from assets.memory_items.documents import SizedItem, Turn
from assets.memory_items.final_ablation import stated
from assets.memory_items.tasks import MemoryTask
from assets.recipe.recipe import Recipe
from assets.records.columnar import from_table
from assets.reporting.plurals import counted
from dataset_card.card.header import nested_path
from dataset_card.release.manifest import read_manifest
from pipelines.evaluation.contract import MemoryEvent, Task
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.forecast import ItemSize
from pipelines.evaluation.isolated import EventRow, ReasonerWithMemory, answer_in_conditions
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import Answer, ReadableTask
from pipelines.evaluation.records import AnswerRow, AnswersStep, DialogueTurn, RunManifest, Status
from pipelines.evaluation.report.page import Json, PageItem
from pipelines.evaluation.run import ENDS_ITEM, DatasetInfo, ItemRows, ItemStopped, Run
from pipelines.evaluation.sources import release_recipe
from pipelines.evaluation.spending import StepUsage
from prompts.catalogue import load_prompt
from prompts.template import Message

R = TypeVar("R", bound=MemoryTask)
ASK = "memory_items/ask"
NOUN = "task"
BUDGET = 4_000  # of recalled text: less than the shortest task, so that a memory has to choose


@dataclass(frozen=True)
class DocumentItem:
    """A task at one of its lengths; its items at other lengths are resampled together with it."""

    task: MemoryTask
    sized: SizedItem

    @property
    def item_id(self) -> str:
        return f"{self.task.task_id} at {self.sized.target_tokens}"

    def batches(self) -> Iterator[list[MemoryEvent]]:
        """What is written, turn by turn."""
        for turn in self.sized.turns:
            yield [MemoryEvent(one.perceived, "document") for one in turn.documents]

    @property
    def events(self) -> list[MemoryEvent]:
        """All that is written, in order."""
        return [event for batch in self.batches() for event in batch]

    @property
    def facts(self) -> list[str]:
        """The facts that the answer takes, each as its document states it."""
        documents = list(self.sized.documents)
        return [stated(fact, documents).perceived for fact in self.task.hops]

    @property
    def values(self) -> list[str]:
        """What has to be remembered of these facts, in the words of the documents."""
        texts = {document.document_id: document.text for document in self.sized.documents}
        return [texts[fact.document_id][fact.start : fact.end] for fact in self.task.hops]

    def asked(self, *, language: str) -> ReadableTask[str]:
        """The question with what is in sight; read as "" where the reasoner says that nothing tells."""
        prompt = load_prompt(ASK).render(question=self.task.question, language=language)
        turns = self.sized.turns[len(self.sized.turns) - self.task.eviction.visible_turns :]
        window = [*(one for turn in turns for one in turn.documents), *self.task.shown_with_question]
        task = Task(
            text="\n\n".join(part.content for part in prompt.messages),
            query=self.task.question,
            window=tuple(Message("user", one.perceived) for one in window),
            schema_name="memory_items_ask",
            json_schema=schema_of_model(ReaderReply).json_schema,
        )
        return ReadableTask(task, read_answer)

    def row(self, given: Answer[str], *, asked: str) -> AnswerRow:
        """The answer's row, graded by program."""
        answer, value, values = self.task.answer, given.value, self.values
        found = sum(any(spells(text, value) for text in given.recalled) for value in values)
        return AnswerRow(
            user_id=self.task.task_id,
            period=len(self.sized.turns) - 1,
            item=self.task.task_id,
            expected=answer.value,
            given=value or "",
            status=_status(answer, value),
            options=len(answer.options),
            shown=0,
            required=len(values),
            age=0,
            asked=asked,
            written=len(self.events),
            written_tokens=self.sized.tokens,
            length=self.sized.target_tokens,
            fact_recall=round(found / len(values), 6),
            **given.columns,
        )


def _status(answer: TypedAnswer, given: str | None) -> Status:
    if not given:
        return "unscored" if given is None else "unknown"
    return "right" if is_right(answer, given) else "wrong"


def read_answer(reply: str) -> str:
    """The answer in a reply, "" for null. Raises ValueError for a reply that is none."""
    content = extract_json(reply)
    try:
        return ReaderReply.model_validate(content).answer or ""
    except ValidationError as error:
        raise ValueError('Answer with one JSON object that has the key "answer".') from error


@dataclass(frozen=True)
class DocumentTasks:
    """The tasks of a release of documents in turns, at all their lengths, the shortest first."""

    info: DatasetInfo
    documents: tuple[DocumentItem, ...]

    @classmethod
    def of_release(cls, folder: Path, record: type[MemoryTask]) -> "DocumentTasks":
        """The tasks of a verified release; `record` is that of its benchmark's finished items. Raises EvaluationError."""
        manifest, recipe = read_manifest(folder), release_recipe(folder, Recipe)
        rows = read_rows(folder / nested_path(manifest.variant), record)
        items = [DocumentItem(row, sized) for row in rows for sized in row.lengths]
        info = DatasetInfo(
            benchmark=recipe.benchmark,
            name=f"{manifest.variant} {manifest.version}",
            digest=manifest.digest,
            language=recipe.language_name,
            noun=NOUN,
            users=tuple(row.task_id for row in rows),
            roles=("assistant", "memory", "embedding"),
            prompts=("evaluation/remember", "evaluation/ask_again", "memories/", ASK),
            tokens=BUDGET,
        )
        return cls(info, tuple(sorted(items, key=lambda item: item.sized.target_tokens)))

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(item.item_id for item in self.documents)

    def first(self, users: int | None) -> "DocumentTasks":
        if users is None:
            return self
        known = self.info.users
        if not 1 <= users <= len(known):
            raise EvaluationError(
                f"{self.info.name} has {counted(len(known), NOUN)}; --users {users} cannot be taken from them."
            )
        kept = known[:users]
        items = (item for item in self.documents if item.task.task_id in kept)
        return DocumentTasks(replace(self.info, users=kept), tuple(items))

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        if whole or options.of_dialogues:
            wrong = "--assistant" if whole else options.of_dialogues[0]
            raise EvaluationError(
                f"{wrong} is for AMemGym, where there are dialogues; {self.info.name} has documents, which --memory is for."
            )
        return {"mode": "documents"}

    def sizes(self, manifest: RunManifest) -> Iterator[ItemSize]:
        for item in self.documents:
            written = len(item.events)
            yield ItemSize(
                written=written,
                event_tokens=item.sized.tokens / max(1, written),
                questions=[item.sized.tokens],
                question_tokens=count_tokens(item.task.question),
                steps=1,
            )

    async def evaluate(self, run: Run, item_id: str, rows: ItemRows) -> None:
        rows.add(await run.step(f"{item_id}/asked", AnswersStep, partial(self._asked, run, self._item(item_id))))

    async def _asked(self, run: Run, item: DocumentItem) -> AnswersStep:
        """Write everything to a new memory, then ask it. Raises ItemStopped."""
        task_id, task = item.task.task_id, item.asked(language=self.info.language)
        host, place = run.host(task_id), "the beginning"
        try:
            memory = await host.new_memory()
            for number, batch in enumerate(item.batches()):
                place = f"turn {number}"
                await memory.write(batch)
            place = "the question"
            given = await answer_in_conditions(
                task,
                ReasonerWithMemory(run.reasoner("interview", item_id=task_id), memory),
                run.bare(task_id),
                facts=item.facts,
                everything=[event.line for event in item.events],
                manifest=run.manifest,
            )
        except ENDS_ITEM as error:
            raise ItemStopped(place, error) from error
        finally:
            host.close()
        answers = tuple(item.row(one, asked=task.task.text) for one in given)
        usage = StepUsage(lost_writes=host.lost_writes)
        return AnswersStep(answers=answers, seconds=(given[0].seconds,), usage=usage)

    def _item(self, item_id: str) -> DocumentItem:
        return next(item for item in self.documents if item.item_id == item_id)

    def unasked(self, manifest: RunManifest, item_id: str, answers: Sequence[AnswerRow], *, reason: str) -> list[AnswerRow]:
        item, nothing = self._item(item_id), Answer[str](None, "", 0, reason)
        return [] if answers else [item.row(nothing, asked=item.task.question)]

    def events(self, turns: Sequence[DialogueTurn]) -> Iterator[EventRow]:
        for item in self.documents:
            for event in item.events:
                yield EventRow(
                    cluster=item.task.task_id,
                    length=item.sized.target_tokens,
                    text=event.text,
                    kind=event.kind,
                    at="",
                    source="",
                )

    def page_items(self, run: FinishedRun) -> list[PageItem]:
        """Titles alone: the texts of long tasks would make a page that no browser opens; they are in events.parquet."""
        return [
            PageItem(
                item.task.task_id,
                name=f"{item.task.task_id} at {item.sized.target_tokens:,}",
                length=item.sized.target_tokens,
                questions=[{"id": item.task.task_id, "query": item.task.question, "required": [], "options": []}],
                periods=[_shown_turn(turn) for turn in item.sized.turns],
            )
            for item in self.documents
        ]


def _shown_turn(turn: Turn) -> Json:
    documents: list[Json] = [
        {"at": one.title, "event": f"{one.role}, {counted(one.tokens, 'token')}", "exposed": {}, "turns": []}
        for one in turn.documents
    ]
    return {"end": "", "state": {}, "sessions": documents}


def read_rows(path: Path, record: type[R]) -> list[R]:
    """The rows of a release's table, one at least. Raises EvaluationError for a table that holds other things."""
    parquet: Any = pq  # typed in part only
    try:
        rows = from_table(parquet.read_table(path), record_type=record)
    except (OSError, KeyError, ValueError) as error:
        raise EvaluationError(f"{path} cannot be read as tasks over documents: {str(error).splitlines()[0]}.") from error
    if not rows:
        raise EvaluationError(f"{path} holds no {NOUN}; there is nothing to evaluate on.")
    return rows
