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
from pipelines.memories.hosting import MemoryHost

S = TypeVar("S", bound=Checkpoint)


@dataclass(frozen=True)
class StoredPeriod:
    """Turns of a step that an earlier process stored, and the policy under which they were lived."""

    turns: Sequence[DialogueTurn]
    policy: str | None


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
    host: MemoryHost | None = None
    subject: Subject | None = None
    turns: list[DialogueTurn] = field(default_factory=list[DialogueTurn])
    behind: list[StoredPeriod] = field(default_factory=list[StoredPeriod])

    async def live(self, period: int) -> DialogueStep:
        """Hold the period's sessions, or replay them; of a step that is stored the subject hears when it is needed."""
        stored = True

        async def hold() -> DialogueStep:
            nonlocal stored
            stored = False
            subject = await self.up_to_date()
            lost = subject.host.lost_writes
            if self.recorded is None:
                model = self.run.model("simulator", item_id=self.episode.user_id)
                user = SimulatedUser(self.episode, self.run.asking, self.run.manifest.language, model)
                turns = await hold_sessions(user, subject, period=period, rounds=self.dataset.settings.rounds(period))
            else:
                turns = [turn for turn in self.recorded if turn.period == period]
                await observe_sessions(subject, turns)
            return DialogueStep(turns=tuple(turns), usage=StepUsage(lost_writes=subject.host.lost_writes - lost))

        step = await self.run.step(f"{self.key}/{period}/lived", DialogueStep, hold)
        if stored:
            self.behind.append(StoredPeriod(step.turns, self.policy))
        self.turns += step.turns
        return step

    async def up_to_date(self) -> Subject:
        """Return the subject after all that was lived. Periods of before this process are written to it now, uncounted."""
        # It was counted when it was lived.
        with count_usage(alone=True):
            if self.host is None:
                self.host = self.run.host(self.episode.user_id)
            subject = self.subject or await new_subject(self.run, self.host, self.episode.user_id)
            for stored in self.behind:
                subject = await _under(subject, stored.policy)
                await observe_sessions(subject, stored.turns)
            self.behind.clear()
            self.subject = await _under(subject, self.policy)
        return self.subject

    async def close(self) -> None:
        """End what the subject has started, also where it could not be made."""
        if self.host is not None:
            await self.host.close()

    async def begin_interview(
        self, period: int, *, other: Episode | None = None, asks_other: bool = False
    ) -> asyncio.Task[AnswersStep]:
        """Begin to ask a copy as it is now; where `asks_other`, the questions of the other user too, as a control."""
        bare = self.run.bare(self.episode.user_id)
        events = events_of(self.turns)
        last = period == len(self.episode.periods) - 1

        async def interview(copy: Subject) -> AnswersStep:
            manifest = self.run.manifest
            asked = Interview(copy, bare, self.episode, period, manifest, events, other=other, asks_other=asks_other)
            step = await hold_interview(asked)
            if last and isinstance(copy, MemorySubject):
                await copy.count_stored()
            return step

        return await self.begin(f"{period}/asked", AnswersStep, interview)

    async def begin(self, name: str, kind: type[S], work: Callable[[Subject], Awaitable[S]]) -> asyncio.Task[S]:
        """Take a copy now, and begin to work on it; a step that is stored needs no copy."""
        key = f"{self.key}/{name}"
        # What a copy costs, such as writing a memory anew, is counted with the step that needs it.
        copy: Subject | None = None
        with count_usage(alone=True) as copying:
            if await self.run.folder.read_step(key, kind) is None:
                copy = await (await self.up_to_date()).fork()

        async def work_on_copy() -> S:
            assert copy is not None
            step = await work(copy)
            return step.model_copy(update={"usage": copying.stored()})

        return asyncio.create_task(self.run.step(key, kind, work_on_copy))

    async def baselines(self) -> AnswersStep:
        """Ask the paper's baselines; nothing where the run has none."""
        if not self.run.manifest.baselines:
            return AnswersStep()

        async def asked() -> AnswersStep:
            bare = self.run.bare(self.episode.user_id)
            return AnswersStep(answers=tuple(await ask_baselines(bare, self.episode, manifest=self.run.manifest)))

        return await self.run.step(f"{self.episode.user_id}/baselines", AnswersStep, asked)


async def _under(subject: Subject, policy: str | None) -> Subject:
    if policy is None or not isinstance(subject, MemorySubject) or subject.policy == policy:
        return subject
    return await subject.with_policy(policy)


async def new_subject(run: Run, host: MemoryHost, user_id: str) -> Subject:
    """Return the memory with our reasoner, or the agent, before its first session. Raises MemoryFailed."""
    if run.manifest.memory.whole:
        return await AgentSubject.of(host)
    return MemorySubject(
        reasoner=run.reasoner("interview", item_id=user_id),
        memory=await host.new_memory(),
        talking=run.reasoner("dialogue", item_id=user_id),
        tokens=run.manifest.tokens,
    )
