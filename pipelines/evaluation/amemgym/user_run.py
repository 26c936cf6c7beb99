"""One user of AMemGym at work, period by period. Interviews run on copies, beside the next period's dialogue."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from assets.amemgym.records.episode import Episode
from pipelines.evaluation.amemgym.dataset import AMemGymDataset
from pipelines.evaluation.amemgym.dialogue import SimulatedUser, events_of, hold_sessions, observe_sessions
from pipelines.evaluation.amemgym.interview import Interview, ask_baselines, hold_interview
from pipelines.evaluation.amemgym.subjects import AgentSubject, MemorySubject, Subject
from pipelines.evaluation.records import AnswersStep, DialogueStep, DialogueTurn
from pipelines.evaluation.run import Run
from pipelines.evaluation.spending import Checkpoint, StepUsage, count_usage

S = TypeVar("S", bound=Checkpoint)


@dataclass
class UserRun:
    """One user at work. `key` begins the names of the steps; `policy` is the section that a memory has instead of its own.

    `recorded`: the turns to replay; None for on-policy. `turns`: the dialogues so far; of these, the subject has taken in those
    that are not `behind`.
    """

    run: Run
    episode: Episode
    dataset: AMemGymDataset
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
        lost = subject.host.lost_writes
        if self.recorded is None:
            model = run.model("simulator", item_id=self.episode.user_id)
            user = SimulatedUser(self.episode, run.recipe, run.manifest.language, model)
            turns = await hold_sessions(user, subject, period=period, rounds=self.dataset.settings.rounds(period))
        else:
            turns = [turn for turn in self.recorded if turn.period == period]
            await observe_sessions(subject, turns)
        return DialogueStep(turns=tuple(turns), usage=StepUsage(lost_writes=subject.host.lost_writes - lost))

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

    async def begin_interview(self, period: int) -> asyncio.Task[AnswersStep]:
        """Begin to ask a copy as it is now."""
        bare, events = self.run.bare(self.episode.user_id), events_of(self.turns)

        async def interview(copy: Subject) -> AnswersStep:
            return await hold_interview(Interview(copy, bare, self.episode, period, self.run.manifest, events))

        return await self.begin(f"{period}/asked", AnswersStep, interview)

    async def begin(self, name: str, kind: type[S], work: Callable[[Subject], Awaitable[S]]) -> asyncio.Task[S]:
        """Take a copy now, and begin to work on it; a step that is stored needs no copy."""
        key, run = f"{self.key}/{name}", self.run
        done = await run.folder.read_step(key, kind)

        async def stored() -> S:
            assert done is not None
            return done

        async def asked() -> S:
            step = await work(copy)
            return step.model_copy(update={"usage": copying.stored()})

        if done is not None:
            return asyncio.create_task(run.step(key, kind, stored))
        with count_usage(alone=True) as copying:
            copy = await (await self.up_to_date()).fork()
        return asyncio.create_task(run.step(key, kind, asked))

    async def baselines(self) -> AnswersStep:
        """The paper's baselines; nothing for a whole agent, which does not answer with our reasoner."""
        if not self.run.manifest.baselines:
            return AnswersStep()
        return await self.run.step(f"{self.episode.user_id}/baselines", AnswersStep, self._ask_baselines)

    async def _ask_baselines(self) -> AnswersStep:
        bare = self.run.bare(self.episode.user_id)
        return AnswersStep(answers=tuple(await ask_baselines(bare, self.episode, manifest=self.run.manifest)))


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
    return MemorySubject(reasoner=answering, memory=await host.new_memory(), talking=talking, tokens=manifest.tokens)
