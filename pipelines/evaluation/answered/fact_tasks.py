"""User facts for the runner: sessions are lived one by one, and facts are asked about at the end of the life.

A fact that was to be forgotten is also asked about before: after the request, when the memory has finished its work, and
after somebody else's mail has told it again.
"""

from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

from assets.engine.seeded_random import SeededRandom
from assets.text.words import count_tokens, spells
from assets.user_facts.records import FactChoice, FactQuestion, FactSession, FactUser
from assets.user_facts.states import COURSE_SEPARATOR
from pipelines.evaluation.amemgym.questions import choice_schema, read_option
from pipelines.evaluation.answered.releases import read_release_rows, release_info
from pipelines.evaluation.arms import TextsAtHand
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.forecast import ItemSize
from pipelines.evaluation.isolated import EventRow, ReasonerWithMemory, answer_from, answer_in_conditions
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import Answer, ReadableTask, gather_or_cancel, joined_text, value_in_reply
from pipelines.evaluation.records import AnswerRow, AnswersStep, DialogueTurn, RunManifest, Status
from pipelines.evaluation.report.page import Json, PageItem
from pipelines.evaluation.run import ENDS_ITEM, DatasetInfo, ItemRows, ItemStopped, Run
from pipelines.evaluation.spending import StepUsage, memory_call
from pipelines.memories.contract import MemoryEvent, Task, lines_of
from pipelines.memories.hosting import HostedMemory
from prompts.catalogue import load_prompt

ASK = "facts_questions/ask"
BUDGET = 500  # tokens of recalled text: a third of a life, so that a memory has to choose
AT_ONCE = "at once"
SETTLED = "settled"
TOLD_AGAIN = "told again"


@dataclass(frozen=True)
class AskedFact:
    """A question with its choices in the order in which they are shown."""

    user_id: str
    question: FactQuestion
    choices: Sequence[FactChoice]

    def asked(self) -> ReadableTask[str]:
        """Return the question; read as the id of a choice."""
        lines = [f"{number}. {one.text}" for number, one in enumerate(self.choices, start=1)]
        prompt = load_prompt(ASK).render(question=self.question.text, choices="\n".join(lines))
        task = Task(
            text=joined_text(prompt.messages),
            query=self.question.text,
            schema_name=ASK.replace("/", "_"),
            json_schema=choice_schema(len(self.choices)),
        )
        return ReadableTask(task, self._read)

    def _read(self, reply: str) -> str:
        return self.choices[read_option(reply, [one.text for one in self.choices]) - 1].choice_id

    def outcome(self, given: str | None) -> tuple[Status, str]:
        """Return whether a choice is right, and what choosing it means."""
        chosen = next((one for one in self.choices if one.choice_id == given), None)
        if chosen is None:
            return "unscored", ""
        if chosen.outcome == "right":
            return "right", "right"
        return ("unknown" if chosen.outcome == "not_known" else "wrong"), chosen.outcome

    def row(self, given: Answer[str], *, session: int, written: Sequence[MemoryEvent], moment: str = "") -> AnswerRow:
        """Return the answer's row. `session`: after which it was asked."""
        question = self.question
        status, outcome = self.outcome(given.value)
        values = [value for value in question.right.value.split(COURSE_SEPARATOR) if value]
        recalled = [value for value in values if any(spells(text, value) for text in given.recalled)]
        deleted = question.deleted_value
        leaks = [text for text in given.recalled if deleted and spells(text, deleted)]
        return AnswerRow(
            user_id=self.user_id,
            period=session,
            item=f"{question.question_id} {moment}".strip(),
            expected=question.right.choice_id,
            given=given.value or "",
            status=status,
            options=len(self.choices),
            shown=1 + [one.choice_id for one in self.choices].index(question.right.choice_id),
            required=len(question.bearing),
            age=question.age,
            asked=self.asked().task.text,
            written=len(written),
            written_tokens=sum(count_tokens(event.text) for event in written),
            fact_recall=round(len(recalled) / len(values), 6) if values else 1.0,
            about=question.kind,
            outcome=outcome,
            moment=moment,
            changes=question.changes,
            leaks=len(leaks),
            **given.columns,
        )


def told_events(session: FactSession) -> list[MemoryEvent]:
    """Return what a memory perceives of a session, in order."""
    events = [MemoryEvent(session.message, "user", session.at)]
    if session.request:
        events.append(MemoryEvent(session.request, "user", session.at))
    if session.mail:
        events.append(MemoryEvent(session.mail, "document", session.at, "forwarded mail"))
    return events


