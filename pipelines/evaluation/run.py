"""A run: users side by side, each living period after period, interviewed on copies while life goes on."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from assets.metering import Meter, MeteredModel
from assets.ports import CallLabels
from assets.records.episode import Episode
from assets.records.recipe import Recipe
from assets.records.usage import Usage
from pipelines.evaluation.assistant import Assistant, Tools
from pipelines.evaluation.assistants.registry import make_assistant
from pipelines.evaluation.baselines import ask_baselines
from pipelines.evaluation.dataset import Dataset
from pipelines.evaluation.diagnosis import diagnosed
from pipelines.evaluation.dialogue import live_period, replay_period
from pipelines.evaluation.folder import FinishedRun, RunFolder
from pipelines.evaluation.interview import Interview, interview, together
from pipelines.evaluation.models import ModelPorts
from pipelines.evaluation.problems import EvaluationError
from pipelines.evaluation.records import Answer, Asked, PeriodLived, RunManifest, Turn
from pipelines.evaluation.results import score
from pipelines.evaluation.simulator import Scene

S = TypeVar("S", PeriodLived, Asked)


@dataclass(frozen=True)
class Run:
    """Everything that a run works with. `recorded`: the turns to replay, by user; None for on-policy."""

    manifest: RunManifest
    dataset: Dataset
    models: ModelPorts
    tools: Tools
    recipe: Recipe
    folder: RunFolder
    recorded: dict[str, list[Turn]] | None = None
    users_at_once: int = 32
    report: Callable[[str], None] = field(default=lambda step: None)

    def assistant(self, state: bytes = b"") -> Assistant:
        """A new assistant that remembers what the snapshot holds."""
        made = make_assistant(self.manifest.assistant, self.tools)
        if state:
            made.restore(state)
        return made


@dataclass
class Gathered:
    """What one user's steps came to."""

    turns: list[Turn] = field(default_factory=list[Turn])
    answers: list[Answer] = field(default_factory=list[Answer])
    usage: dict[str, Usage] = field(default_factory=dict[str, Usage])
    cut_calls: int = 0

    def add(self, step: PeriodLived | Asked) -> None:
        """Take a step in."""
        if isinstance(step, PeriodLived):
            self.turns += step.turns
        else:
            self.answers += step.answers
        add_usage(self.usage, step.usage)
        self.cut_calls += step.cut_calls


def add_usage(total: dict[str, Usage], more: dict[str, Usage]) -> None:
    """Add usage up by purpose."""
    for purpose, used in more.items():
        total[purpose] = total.get(purpose, Usage()) + used


async def evaluate(run: Run) -> FinishedRun:
    """Do what is left to do of the run, score it, and leave it scored. The first error ends it; finished steps stay."""
    limit = asyncio.Semaphore(run.users_at_once)

    async def one(episode: Episode) -> Gathered:
        async with limit:
            return await _user(run, episode)

    users = await together([one(episode) for episode in run.dataset.episodes])
    usage: dict[str, Usage] = {}
    for user in users:
        add_usage(usage, user.usage)
    answers = [answer for user in users for answer in user.answers]
    turns = [turn for user in users for turn in user.turns]
    results = score(run.manifest, answers, turns, usage=usage, cut_calls=sum(user.cut_calls for user in users))
    return FinishedRun(run.manifest, answers, turns, results)


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
    assistant, meter = run.assistant(state), Meter()
    labels = CallLabels(stage="evaluation", user_id=episode.user_id)
    scene = Scene(episode, run.recipe, run.dataset.language, MeteredModel(run.models.chat, labels, meter))
    if run.recorded is None:
        turns = await live_period(scene, assistant, period=period, rounds=run.dataset.rounds)
    else:
        turns = await replay_period(scene, assistant, run.recorded[episode.user_id], period=period)
    return PeriodLived(
        turns=tuple(turns),
        snapshot=base64.b64encode(assistant.snapshot()).decode(),
        usage={"dialogue": assistant.usage, "simulator": meter.usage},
        cut_calls=getattr(assistant, "cut_calls", 0),
    )


async def _interview(run: Run, episode: Episode, period: int, state: bytes) -> Asked:
    async def ask() -> Asked:
        copy = run.assistant(state)
        asked = Interview(episode, period, run.manifest.seed, run.manifest.unknown_probe)
        answers = await interview(copy, asked)
        if copy.snapshot() != state:
            raise EvaluationError(
                f"Assistant {run.manifest.assistant.name!r} remembers the questions that it was asked; its methods 'answer' "
                "and 'memories' must leave what 'snapshot' returns as it was."
            )
        return _asked(copy, answers, purpose="interview")

    return await _step(run, f"{episode.user_id}/{period}/asked", Asked, ask)


async def _baselines(run: Run, episode: Episode) -> Asked:
    async def ask() -> Asked:
        fresh = run.assistant()
        return _asked(fresh, await ask_baselines(fresh, episode, seed=run.manifest.seed), purpose="baselines")

    if not run.manifest.baselines:
        return Asked(answers=(), usage={})
    return await _step(run, f"{episode.user_id}/baselines", Asked, ask)


def _asked(assistant: Assistant, answers: Sequence[Answer], *, purpose: str) -> Asked:
    return Asked(answers=tuple(answers), usage={purpose: assistant.usage}, cut_calls=getattr(assistant, "cut_calls", 0))
