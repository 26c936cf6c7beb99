"""A run: users side by side, each living period after period, interviewed on copies while life goes on."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from assets.records.episode import Episode
from pipelines.evaluation.baselines import ask_baselines
from pipelines.evaluation.diagnosis import diagnosed
from pipelines.evaluation.dialogue import live_period, replay_period
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.interview import Interview, interview, together
from pipelines.evaluation.latency import latency_of
from pipelines.evaluation.problems import EvaluationError
from pipelines.evaluation.records import Answer, Asked, PeriodLived, Turn
from pipelines.evaluation.results import score
from pipelines.evaluation.simulator import Scene
from pipelines.evaluation.spending import Toll
from pipelines.evaluation.workplace import Run

S = TypeVar("S", PeriodLived, Asked)


@dataclass
class Gathered:
    """What one user's steps came to."""

    turns: list[Turn] = field(default_factory=list[Turn])
    answers: list[Answer] = field(default_factory=list[Answer])
    seconds: list[float | None] = field(default_factory=list[float | None])
    toll: Toll = field(default_factory=Toll)

    def add(self, step: PeriodLived | Asked) -> None:
        """Take a step in."""
        if isinstance(step, PeriodLived):
            self.turns += step.turns
        else:
            self.answers += step.answers
            self.seconds += step.seconds
        self.toll += step.toll


async def evaluate(run: Run) -> FinishedRun:
    """Do what is left to do of the run, score it, and leave it scored. The first error ends it; finished steps stay."""
    limit = asyncio.Semaphore(run.users_at_once)

    async def one(episode: Episode) -> Gathered:
        async with limit:
            return await _user(run, episode)

    users = await together([one(episode) for episode in run.dataset.episodes])
    answers = [answer for user in users for answer in user.answers]
    turns = [turn for user in users for turn in user.turns]
    results = score(run.manifest, answers, turns, toll=sum((user.toll for user in users), Toll()))
    latency = latency_of([user.seconds for user in users], seed=run.manifest.seed)
    return FinishedRun(run.manifest, answers, turns, results, latency)


async def _user(run: Run, episode: Episode) -> Gathered:
    """All steps of one user. An interview runs beside the next period, because it is held on a copy."""
    gathered, state, interviews = Gathered(), b"", list[asyncio.Task[Asked]]()
    baselines = asyncio.create_task(_baselines(run, episode))
    try:
        for period in range(len(episode.periods)):
            key, live = f"{episode.user_id}/{period}/lived", partial(_live, run, episode, period, state)
            lived = await _step(run, key, PeriodLived, live)
            state = base64.b64decode(lived.snapshot)
            gathered.add(lived)
            interviews.append(asyncio.create_task(_interview(run, episode, period, state)))
        for asked in [*await together(interviews), await baselines]:
            gathered.add(asked)
    finally:
        await _end([*interviews, baselines])
    gathered.answers = diagnosed(episode, gathered.answers)
    return gathered


async def _end(tasks: Sequence[asyncio.Task[Asked]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _step(run: Run, key: str, kind: type[S], work: Callable[[], Awaitable[S]]) -> S:
    """The step as it was finished before, or done now and kept."""
    kept = await run.folder.step(key, kind)
    if kept is None:
        kept = await work()
        await run.folder.keep(key, kept)
    run.report(key)
    return kept


async def _live(run: Run, episode: Episode, period: int, state: bytes) -> PeriodLived:
    step = run.step(episode.user_id)
    assistant = step.assistant("dialogue", state)
    scene = Scene(episode, run.recipe, run.dataset.language, step.model("simulator"))
    if run.recorded is None:
        turns = await live_period(scene, assistant, period=period, rounds=run.dataset.rounds)
    else:
        turns = await replay_period(scene, assistant, run.recorded[episode.user_id], period=period)
    snapshot = base64.b64encode(assistant.snapshot()).decode()
    return PeriodLived(turns=tuple(turns), snapshot=snapshot, toll=step.toll(assistant, "dialogue"))


async def _interview(run: Run, episode: Episode, period: int, state: bytes) -> Asked:
    async def ask() -> Asked:
        step = run.step(episode.user_id)
        copy = step.assistant("interview", state)
        told = await interview(copy, Interview(episode, period, run.manifest.seed, run.manifest.unknown_probe))
        if copy.snapshot() != state:
            raise EvaluationError(
                f"Assistant {run.manifest.assistant.name!r} remembers the questions that it was asked; its methods 'answer' "
                "and 'memories' must leave what 'snapshot' returns as it was."
            )
        return Asked(answers=tuple(told.rows), seconds=tuple(told.seconds), toll=step.toll(copy, "interview"))

    return await _step(run, f"{episode.user_id}/{period}/asked", Asked, ask)


async def _baselines(run: Run, episode: Episode) -> Asked:
    async def ask() -> Asked:
        step = run.step(episode.user_id)
        fresh = step.assistant("baselines")
        answers = await ask_baselines(fresh, episode, seed=run.manifest.seed)
        return Asked(answers=tuple(answers), toll=step.toll(fresh, "baselines"))

    if not run.manifest.baselines:
        return Asked()
    return await _step(run, f"{episode.user_id}/baselines", Asked, ask)
