"""A run: every user period by period. Interviews and baselines run on copies, beside the next period's dialogue."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeVar

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.episode import Episode
from assets.llm.ports import LanguageModel, ModelReply, ModelRequest
from assets.llm.usage import Usage
from assets.records.base import Record
from pipelines.evaluation.assistant import Assistant, Evolvable, Tools
from pipelines.evaluation.assistants.registry import make_assistant
from pipelines.evaluation.dataset import Dataset
from pipelines.evaluation.dialogue import SimulatedUser, hold_sessions, replay_sessions
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun, RunFolder
from pipelines.evaluation.interview import ask_baselines, gather_all, interview
from pipelines.evaluation.metrics.diagnosis import diagnose
from pipelines.evaluation.metrics.results import latency_of, score
from pipelines.evaluation.plan import RoleModels
from pipelines.evaluation.records import AnswerRow, AnswersStep, DialogueStep, DialogueTurn, RunManifest
from pipelines.evaluation.spending import CountedModel, Purpose, StepUsage, UsageCounter, at_least
from pipelines.resources.llm.embeddings import ModelEmbedder
from pipelines.resources.open import ModelPorts

S = TypeVar("S", bound=Record)


@dataclass(frozen=True)
class Run:
    """Everything that a run works with. `recorded`: the turns to replay, by user; None for on-policy."""

    manifest: RunManifest
    dataset: Dataset
    models: ModelPorts
    roles: RoleModels
    recipe: AMemGymRecipe
    folder: RunFolder
    recorded: dict[str, list[DialogueTurn]] | None = None
    users_at_once: int = 32
    report: Callable[[str], None] = field(default=lambda step: None)

    @cached_property
    def background_calls(self) -> asyncio.Semaphore:
        """Slots for calls that no conversation waits for: those that the conversations leave free, but always a quarter."""
        talking = min(self.users_at_once, len(self.dataset.episodes))
        return asyncio.Semaphore(max(1, self.models.at_once // 4, self.models.at_once - talking))

    def step(self, user_id: str, *, policy: str | None = None) -> "StepContext":
        """A new step of one user, of which nothing has been counted."""
        return StepContext(self, user_id, policy)


@dataclass(frozen=True)
class UserRun:
    """One user of a run. `policy`: the section that an evolvable assistant has instead of its own."""

    run: Run
    episode: Episode
    policy: str | None = None

    def step(self) -> "StepContext":
        """A new step of this user, of which nothing has been counted."""
        return self.run.step(self.episode.user_id, policy=self.policy)


@dataclass(frozen=True)
class BackgroundModel:
    """A model for interviews and baselines. A user's next message waits for the last; these would only delay it."""

    model: LanguageModel
    slots: asyncio.Semaphore

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on when a slot is free."""
        async with self.slots:
            return await self.model.complete(request)


@dataclass(frozen=True)
class StepContext:
    """One user's step: a period's dialogues, an interview, or the baselines."""

    run: Run
    user_id: str
    policy: str | None = None
    counts: dict[Purpose, UsageCounter] = field(default_factory=dict[Purpose, UsageCounter])

    def model(self, purpose: Purpose) -> CountedModel:
        """The run's model for this purpose."""
        ports, count = self.run.models, self.counts.setdefault(purpose, UsageCounter())
        model = ports.embeddings if purpose == "embeddings" else ports.chat
        if purpose in ("interview", "baselines", "recall"):
            model = BackgroundModel(model, self.run.background_calls)
        return CountedModel(model, ports.prices, self.user_id, purpose, count)

    def assistant(self, purpose: Purpose, state: bytes = b"") -> Assistant:
        """A new assistant that remembers what the snapshot holds."""
        roles, manifest = self.run.roles, self.run.manifest
        tools = Tools(
            model=self.model(purpose),
            embedder=ModelEmbedder(self.model("embeddings")),
            default_model=roles.assistant,
            default_embedding_model=roles.embedding,
            seed=manifest.seed + manifest.attempt,
        )
        assistant = make_assistant(manifest.assistant, tools)
        if self.policy is not None:
            assert isinstance(assistant, Evolvable)
            assistant = assistant.with_policy(self.policy)
        if state:
            assistant.restore(state)
        return assistant

    def usage_of(self, assistant: Assistant, purpose: Purpose) -> StepUsage:
        """What the step took. An assistant may count its own mishaps, in attributes of these names."""
        spending = self.spending
        spending[purpose] = at_least(self.counts[purpose].usage, assistant.usage)
        return StepUsage(
            spending=spending,
            cut_calls=getattr(assistant, "cut_calls", 0),
            failed_writes=getattr(assistant, "failed_writes", 0),
        )

    @property
    def spending(self) -> dict[str, Usage]:
        """What the step's calls took so far, by purpose."""
        return {name: count.usage for name, count in self.counts.items() if count.usage.calls}


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
    """Do what is left to do of the run, score it, and leave it scored. The first error ends it; finished steps stay."""
    limit = asyncio.Semaphore(run.users_at_once)

    async def run_user(episode: Episode) -> UserRows:
        async with limit:
            return await _run_user(run, episode)

    users = await gather_all([run_user(episode) for episode in run.dataset.episodes])
    answers = [answer for user in users for answer in user.answers]
    turns = [turn for user in users for turn in user.turns]
    results = score(run.manifest, answers, turns, usage=sum((user.usage for user in users), StepUsage()))
    latency = latency_of([user.seconds for user in users], seed=run.manifest.seed)
    return FinishedRun(run.manifest, answers, turns, results, latency)


