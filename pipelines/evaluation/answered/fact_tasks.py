"""User facts for the runner: sessions are lived one by one, and facts are asked about at the end of the life.

A fact that was to be forgotten is also asked about before: after the request, when the memory has finished its work, and
after somebody else's mail has told it again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Self

from assets.engine.seeded_random import SeededRandom
from assets.text.words import count_tokens, spells
from assets.user_facts.records import FactChoice, FactQuestion, FactSession, FactUser
from assets.user_facts.states import COURSE_SEPARATOR
from pipelines.evaluation.answered.fact_metrics import AT_ONCE, DAY_BEFORE, SETTLED, TOLD_AGAIN
from pipelines.evaluation.answered.releases import read_release_rows, release_info
from pipelines.evaluation.arms import TextsAtHand
from pipelines.evaluation.choices import choice_schema, read_option
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import Answer, ReadableTask, joined_text
from pipelines.evaluation.records import AnswerRow, AskKind, RunManifest
from pipelines.evaluation.run import DatasetInfo
from pipelines.evaluation.timeline.steps import Ask, AskedQuestion, Forget, Json, Perceived, Settle, Step, Timeline, Write
from pipelines.memories.contract import MemoryEvent, Task, lines_of
from prompts.catalogue import load_prompt

ASK = "facts_questions/ask"
BUDGET = 0.1  # of a life's tokens, as recalled text
LEAST_BUDGET = 600  # tokens, which hold all that a question needs; a tenth of a demo's life does not


@dataclass(frozen=True)
class FactAsked(AskedQuestion):
    """A question about a fact after a session, with its choices in the order in which they are shown.

    `moment`: when a fact is asked about that was to be forgotten; "" at the end of the life.
    """

    user: FactUser
    question: FactQuestion
    choices: Sequence[FactChoice]
    session: int
    kind: AskKind = "question"
    moment: str = ""

    @property
    def asked_moment(self) -> str:
        """When it is asked, or that it asks for a day on which its last change was still to come."""
        day = self.question.day
        change = self.user.sessions[-1 - self.question.age]
        return DAY_BEFORE if day and day < change.at.date() else self.moment

    @property
    def item(self) -> str:
        return f"{self.question.question_id} {self.moment}".strip()

    def render(self) -> ReadableTask[str]:
        """The question; read as the id of a choice."""
        lines = [f"{number}. {choice.text}" for number, choice in enumerate(self.choices, start=1)]
        prompt = load_prompt(ASK).render(question=self.question.text, choices="\n".join(lines))
        task = Task(
            text=joined_text(prompt.messages),
            query=self.question.text,
            schema_name=ASK.replace("/", "_"),
            json_schema=choice_schema(len(self.choices)),
        )
        return ReadableTask(task, self._read)

    def _read(self, reply: str) -> str:
        return self.choices[read_option(reply, [choice.text for choice in self.choices]) - 1].choice_id

    def verdict(self, value: Any, *, period: int) -> dict[str, Any]:
        verdict = {"expected": self.question.right.choice_id, "given": value or ""}
        chosen = next((choice for choice in self.choices if choice.choice_id == value), None)
        if chosen is None:
            return {**verdict, "status": "unscored", "outcome": ""}
        status = {"right": "right", "not_known": "unknown"}.get(chosen.outcome, "wrong")
        return {**verdict, "status": status, "outcome": chosen.outcome}

    def rows(self, given: Answer[str], seen: Perceived) -> list[AnswerRow]:
        question = self.question
        values = [value for value in question.right.value.split(COURSE_SEPARATOR) if value]
        recalled = [value for value in values if any(spells(text, value) for text in given.recalled)]
        deleted = question.deleted_value
        leaks = [text for text in given.recalled if deleted and spells(text, deleted)]
        row = AnswerRow(
            user_id=self.user.user_id,
            period=self.session,
            item=self.item,
            **self.verdict(given.value, period=self.session),
            options=len(self.choices),
            shown=1 + [choice.choice_id for choice in self.choices].index(question.right.choice_id),
            required=len(question.bearing),
            age=question.age,
            asked=self.readable.task.text,
            written=len(seen.events),
            written_tokens=seen.tokens,
            fact_recall=round(len(recalled) / len(values), 6) if values else 1.0,
            about=question.kind,
            moment=self.asked_moment,
            changes=question.changes,
            leaks=len(leaks),
            **given.columns,
        )
        return [row]

    def texts(self, seen: Perceived, *, seed: int) -> TextsAtHand:
        needed: list[str] = []
        others: list[str] = []
        for session in self.user.sessions:
            lines = lines_of(told_events(session))
            if session.number in self.question.bearing:
                needed += lines
            else:
                others += lines
        path = (seed, self.user.user_id, self.question.question_id)
        return TextsAtHand(needed, lines_of(seen.events), others=others, path=path)

    @property
    def page_fields(self) -> Json:
        options = [{"id": choice.choice_id, "text": choice.text, "state": [choice.outcome]} for choice in self.choices]
        return {"query": self.question.text, "required": [], "options": options}


def told_events(session: FactSession) -> list[MemoryEvent]:
    """Return what a memory perceives of a session, in order."""
    events = [MemoryEvent(session.message, "user", session.at)]
    if session.request:
        events.append(MemoryEvent(session.request, "user", session.at))
    if session.mail:
        events.append(MemoryEvent(session.mail, "document", session.at, "forwarded mail"))
    return events


@dataclass(frozen=True)
class FactTasks:
    """The users of a release of user facts."""

    info: DatasetInfo
    lives: tuple[FactUser, ...]

    def first(self, users: int | None) -> Self:
        info = self.info.first(users)
        return replace(self, info=info, lives=self.lives[: len(info.users)])

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        self.info.check_options(options, whole=whole)
        return {"mode": "fact"}

    def timelines(self, manifest: RunManifest) -> list[Timeline]:
        timelines: list[Timeline] = []
        for user in self.lives:
            facts: list[FactAsked] = []
            last = len(user.sessions) - 1
            for question in user.questions:
                order = SeededRandom(manifest.seed, user.user_id, question.question_id)
                facts.append(FactAsked(user, question, order.shuffled(question.choices), last))
            steps: list[Step] = []
            for session in user.sessions:
                steps += _session_steps(session, facts)
            place = "the questions"
            steps += [Settle(place), Ask("asked", place, facts)]
            timelines.append(Timeline(user.user_id, user.user_id, steps, user.name))
        return timelines


def _session_steps(session: FactSession, facts: Sequence[FactAsked]) -> Iterator[Step]:
    """Yield how a session is told, and at each moment what is asked about facts that were to be forgotten in it."""
    place = f"session {session.number}"
    shown: Json | None = _shown_session(session)
    for event in told_events(session):
        if session.request and event.text == session.request:
            yield Forget(event, place)
            forgotten = [fact for fact in facts if fact.question.forgotten_at == session.number]
            # Before it has finished its work: what a user would see right after the request.
            yield from _asked_at(AT_ONCE, forgotten, session=session.number, place=place)
            yield Settle(place)
            yield from _asked_at(SETTLED, forgotten, session=session.number, place=place)
        else:
            yield Write([event], place, shown)
            shown = None
    told_again = [fact for fact in facts if fact.question.refed_at == session.number]
    if told_again:
        yield Settle(place)
        yield from _asked_at(TOLD_AGAIN, told_again, session=session.number, place=place)


def _asked_at(moment: str, facts: Sequence[FactAsked], *, session: int, place: str) -> Iterator[Ask]:
    asked = [replace(fact, session=session, kind="moment", moment=moment) for fact in facts]
    if asked:
        yield Ask(f"{session} {moment}", place, asked)


def _shown_session(session: FactSession) -> Json:
    turns: list[Json] = []
    for event in told_events(session):
        turns.append({"message": event.text, "reply": "", "breaches": []})
    told: dict[str, str] = {}
    for statement in session.statements:
        told[statement.label] = f"{statement.shape}: {statement.value}" if statement.value else statement.shape
    shown: Json = {"at": f"{session.at:%Y-%m-%d %H:%M}", "event": "", "exposed": told, "turns": turns}
    return {"end": f"{session.at:%Y-%m-%d}", "state": {}, "sessions": [shown]}


def read_fact_tasks(folder: Path, record: type[FactUser]) -> FactTasks:
    """Return the users of a verified release. Raises EvaluationError."""
    lives = read_release_rows(folder, record)
    tokens = 0
    for session in chain.from_iterable(user.sessions for user in lives):
        tokens += sum(map(count_tokens, session.texts))
    budget = max(LEAST_BUDGET, round(BUDGET * tokens / len(lives)))
    info = release_info(folder, noun="user", users=[user.user_id for user in lives], ask=ASK, tokens=budget)
    return FactTasks(info, tuple(lives))
