"""A run on AMemGym: every user period by period. Interviews and baselines run on copies, beside the next period's dialogue."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from assets.amemgym.records.episode import Episode
from pipelines.evaluation.amemgym.diagnosis import diagnose
from pipelines.evaluation.amemgym.dialogue import SimulatedUser, events_of, hold_sessions, observe_sessions
from pipelines.evaluation.amemgym.interview import Interview, ask_baselines, gather_all, hold_interview, unasked_rows
from pipelines.evaluation.amemgym.subjects import AgentSubject, MemorySubject, Subject
from pipelines.evaluation.contract import Task
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.memories.registry import host_memory
from pipelines.evaluation.metrics.results import latency_of, score
from pipelines.evaluation.records import CALL_FAILED, AnswerRow, AnswersStep, DialogueStep, DialogueTurn
from pipelines.evaluation.run import ENDS_ITEM, ItemStopped, Run, each_item
from pipelines.evaluation.spending import StepUsage, UsageCounter, count_usage


@dataclass
class UserRun:
    """One user at work. `key` begins the names of the steps; `policy` is the section that a memory has instead of its own.

    `turns`: the dialogues so far; of these, the subject has taken in those that are not `behind`.
    """

    run: Run
    episode: Episode
    key: str
    policy: str | None = None
    subject: Subject | None = None
    turns: list[DialogueTurn] = field(default_factory=list[DialogueTurn])
    behind: list[tuple[str | None, Sequence[DialogueTurn]]] = field(
        default_factory=list[tuple[str | None, Sequence[DialogueTurn]]]
    )

    async def live(self, period: int) -> DialogueStep:
        """Hold the period's sessions, or replay them; of a step that is stored the subject hears when it is needed."""
        lived = False

        async def work() -> DialogueStep:
            nonlocal lived
            lived = True
            return await self._hold(period)

        step = await self.run.step(f"{self.key}/{period}/lived", DialogueStep, work)
        if not lived:
            self.behind.append((self.policy, step.turns))
        self.turns += step.turns
        return step

    async def _hold(self, period: int) -> DialogueStep:
        subject, run = await self.up_to_date(), self.run
        lost = subject.lost_writes
        with count_usage(alone=True) as used:
            if run.recorded is None:
                model = run.model("simulator", item_id=self.episode.user_id)
                user = SimulatedUser(self.episode, run.recipe, run.dataset.language, model)
                turns = await hold_sessions(user, subject, period=period, rounds=run.dataset.rounds)
            else:
                turns = [turn for turn in run.recorded[self.episode.user_id] if turn.period == period]
                await observe_sessions(subject, turns)
        return DialogueStep(turns=tuple(turns), usage=usage_of(used, lost_writes=subject.lost_writes - lost))

    async def up_to_date(self) -> Subject:
        """The subject after all that was lived. What was lived before this process is written to it now, and counts nothing."""
        with count_usage(alone=True):
            subject = self.subject or await new_subject(self.run, self.episode.user_id)
            for policy, turns in self.behind:
                subject = await _under(subject, policy)
                await observe_sessions(subject, turns)
            self.behind.clear()
            self.subject = await _under(subject, self.policy)
        return self.subject

    async def begin_interview(self, period: int) -> "asyncio.Task[AnswersStep]":
        """Take a copy now, and begin to ask it; a step that is stored needs no copy."""
        name = f"{self.key}/{period}/asked"
        done = await self.run.folder.read_step(name, AnswersStep)
        if done is not None:
            return asyncio.create_task(self.run.step(name, AnswersStep, partial(_as_it_is, done)))
        with count_usage(alone=True) as copying:
            copy = await (await self.up_to_date()).fork()
        asked = Interview(copy, self.bare(), self.episode, period, self.run.manifest, events_of(self.turns))
        return asyncio.create_task(self.run.step(name, AnswersStep, partial(_interview, asked, copying)))

    def bare(self) -> "BareReasoner":
        """The reasoner without a memory, for baselines and the conditions of isolated scores."""
        return BareReasoner(self.run, self.episode.user_id)

    async def baselines(self) -> AnswersStep:
        """The paper's baselines; nothing for a whole agent, which does not answer with our reasoner."""
        if not self.run.manifest.baselines:
            return AnswersStep()
        return await self.run.step(f"{self.episode.user_id}/baselines", AnswersStep, self._ask_baselines)

    async def _ask_baselines(self) -> AnswersStep:
        with count_usage(alone=True) as used:
            answers = await ask_baselines(self.bare(), self.episode, manifest=self.run.manifest)
        return AnswersStep(answers=tuple(answers), usage=usage_of(used))


