"""The one runner of timelines: deadlines, errors, copies and checkpoints of every benchmark are those of this module.

What a memory is told lies behind it until something is needed of the memory. A run that is taken up again reads its finished
steps, and tells the memory what they held only where a later step is still to do.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from assets.llm.ports import RequestFailed
from assets.llm.usage import Usage
from assets.records.base import ItemFailed
from pipelines.evaluation.isolated import (
    ReasonerWithMemory,
    Recalling,
    answer_from,
    answer_from_memory,
    answer_in_conditions,
    answer_recalled,
    recall_and_answer,
    recall_texts,
)
from pipelines.evaluation.reasoning import Answer, end_tasks, gather_or_cancel
from pipelines.evaluation.records import OF_BASELINES, AnswerRow, AnswersStep, DialogueStep, DialogueTurn
from pipelines.evaluation.spending import Checkpoint, StepUsage, count_usage
from pipelines.evaluation.timeline.context import EvaluationContext
from pipelines.evaluation.timeline.steps import (
    Act,
    Ask,
    AskedQuestion,
    Converse,
    Forget,
    Life,
    Perceived,
    Settle,
    Timeline,
    Write,
)
from pipelines.evaluation.timeline.subjects import MemorySubject, Subject, events_of, new_subject, observe_sessions
from pipelines.memories.contract import MemoryEvent
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.hosting.hosted import MemoryHost

S = TypeVar("S", bound=Checkpoint)
# What ends one item: its memory, or a request that the endpoint refuses while it serves others.
ENDS_ITEM = (MemoryFailed, RequestFailed, ItemFailed)


@dataclass
class ItemRows:
    """The rows of one item's steps, and their usage."""

    turns: list[DialogueTurn] = field(default_factory=list[DialogueTurn])
    answers: list[AnswerRow] = field(default_factory=list[AnswerRow])
    seconds: list[float | None] = field(default_factory=list[float | None])
    usage: StepUsage = field(default_factory=StepUsage)

    def add(self, step: DialogueStep | AnswersStep) -> None:
        if isinstance(step, DialogueStep):
            self.turns += step.turns
        else:
            self.answers += step.answers
            self.seconds += step.seconds
        self.usage += step.usage


@dataclass(frozen=True)
class HeardAgain:
    """Sessions of a checkpoint, which the memory has not heard in this process."""

    turns: Sequence[DialogueTurn]
    place: str

    async def take_in(self, subject: Subject) -> None:
        await observe_sessions(subject, self.turns)


@dataclass
class Behind:
    """Something that the memory is still to be told, under the policy that it had then. `counted`: by an earlier process."""

    told: Write | Forget | Settle | HeardAgain
    policy: str | None
    counted: bool = False