@dataclass
class _Life:
    """One user's life as it is lived by a memory, and the answers so far."""

    run: Run
    user: FactUser
    memory: HostedMemory
    subject: ReasonerWithMemory
    facts: Sequence[AskedFact]

    def __post_init__(self) -> None:
        self.rows: list[AnswerRow] = []
        self.written: list[MemoryEvent] = []
        self.seconds: list[float | None] = []

    async def live(self, session: FactSession) -> None:
        """Let the memory take in a session, and ask about what was to be forgotten."""
        for event in told_events(session):
            self.written.append(event)
            with memory_call("write"):
                if session.request and event.text == session.request:
                    await self.memory.forget(event)
                else:
                    await self.memory.write([event])
            if session.request and event.text == session.request:
                own = [one for one in self.facts if one.question.forgotten_at == session.number]
                await self._ask_at(AT_ONCE, own, session=session.number)
                await self._ask_at(SETTLED, own, session=session.number)
        own = [one for one in self.facts if one.question.refed_at == session.number]
        await self._ask_at(TOLD_AGAIN, own, session=session.number)

    async def _ask_at(self, moment: str, facts: Sequence[AskedFact], *, session: int) -> None:
        for fact in facts:
            task = fact.asked()
            if moment == AT_ONCE:
                # Before it has finished its work: what a user would see right after the request.
                recalled = await self.memory.recall(task.task.query, tokens=self.run.manifest.tokens, settled=False)
            else:
                recalled = await self.subject.recall(task.task.query, tokens=self.run.manifest.tokens)
            given = await answer_from(task, self.subject, recalled, kind="moment", budget=self.run.manifest.tokens)
            given = replace(given, recalled=tuple(recalled))
            self.rows.append(fact.row(given, session=session, written=self.written, moment=moment))

    async def ask_all(self) -> None:
        """Ask about every fact, at the end of the life."""
        bare = self.run.bare(self.user.user_id)
        calls: list[Awaitable[list[Answer[str]]]] = []
        for fact in self.facts:
            texts = self._texts_at_hand(fact)
            calls.append(answer_in_conditions(fact.asked(), self.subject, bare, texts=texts, manifest=self.run.manifest))
        answers = await gather_or_cancel(calls)
        last = len(self.user.sessions) - 1
        for fact, given in zip(self.facts, answers, strict=True):
            self.rows += [fact.row(one, session=last, written=self.written) for one in given]
            self.seconds.append(given[0].seconds)

    def _texts_at_hand(self, fact: AskedFact) -> TextsAtHand:
        needed: list[str] = []
        others: list[str] = []
        for session in self.user.sessions:
            lines = lines_of(told_events(session))
            if session.number in fact.question.bearing:
                needed += lines
            else:
                others += lines
        path = (self.run.manifest.seed, self.user.user_id, fact.question.question_id)
        return TextsAtHand(needed, lines_of(self.written), others=others, path=path)