@dataclass(frozen=True)
class BareReasoner:
    """Our reasoner, which recalls nothing by itself."""

    run: Run
    item_id: str

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        return []

    async def answer(self, recalled: Sequence[str], task: Task) -> str:
        return await self.run.reasoner("baselines", item_id=self.item_id).answer(recalled, task)


async def _as_it_is(step: AnswersStep) -> AnswersStep:
    return step


async def _interview(asked: Interview, copying: UsageCounter) -> AnswersStep:
    with count_usage(alone=True) as used:
        found = await hold_interview(asked)
    usage = usage_of(used) + usage_of(copying)
    return AnswersStep(answers=tuple(found.rows), seconds=tuple(found.seconds), usage=usage)


def usage_of(used: UsageCounter, *, lost_writes: int = 0) -> StepUsage:
    """What was counted, as a step stores it."""
    return StepUsage(spending=dict(used.by_purpose), lost_writes=lost_writes)


async def _under(subject: Subject, policy: str | None) -> Subject:
    if policy is None or not isinstance(subject, MemorySubject) or subject.policy == policy:
        return subject
    return await subject.with_policy(policy)


async def new_subject(run: Run, user_id: str) -> Subject:
    """The memory with our reasoner, or the agent, before its first session. Raises MemoryFailed."""
    manifest = run.manifest
    host = host_memory(manifest.memory, run.tools(user_id), deadline=run.deadline)
    if manifest.memory.whole:
        return await AgentSubject.of(host)
    talking, answering = (run.reasoner(purpose, item_id=user_id) for purpose in ("dialogue", "interview"))
    return MemorySubject(await host.new_memory(), talking, answering, manifest.tokens)


@dataclass
class UserRows:
    """The rows of one user's steps, and their usage."""

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


async def evaluate(run: Run) -> FinishedRun:
    """Do what is left to do of the run, score it, and leave it scored. Users whom the memory fails are error rows."""
    episodes = {episode.user_id: episode for episode in run.dataset.episodes}
    rows = {user_id: UserRows() for user_id in episodes}

    async def work(user_id: str) -> None:
        await _run_user(run, episodes[user_id], rows[user_id])

    _, errors = await each_item(run, list(episodes), work)
    for error in errors:
        user = rows[error.user_id]
        user.answers += unasked_rows(
            episodes[error.user_id], user.answers, manifest=run.manifest, reason=f"{CALL_FAILED}: {error.sentence}"
        )
    answers = [answer for user in rows.values() for answer in user.answers]
    turns = [turn for user in rows.values() for turn in user.turns]
    usage = sum((user.usage for user in rows.values()), StepUsage())
    results = score(run.manifest, answers, turns, usage=usage, errors=errors)
    latency = latency_of([user.seconds for user in rows.values()], seed=run.manifest.seed)
    return FinishedRun(run.manifest, answers, turns, results, latency)


async def _run_user(run: Run, episode: Episode, rows: UserRows) -> None:
    """All steps of one user, into `rows`. An interview runs beside the next period, because it is held on a copy.

    Raises ItemStopped with what was done until then in `rows`.
    """
    user, interviews = UserRun(run, episode, episode.user_id), list[asyncio.Task[AnswersStep]]()
    baselines = asyncio.create_task(user.baselines())
    period = 0
    try:
        for period in range(len(episode.periods)):
            _raise_failure([*interviews, baselines])
            rows.add(await user.live(period))
            interviews.append(await user.begin_interview(period))
        for step in [*await gather_all(interviews), await baselines]:
            rows.add(step)
    except ENDS_ITEM as error:
        # What was begun of earlier periods is finished.
        for step in await asyncio.gather(*interviews, baselines, return_exceptions=True):
            if isinstance(step, AnswersStep):
                rows.add(step)
        raise ItemStopped(period, error) from error
    finally:
        await end_tasks([*interviews, baselines])
        if isinstance(user.subject, MemorySubject):
            user.subject.memory.host.close()
    rows.answers = diagnose(episode, rows.answers)


def _raise_failure(tasks: Sequence[asyncio.Task[AnswersStep]]) -> None:
    """Raise what ended one of the tasks, so that no period is paid for whose interview would only be thrown away."""
    for task in tasks:
        if task.done():
            task.result()


async def end_tasks(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel what still runs, and wait for it."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
