"""Tasks in worlds of others for the runner: an episode that outgrows its window, a memory that may bring it back, and a grade.

A kept answer is the whole episode as text. Code of others grades it from that text, so that no grade rests on an earlier one.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

from assets.records.base import ItemFailed
from assets.worlds.steps import EpisodeStep, read_episode
from assets.worlds.world import World
from pipelines.agents.episode import Hear
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.agent import Agent, RecallSource
from pipelines.evaluation.acted.leaving_window import ConditionSource, MemorySource, OutOfSight
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.isolated import ReasonerWithMemory
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import Answer, ReadableTask, ask
from pipelines.evaluation.records import AnswerRow, RunManifest, Status
from pipelines.evaluation.run import DatasetInfo
from pipelines.evaluation.timeline.context import EvaluationContext
from pipelines.evaluation.timeline.steps import Act, Acted, Json, Life, Perceived, Step, Timeline, Write
from pipelines.memories.contract import MemoryEvent, Task
from prompts.template import Message

PROMPTS = ("evaluation/remember", "evaluation/ask_again", "evaluation/act", "memories/")
MOST_STEPS = 60
USUAL_STEPS = 15  # of an episode, for the forecast
INSTRUCTIONS = 4_000  # tokens of the rules and the tools, likewise
PASSES = "passes"
Turn = Callable[[], AbstractAsyncContextManager[object]]
REPLAY = "replay"  # of worlds without a user whom a model plays, who might say something else


@dataclass(frozen=True)
class BegunEpisode:
    """A world at the beginning of an episode. `asked`: the first words, by which the same episode is begun again.

    `hear`: of a user whom a model plays.
    """

    world: World
    asked: str
    hear: Hear | None = None


class WorldTask(Protocol):
    """One task in a world of others."""

    @property
    def task_id(self) -> str: ...

    @property
    def scenario(self) -> str:
        """What it is about, for whoever reads a run."""
        ...

    @property
    def needed_values(self) -> Sequence[str]:
        """Values of the right solution: lines that hold one are the needed facts."""
        ...

    async def begin(self, context: EvaluationContext) -> BegunEpisode:
        """Return its world, ready for the agent. Raises ItemFailed."""
        ...

    def grade_steps(self, asked: str, steps: Sequence[EpisodeStep]) -> str:
        """Return `PASSES`, or what failed. Blocks. Raises ItemFailed where its grader cannot say."""
        ...


@dataclass(frozen=True)
class Chain:
    """Tasks that one memory lives one after another, such as all of a customer's, or a single one.

    `told`: what it is told before them.
    """

    name: str
    tasks: tuple[WorldTask, ...]
    told: Sequence[MemoryEvent] = ()


@dataclass(frozen=True)
class WorldTasks:
    """The tasks of a world, each alone or chained.

    `window`: tokens in sight by default. `allowed_option`: one of dialogues that it takes nevertheless. `turn`: gives what an
    episode holds while it lasts. `prefixes`: the recorded replies that a task's episodes begin with, by its id.
    """

    info: DatasetInfo
    chains: tuple[Chain, ...]
    window: int
    allowed_option: str = ""
    turn: Turn = nullcontext
    prefixes: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def first(self, users: int | None) -> Self:
        info = self.info.first(users)
        return replace(self, info=info, chains=self.chains[: len(info.users)])

    def replaying(self, recorded: FinishedRun) -> Self:
        """Return the tasks whose episodes begin with the first half of those of a run. Raises EvaluationError."""
        if self.allowed_option != REPLAY:
            raise self.info.refusal_of(REPLAY)
        prefixes: dict[str, Sequence[str]] = {}
        for row in recorded.answers:
            if row.kind == "question" and row.reply:
                steps = read_episode(row.reply)
                prefixes[row.item] = [step.reply for step in steps[: len(steps) // 2]]
        missing = [task.task_id for chain in self.chains for task in chain.tasks if task.task_id not in prefixes]
        if missing:
            raise EvaluationError(
                f"{recorded.manifest.run_id} has no episode of {missing[0]}, so that there is nothing to begin it with; "
                "give a run of the same tasks."
            )
        return replace(self, prefixes=prefixes)

    def own_settings(self, options: EvaluationOptions, *, whole: bool) -> dict[str, object]:
        self.info.check_options(options, whole=whole, allowed_option=self.allowed_option)
        return {
            "mode": "episode",
            "replayed_run": options.replayed_run,
            "recall_at": options.recall_at or "step",
            "window": options.window or self.window,
            "native_tools": options.native_tools,
        }

    def timelines(self, manifest: RunManifest) -> list[Timeline]:
        timelines: list[Timeline] = []
        for chain in self.chains:
            steps: list[Step] = []
            if chain.told:
                steps.append(Write(chain.told, "what was told before"))
            for place, task in enumerate(chain.tasks):
                user = "user" in self.info.roles
                begun_with = self.prefixes.get(task.task_id, ())
                steps.append(ActedTask(task, chain.name, place, 2 * manifest.window, begun_with, self.turn, has_user=user))
            timelines.append(Timeline(chain.name, chain.name, steps, chain.name, lived_in_conditions=True))
        return timelines


@dataclass(frozen=True)
class ActedTask(Act):
    """A task of a chain, at its place from 0. `begun_with`: recorded replies that its episodes begin with."""

    task: WorldTask
    chain: str
    number: int
    in_sight: int
    begun_with: Sequence[str] = ()
    turn: Turn = nullcontext
    has_user: bool = False

    calls = USUAL_STEPS

    @property
    def item(self) -> str:
        return self.task.task_id

    @property
    def tokens(self) -> int:
        return INSTRUCTIONS

    @property
    def simulated_messages(self) -> int:
        return self.calls // 4 if self.has_user else 0

    async def act(
        self, context: EvaluationContext, reasoner: ReasonerWithMemory, *, life: Life, earlier: Sequence[MemoryEvent]
    ) -> Acted:
        gone = OutOfSight(list(earlier))
        source: RecallSource | None = None
        if reasoner.memory is not None:
            source = MemorySource(reasoner, reasoner.memory, gone, life.tokens)
        elif life.kind != "no_memory":
            path = (context.manifest.seed, self.task.task_id, life.kind)
            source = ConditionSource(life.kind, self.task.needed_values, gone, life.tokens, path)
        episode = TaskEpisode(self, context, source, reasoner, life.tokens)
        query = self.task.task_id
        given = await ask(ReadableTask(Task(text=query, query=query), episode.read), episode.act)
        gone.add(episode.messages)
        return Acted(replace(given, recalled=tuple(episode.recalled)), episode.asked, gone.events)

    def rows(self, given: Answer[str], seen: Perceived) -> list[AnswerRow]:
        recalled = "\n".join(given.recalled)
        needed = self.task.needed_values
        found = sum(value in recalled for value in needed)
        row = AnswerRow(
            user_id=self.chain,
            period=self.number,
            item=self.item,
            expected=PASSES,
            given=given.value or "",
            status=_status(given.value),
            options=0,
            shown=0,
            required=len(needed),
            age=0,
            written=len(seen.events),
            written_tokens=seen.tokens,
            fact_recall=round(found / max(1, len(needed)), 6),
            **given.columns,
        )
        return [row]

    def grade(self, row: AnswerRow, seen: Perceived) -> AnswerRow:
        if not row.reply:
            return row
        try:
            given = self.task.grade_steps(row.asked, read_episode(row.reply))
        except ItemFailed:
            return row  # its grader cannot say, here and now
        return row.model_copy(update={"given": given, "status": _status(given)})

    @property
    def page_fields(self) -> Json:
        return {"query": self.task.scenario, "required": [], "options": []}


def _status(given: str | None) -> Status:
    if given is None:
        return "unscored"
    return "right" if given == PASSES else "wrong"


@dataclass
class TaskEpisode:
    """An episode of a task, with one source of texts from out of sight. `messages`: all of it, the last answer included."""

    acted: ActedTask
    context: EvaluationContext
    source: RecallSource | None
    reasoner: ReasonerWithMemory
    tokens: int
    asked: str = ""
    messages: list[Message] = field(default_factory=list[Message])
    recalled: dict[str, None] = field(default_factory=dict[str, None])

    def read(self, reply: str) -> str:
        """Return the grade of all steps."""
        return self.acted.task.grade_steps(self.asked, read_episode(reply))

    async def act(self, task: Task) -> str:
        """Return all steps of the episode as text. Raises ItemFailed."""
        async with self.acted.turn():
            begun = await self.acted.task.begin(self.context)
            try:
                return await self._act(begun)
            finally:
                await asyncio.to_thread(begun.world.close)

    async def _act(self, begun: BegunEpisode) -> str:
        manifest = self.context.manifest
        self.asked = begun.asked
        agent = Agent(self.reasoner, begun.world, manifest, begun.asked, self.source, self.tokens, recalled=self.recalled)
        if self.source is not None and manifest.recall_at == "start" and self.source.holds:
            agent.known = await self.source.recall(begun.asked)
        begun_with = self.acted.begun_with
        reply = await agent.act(hear=begun.hear, window=manifest.window, most_steps=MOST_STEPS, begun_with=begun_with)
        self.messages = [Message("user", begun.world.opening)]
        for step in agent.steps:
            self.messages += [Message("assistant", step.reply or "(nothing)"), Message("user", step.seen)]
        return reply
