"""One user of AMemGym at work, period by period. Interviews run on copies, beside the next period's dialogue."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from assets.amemgym.records.episode import Episode
from pipelines.evaluation.amemgym.dataset import Rounds
from pipelines.evaluation.amemgym.dialogue import SimulatedUser, events_of, hold_sessions, observe_sessions
from pipelines.evaluation.amemgym.interview import Interview, ask_baselines, hold_interview
from pipelines.evaluation.amemgym.subjects import AgentSubject, MemorySubject, Subject
from pipelines.evaluation.records import AnswersStep, DialogueStep, DialogueTurn
from pipelines.evaluation.run import Run
from pipelines.evaluation.spending import UsageCounter, count_usage


@dataclass
class UserRun:
    """One user at work. `key` begins the names of the steps; `policy` is the section that a memory has instead of its own.

    `recorded`: the turns to replay; None for on-policy. `turns`: the dialogues so far; of these, the subject has taken in those
    that are not `behind`.
    """

    run: Run
    episode: Episode
    rounds: Rounds
    key: str
    recorded: Sequence[DialogueTurn] | None = None
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
            if self.recorded is None:
                model = run.model("simulator", item_id=self.episode.user_id)
                user = SimulatedUser(self.episode, run.recipe, run.manifest.language, model)
                turns = await hold_sessions(user, subject, period=period, rounds=self.rounds)
            else:
                turns = [turn for turn in self.recorded if turn.period == period]
                await observe_sessions(subject, turns)
        return DialogueStep(turns=tuple(turns), usage=used.stored(lost_writes=subject.lost_writes - lost))

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
        bare = self.run.bare(self.episode.user_id)
        asked = Interview(copy, bare, self.episode, period, self.run.manifest, events_of(self.turns))
        return asyncio.create_task(self.run.step(name, AnswersStep, partial(_interview, asked, copying)))

    async def baselines(self) -> AnswersStep:
        """The paper's baselines; nothing for a whole agent, which does not answer with our reasoner."""
        if not self.run.manifest.baselines:
            return AnswersStep()
        return await self.run.step(f"{self.episode.user_id}/baselines", AnswersStep, self._ask_baselines)

    async def _ask_baselines(self) -> AnswersStep:
        with count_usage(alone=True) as used:
            bare = self.run.bare(self.episode.user_id)
            answers = await ask_baselines(bare, self.episode, manifest=self.run.manifest)
        return AnswersStep(answers=tuple(answers), usage=used.stored())


async def _as_it_is(step: AnswersStep) -> AnswersStep:
    return step


async def _interview(asked: Interview, copying: UsageCounter) -> AnswersStep:
    with count_usage(alone=True) as used:
        found = await hold_interview(asked)
    usage = used.stored() + copying.stored()
    return AnswersStep(answers=tuple(found.rows), seconds=tuple(found.seconds), usage=usage)


async def _under(subject: Subject, policy: str | None) -> Subject:
    if policy is None or not isinstance(subject, MemorySubject) or subject.policy == policy:
        return subject
    return await subject.with_policy(policy)


async def new_subject(run: Run, user_id: str) -> Subject:
    """The memory with our reasoner, or the agent, before its first session. Raises MemoryFailed."""
    manifest = run.manifest
    host = run.host(user_id)
    if manifest.memory.whole:
        return await AgentSubject.of(host)
    talking, answering = (run.reasoner(purpose, item_id=user_id) for purpose in ("dialogue", "interview"))
    return MemorySubject(await host.new_memory(), talking, answering, manifest.tokens)


async def end_tasks(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel what still runs, and wait for it."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