async def _run_user(run: Run, episode: Episode) -> UserRows:
    """All steps of one user. An interview runs beside the next period, because it is held on a copy."""
    rows, state, interviews, user = UserRows(), b"", list[asyncio.Task[AnswersStep]](), UserRun(run, episode)
    baselines = asyncio.create_task(_baselines(user))
    try:
        for period in range(len(episode.periods)):
            _raise_failure([*interviews, baselines])
            key = f"{episode.user_id}/{period}"
            work = partial(run_dialogue, user, period=period, state=state)
            dialogue = await checkpointed(run, f"{key}/lived", DialogueStep, work)
            state = base64.b64decode(dialogue.snapshot)
            rows.add(dialogue)
            asking = partial(run_interview, user, period=period, state=state)
            interviews.append(asyncio.create_task(checkpointed(run, f"{key}/asked", AnswersStep, asking)))
        for step in [*await gather_all(interviews), await baselines]:
            rows.add(step)
    finally:
        await _cancel([*interviews, baselines])
    rows.answers = diagnose(episode, rows.answers)
    return rows


def _raise_failure(tasks: Sequence[asyncio.Task[AnswersStep]]) -> None:
    """Raise what ended one of the tasks, so that no period is paid for whose interview would only be thrown away."""
    for task in tasks:
        if task.done():
            task.result()


async def _cancel(tasks: Sequence[asyncio.Task[AnswersStep]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def checkpointed(run: Run, key: str, kind: type[S], work: Callable[[], Awaitable[S]]) -> S:
    """The step from its checkpoint; where there is none it is done now and stored."""
    step = await run.folder.read_step(key, kind)
    if step is None:
        step = await work()
        await run.folder.write_step(key, step)
    run.report(key)
    return step


async def run_dialogue(user: UserRun, *, period: int, state: bytes) -> DialogueStep:
    """Hold or replay a period's sessions, beginning with the memory of the period before."""
    step, run, episode = user.step(), user.run, user.episode
    assistant = step.assistant("dialogue", state)
    simulated = SimulatedUser(episode, run.recipe, run.dataset.language, step.model("simulator"))
    if run.recorded is None:
        turns = await hold_sessions(simulated, assistant, period=period, rounds=run.dataset.rounds)
    else:
        turns = await replay_sessions(simulated, assistant, run.recorded[episode.user_id], period=period)
    snapshot = base64.b64encode(assistant.snapshot()).decode()
    return DialogueStep(turns=tuple(turns), snapshot=snapshot, usage=step.usage_of(assistant, "dialogue"))


async def run_interview(user: UserRun, *, period: int, state: bytes) -> AnswersStep:
    """Interview a copy with this memory. Raises EvaluationError for an assistant that remembers what it is asked."""
    step, manifest = user.step(), user.run.manifest
    copy = step.assistant("interview", state)
    asked = await interview(copy, user.episode, period=period, seed=manifest.seed, unknown_probe=manifest.unknown_probe)
    if copy.snapshot() != state:
        raise EvaluationError(
            f"Assistant {manifest.assistant.name!r} remembers the questions that it was asked; its methods 'answer' "
            "and 'memories' must leave what 'snapshot' returns as it was."
        )
    return AnswersStep(answers=tuple(asked.rows), seconds=tuple(asked.seconds), usage=step.usage_of(copy, "interview"))


async def run_baselines(user: UserRun) -> AnswersStep:
    """Ask the same assistant with perfect memory, and with none."""
    step = user.step()
    fresh = step.assistant("baselines")
    answers = await ask_baselines(fresh, user.episode, seed=user.run.manifest.seed)
    return AnswersStep(answers=tuple(answers), usage=step.usage_of(fresh, "baselines"))


async def _baselines(user: UserRun) -> AnswersStep:
    if not user.run.manifest.baselines:
        return AnswersStep()
    return await checkpointed(user.run, f"{user.episode.user_id}/baselines", AnswersStep, partial(run_baselines, user))