@dataclass
class Play:
    """One life of a timeline at work. `key` begins the names of its steps; `policy` is the section that a memory has instead
    of its own. `place`: where it is, for whoever reads what ended it. `seen`: all that was perceived so far.
    """

    context: EvaluationContext
    timeline: Timeline
    life: Life
    key: str
    policy: str | None = None
    place: str = "at the beginning"
    host: MemoryHost | None = None
    subject: Subject | None = None
    seen: list[MemoryEvent] = field(default_factory=list[MemoryEvent])
    behind: list[Behind] = field(default_factory=list[Behind])

    async def play(self, rows: ItemRows) -> None:
        """Play all steps, into `rows`. What ends it is raised, with what was done until then in `rows`."""
        begun = list[asyncio.Task[AnswersStep]]()
        try:
            for step in self.timeline.steps:
                _raise_failure(begun)
                if isinstance(step, Converse):
                    rows.add(await self.converse(step))
                elif isinstance(step, Act):
                    rows.add(await self.act(step))
                elif isinstance(step, Ask):
                    begun.append(await self.begin_ask(step))
                    if not step.of_copy:
                        await begun[-1]
                else:
                    self._tell(step)
            for done in await gather_or_cancel(begun):
                rows.add(done)
        except ENDS_ITEM:
            # What was begun before is finished.
            for done in await asyncio.gather(*begun, return_exceptions=True):
                if isinstance(done, AnswersStep):
                    rows.add(done)
            raise
        finally:
            await end_tasks(begun)
            await self.close()

    async def close(self) -> None:
        """End what the subject has started, also where it could not be made."""
        if self.host is not None:
            await self.host.close()

    async def converse(self, step: Converse) -> DialogueStep:
        """Hold a period's sessions; of those of a checkpoint the subject hears when it is needed."""

        async def hold() -> DialogueStep:
            subject = await self._catch_up(step.place)
            return DialogueStep(turns=tuple(await step.hold(self.context, subject)))

        done, stored = await self._do(step.key, DialogueStep, hold)
        if stored:
            self.behind.append(Behind(HeardAgain(done.turns, step.place), self.policy, counted=True))
        self.seen += events_of(done.turns)
        return done

    async def act(self, step: Act) -> AnswersStep:
        """Act an episode; what the memory did not hear of it while it lasted, it is told when it is needed again."""

        async def act() -> AnswersStep:
            reasoner = self.context.bare(self.timeline.cluster)
            if self.life.remembers:
                subject = await self._catch_up(step.place)
                assert isinstance(subject, MemorySubject)
                reasoner = subject
            written = reasoner.memory.written if reasoner.memory is not None else []
            before = len(written)
            acted = await step.act(self.context, reasoner, life=self.life, earlier=self.seen)
            heard = tuple(written[before:])
            await self._count_stored(step, reasoner)
            given = replace(acted.answer, kind=self.life.kind, budget=self.life.tokens if self.life.remembers else 0)
            rows = [row.model_copy(update={"asked": acted.asked}) for row in step.rows(given, Perceived(acted.events))]
            return AnswersStep(answers=tuple(rows), heard=heard, left=tuple(acted.events[sum(map(len, heard)) :]))

        done, stored = await self._do(step.item, AnswersStep, act)
        for batch in done.heard:
            self.seen += batch
            if stored:
                self.behind.append(Behind(Write(batch, step.place), self.policy, counted=True))
        self.seen += done.left
        if self.life.remembers and done.left:
            self.behind.append(Behind(Write(done.left, step.place), self.policy))
        return done

    async def begin_ask(self, step: Ask) -> asyncio.Task[AnswersStep]:
        """Begin to ask: a copy as it is now, or the subject itself, which nothing else may happen to until it is done."""
        seen = Perceived(tuple(self.seen))
        if self.context.manifest.is_alone or not step.needs_memory:
            ask = partial(self._ask, step, seen, None)
            return asyncio.create_task(self.context.step(self._key(step.key), AnswersStep, ask))
        if step.of_copy:
            return await self.begin(step.key, AnswersStep, partial(self._ask, step, seen), place=step.place)

        async def ask_here() -> AnswersStep:
            return await self._ask(step, seen, await self._catch_up(step.place))

        async def do() -> AnswersStep:
            done, _ = await self._do(step.key, AnswersStep, ask_here)
            return done

        return asyncio.create_task(do())

    async def begin(
        self, name: str, kind: type[S], work: Callable[[Subject], Awaitable[S]], *, place: str = ""
    ) -> asyncio.Task[S]:
        """Take a copy now, and begin to work on it; a step that is stored needs no copy."""
        key = self._key(name)
        copy: Subject | None = None
        # What a copy costs, such as writing a memory anew, is counted with the step that needs it.
        with count_usage(alone=True) as copying:
            if await self.context.folder.read_step(key, kind) is None:
                subject = await self._catch_up(place or self.place)
                copy = await subject.fork()
            else:
                self._mark_counted()

        async def work_on_copy() -> S:
            assert copy is not None
            await copy.settle()
            step = await work(copy)
            return step.model_copy(update={"usage": step.usage + copying.step_usage()})

        return asyncio.create_task(self.context.step(key, kind, work_on_copy))

    def _tell(self, step: Write | Forget | Settle) -> None:
        self.behind.append(Behind(step, self.policy))
        if isinstance(step, Write):
            self.seen += step.events
        elif isinstance(step, Forget):
            self.seen.append(step.request)

    def _key(self, name: str) -> str:
        return f"{self.key}/{self.life.name}{name}"

    async def _do(self, name: str, kind: type[S], work: Callable[[], Awaitable[S]]) -> tuple[S, bool]:
        """Return the step, and whether it was stored: then what lies behind it was counted with it."""
        stored = True

        async def do() -> S:
            nonlocal stored
            stored = False
            return await work()

        step = await self.context.step(self._key(name), kind, do)
        if stored:
            self._mark_counted()
        return step, stored

    def _mark_counted(self) -> None:
        for entry in self.behind:
            entry.counted = True

    async def _catch_up(self, place: str) -> Subject:
        """Return the subject after all that lies behind it. What an earlier process counted is not counted again."""
        if self.host is None:
            self.host = self.context.host(self.timeline.cluster)
        if self.subject is None:
            with count_usage(alone=True) if any(entry.counted for entry in self.behind) else nullcontext():
                self.subject = await new_subject(self.context, self.host, self.timeline.cluster)
        for entry in self.behind:
            self.place = entry.told.place
            with count_usage(alone=True) if entry.counted else nullcontext():
                self.subject = await _under(self.subject, entry.policy)
                await entry.told.take_in(self.subject)
        self.behind.clear()
        self.place = place
        self.subject = await _under(self.subject, self.policy)
        return self.subject

    async def _count_stored(self, step: Ask | Act, subject: Recalling | None) -> None:
        """Count what the memory holds at the end of its item."""
        if step is self.timeline.steps[-1] and isinstance(subject, ReasonerWithMemory):
            await subject.count_stored()

    async def _ask(self, step: Ask, seen: Perceived, subject: Subject | None) -> AnswersStep:
        """Ask all questions at the same time, because recalling changes nothing."""
        if isinstance(subject, MemorySubject):
            subject = replace(subject, waits=False)
        together = [question for question in step.questions if question.shares_call]
        work = [self._ask_question(question, seen, subject) for question in step.questions if not question.shares_call]
        if subject is not None:
            work.append(self._ask_together(together, seen, subject))
        parts = await gather_or_cancel(work)
        answers = list[AnswerRow]()
        seconds = list[float | None]()
        for part in parts:
            answers += part.answers
            seconds += part.seconds
        await self._count_stored(step, subject)
        return AnswersStep(answers=tuple(answers), seconds=tuple(seconds))

    async def _ask_question(self, question: AskedQuestion, seen: Perceived, subject: Subject | None) -> AnswersStep:
        manifest = self.context.manifest
        bare = question.asked_of(self.context, self.context.bare(self.timeline.cluster))
        task = question.readable
        seconds: tuple[float | None, ...] = ()
        if question.kind in OF_BASELINES:
            answers = [await answer_from(task, bare, (), kind=question.kind)]
        elif subject is None:
            texts = question.texts(seen, seed=manifest.seed)
            answers = await answer_in_conditions(task, bare, texts=texts, manifest=manifest)
        elif question.kind == "question":
            asked = question.asked_of(self.context, subject)
            texts = question.texts(seen, seed=manifest.seed)
            answers = await answer_from_memory(task, asked, bare, texts=texts, manifest=manifest)
            seconds = (answers[0].seconds,)
        else:
            asked = question.asked_of(self.context, subject)
            answers = [await recall_and_answer(task, asked, tokens=manifest.tokens, kind=question.kind)]
        rows = list[AnswerRow]()
        for answer in answers:
            rows += question.rows(answer, seen)
        return AnswersStep(answers=tuple(rows), seconds=seconds)

    async def _ask_together(self, questions: Sequence[AskedQuestion], seen: Perceived, subject: Subject) -> AnswersStep:
        """Ask questions for which the same was recalled in one call: the first one's rows have its usage."""
        tokens = self.context.manifest.tokens
        recalls = [recall_texts(question.readable, subject, tokens=tokens, kind=question.kind) for question in questions]
        groups = dict[tuple[str, ...] | Answer[Any], list[AskedQuestion]]()
        for question, recalled in zip(questions, await gather_or_cancel(recalls), strict=True):
            groups.setdefault(recalled, []).append(question)
        work = [self._ask_group(group, recalled, seen, subject) for recalled, group in groups.items()]
        rows = chain.from_iterable(await gather_or_cancel(work))
        return AnswersStep(answers=tuple(rows))

    async def _ask_group(
        self, group: Sequence[AskedQuestion], recalled: tuple[str, ...] | Answer[Any], seen: Perceived, subject: Subject
    ) -> list[AnswerRow]:
        asked = [question.in_one_call(group) for question in group]
        answer = recalled
        if not isinstance(answer, Answer):
            task = asked[0].readable
            kind = asked[0].kind
            answer = await answer_recalled(task, subject, answer, tokens=self.context.manifest.tokens, kind=kind)
        rows = list[AnswerRow]()
        for question in asked:
            rows += question.rows(answer, seen)
            answer = replace(answer, usage=Usage())
        return rows


async def _under(subject: Subject, policy: str | None) -> Subject:
    if policy is None or not isinstance(subject, MemorySubject) or subject.policy == policy:
        return subject
    return await subject.with_policy(policy)


def _raise_failure(tasks: Sequence[asyncio.Task[AnswersStep]]) -> None:
    """Raise what ended one of the tasks, so that nothing is paid for that would only be thrown away."""
    for task in tasks:
        if task.done():
            task.result()