@dataclass(frozen=True)
class FactTasks:
    """The users of a release of user facts."""

    info: DatasetInfo
    lives: tuple[FactUser, ...]

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(user.user_id for user in self.lives)

    def first(self, users: int | None) -> Self:
        info = self.info.first(users)
        return replace(self, info=info, lives=self.lives[: len(info.users)])

    def replaying(self, recorded: FinishedRun) -> Self:
        raise self.info.refused("--replay")

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        self.info.check_options(options, whole=whole)
        return {"mode": "documents"}

    def sizes(self, manifest: RunManifest) -> Iterator[ItemSize]:
        for user in self.lives:
            events = _events_of(user)
            tokens = sum(count_tokens(event.text) for event in events)
            asked = user.questions[0].text
            moments = [one for one in user.questions if one.forgotten_at is not None]
            yield ItemSize(
                written=len(events),
                event_tokens=tokens / max(1, len(events)),
                questions=[tokens] * len(user.questions),
                question_tokens=count_tokens(asked),
                steps=1,
                requests=sum(bool(session.request) for session in user.sessions),
                probes=[tokens] * (3 * len(moments)),
            )

    async def evaluate(self, run: Run, item_id: str, rows: ItemRows) -> None:
        rows.add(await run.step(f"{item_id}/asked", AnswersStep, partial(self._lived, run, self._user(item_id))))

    async def _lived(self, run: Run, user: FactUser) -> AnswersStep:
        """Live a whole life with a new memory. Raises ItemStopped."""
        host = run.host(user.user_id)
        place = "the beginning"
        try:
            memory = await host.new_memory()
            subject = ReasonerWithMemory(run.reasoner("interview", item_id=user.user_id), memory)
            life = _Life(run, user, memory, subject, self._facts(run.manifest, user))
            for session in user.sessions:
                place = f"session {session.number}"
                await life.live(session)
            place = "the questions"
            await life.ask_all()
            await subject.count_stored()
        except ENDS_ITEM as error:
            raise ItemStopped(place, error) from error
        finally:
            await host.close()
        usage = StepUsage(lost_writes=host.lost_writes)
        return AnswersStep(answers=tuple(life.rows), seconds=tuple(life.seconds), usage=usage)

    def _facts(self, manifest: RunManifest, user: FactUser) -> list[AskedFact]:
        found: list[AskedFact] = []
        for one in user.questions:
            order = SeededRandom(manifest.seed, user.user_id, one.question_id)
            found.append(AskedFact(user.user_id, one, order.shuffled(one.choices)))
        return found

    def controls(self, manifest: RunManifest, item_id: str) -> list[AnswerRow]:
        return []

    def _user(self, item_id: str) -> FactUser:
        return next(user for user in self.lives if user.user_id == item_id)

    def unasked(self, manifest: RunManifest, item_id: str, answers: Sequence[AnswerRow], *, reason: str) -> list[AnswerRow]:
        # All answers of a life are one step: there are all of them, or none.
        if answers:
            return []
        user = self._user(item_id)
        last = len(user.sessions) - 1
        nothing = Answer[str](None, "", 0, reason)
        return [fact.row(nothing, session=last, written=()) for fact in self._facts(manifest, user)]

    def graded(self, manifest: RunManifest, row: AnswerRow) -> AnswerRow:
        question_id = row.item.removesuffix(row.moment).strip()
        facts = self._facts(manifest, self._user(row.user_id))
        fact = next(one for one in facts if one.question.question_id == question_id)
        given = value_in_reply(fact.asked(), row)
        status, outcome = fact.outcome(given)
        changes = {"expected": fact.question.right.choice_id, "given": given or "", "status": status, "outcome": outcome}
        return row.model_copy(update=changes)

    def events(self, turns: Sequence[DialogueTurn]) -> Iterator[EventRow]:
        for user in self.lives:
            for one in _events_of(user):
                at = one.at.isoformat(sep=" ") if one.at else ""
                yield EventRow(cluster=user.user_id, text=one.text, kind=one.kind, at=at, source=one.source)

    def page_items(self, run: FinishedRun) -> list[PageItem]:
        items: list[PageItem] = []
        for user in self.lives:
            questions: list[Json] = []
            for one in user.questions:
                options = [{"id": choice.choice_id, "text": choice.text, "state": [choice.outcome]} for choice in one.choices]
                shown: Json = {"id": one.question_id, "query": one.text, "required": [], "options": options}
                questions.append(shown)
                if one.forgotten_at is not None:
                    for moment in (AT_ONCE, SETTLED, TOLD_AGAIN):
                        questions.append({**shown, "id": f"{one.question_id} {moment}"})
            periods = [_shown_session(session) for session in user.sessions]
            items.append(PageItem(user.user_id, user.name, questions=questions, periods=periods))
        return items


def _events_of(user: FactUser) -> list[MemoryEvent]:
    events: list[MemoryEvent] = []
    for session in user.sessions:
        events += told_events(session)
    return events


def _shown_session(session: FactSession) -> Json:
    turns: list[Json] = []
    for event in told_events(session):
        turns.append({"message": event.text, "reply": "", "breaches": []})
    told: dict[str, str] = {}
    for one in session.statements:
        told[one.label] = f"{one.shape}: {one.value}" if one.value else one.shape
    shown: Json = {"at": f"{session.at:%Y-%m-%d %H:%M}", "event": "", "exposed": told, "turns": turns}
    return {"end": f"{session.at:%Y-%m-%d}", "state": {}, "sessions": [shown]}


def read_fact_tasks(folder: Path, record: type[FactUser]) -> FactTasks:
    """Return the users of a verified release. Raises EvaluationError."""
    lives = read_release_rows(folder, record)
    info = release_info(folder, noun="user", users=[user.user_id for user in lives], ask=ASK, tokens=BUDGET)
    return FactTasks(info, tuple(lives))
