"""Tasks in worlds of others for the runner: an episode that outgrows its window, a memory that may bring it back, and a grade.

A kept answer is the whole episode as text. Code of others grades it from that text, so that no grade rests on an earlier one.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, Self

from assets.records.base import ItemFailed
from assets.text.words import count_tokens
from pipelines.agents.actions import EpisodeStep, read_episode, written_episode
from pipelines.agents.episode import EpisodeWorld, Hear, run_episode
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.agent import Agent, RecallSource, acting_settings
from pipelines.evaluation.acted.leaving_window import ConditionSource, MemorySource, OutOfSight
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.forecast import ItemSize
from pipelines.evaluation.isolated import KIND_OF, EventRow, ReasonerWithMemory
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.reasoning import Answer, ReadableTask, ask
from pipelines.evaluation.records import AnswerRow, AnswersStep, AskKind, DialogueTurn, RunManifest
from pipelines.evaluation.report.page import Json, PageItem
from pipelines.evaluation.run import ENDS_ITEM, DatasetInfo, ItemRows, ItemStopped, Run
from pipelines.evaluation.spending import StepUsage, memory_call
from pipelines.memories.contract import MemoryEvent, Task
from pipelines.memories.hosting import HostedMemory
from prompts.template import Message

PROMPTS = ("evaluation/remember", "evaluation/ask_again", "evaluation/act", "memories/")
MOST_STEPS = 60
USUAL_STEPS = 15  # of an episode, for the forecast
PASSES = "passes"
REPLAY = "--replay"  # of worlds without a user whom a model plays, who might say something else


class WorldOfOthers(EpisodeWorld, Protocol):
    """A world that an agent of ours acts in, and that code of others makes."""

    @property
    def rules(self) -> str:
        """What the agent is told beside its tools."""
        ...

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """Each tool with its name, what it does, and the JSON schema of its arguments."""
        ...


def nothing_left() -> str:
    """Return what stays of most worlds when an episode ends."""
    return ""


@dataclass(frozen=True)
class BegunEpisode:
    """A world at the beginning of an episode. `asked`: the first words, by which the same episode is begun again.

    `hear`: of a user whom a model plays. `left`: what the grade reads beside the steps, asked once when the episode ends;
    it is kept as what the last step saw. `close` frees what the world holds. Both may block, and neither raises.
    """

    world: WorldOfOthers
    asked: str
    hear: Hear | None = None
    left: Callable[[], str] = nothing_left
    close: Callable[[], object] = nothing_left


class WorldTask(Protocol):
    """One task in a world of others."""

    @property
    def task_id(self) -> str: ...

    @property
    def scenario(self) -> str:
        """What it is about, for whoever reads a run."""
        ...

    @property
    def needed(self) -> Sequence[str]:
        """Values of the right solution: lines that hold one are the needed facts."""
        ...

    async def begin(self, run: Run) -> BegunEpisode:
        """Return its world, ready for the agent. Raises ItemFailed."""
        ...

    def graded(self, asked: str, steps: Sequence[EpisodeStep]) -> str:
        """Return `PASSES`, or what failed. Blocks. Raises ItemFailed where its grader cannot say."""
        ...


@dataclass(frozen=True)
class Chain:
    """Tasks that one memory lives one after another, such as all of a customer's, or a single one."""

    name: str
    tasks: tuple[WorldTask, ...]


@dataclass(frozen=True)
class WorldTasks:
    """The tasks of a world, each alone or chained.

    `window`: tokens in sight by default. `but`: an option of dialogues that it takes nevertheless. `prefixes`: the recorded
    replies that a task's episodes begin with, by its id.
    """

    info: DatasetInfo
    chains: tuple[Chain, ...]
    window: int
    but: str = ""
    prefixes: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    @property
    def items(self) -> tuple[str, ...]:
        return self.info.users

    def first(self, users: int | None) -> Self:
        info = self.info.first(users)
        return replace(self, info=info, chains=self.chains[: len(info.users)])

    def replaying(self, recorded: FinishedRun) -> Self:
        """Return the tasks whose episodes begin with the first half of those of a run. Raises EvaluationError."""
        if self.but != REPLAY:
            raise self.info.refused(REPLAY)
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
        self.info.check_options(options, whole=whole, but=self.but)
        return {
            "mode": "documents",
            "replayed_run": options.replayed_run,
            "recall_at": options.recall_at or "step",
            "window": options.window or self.window,
            **acting_settings(options),
        }

    def sizes(self, manifest: RunManifest) -> Iterator[ItemSize]:
        for chain in self.chains:
            steps = USUAL_STEPS * len(chain.tasks)
            yield ItemSize(
                written=steps,
                event_tokens=150,
                questions=[2 * manifest.window] * steps,
                question_tokens=4_000,
                steps=1,
                simulated=steps // 4 if "user" in self.info.roles else 0,
            )

    async def evaluate(self, run: Run, item_id: str, rows: ItemRows) -> None:
        chain = self._chain(item_id)
        rows.add(await run.step(f"{item_id}/asked", AnswersStep, partial(self._asked, run, chain)))

    async def _asked(self, run: Run, chain: Chain) -> AnswersStep:
        """Live the chain with the memory, then in every other condition. Raises ItemStopped."""
        manifest = run.manifest
        rows: list[AnswerRow] = []
        host = run.host(chain.name)
        place = "the dialogue with the memory"
        try:
            for budget in (manifest.tokens, *manifest.curve):
                kind: AskKind = "question" if budget == manifest.tokens else "at_budget"
                memory = await host.new_memory()
                rows += await self._lived(run, chain, kind, budget=budget, memory=memory)
                await ReasonerWithMemory(run.reasoner("interview", item_id=chain.name), memory).count_stored()
            place = "the dialogue without the memory"
            for kind in self._others(manifest):
                rows += await self._lived(run, chain, kind, budget=manifest.tokens, memory=None)
        except ENDS_ITEM as error:
            raise ItemStopped(place, error) from error
        finally:
            await host.close()
        return AnswersStep(answers=tuple(rows), usage=StepUsage(lost_writes=host.lost_writes))

    def _others(self, manifest: RunManifest) -> list[AskKind]:
        kinds: list[AskKind] = [KIND_OF[condition] for condition in manifest.conditions]
        return [*kinds, "placebo"] if "placebo" in manifest.arms else kinds

    async def _lived(
        self, run: Run, chain: Chain, kind: AskKind, *, budget: int, memory: HostedMemory | None
    ) -> list[AnswerRow]:
        """Return a row for each task of the chain, lived with this memory, or with what the kind has in its place."""
        reasoner = run.bare(chain.name)
        if memory is not None:
            reasoner = ReasonerWithMemory(run.reasoner("interview", item_id=chain.name), memory)
        earlier: list[MemoryEvent] = []
        rows: list[AnswerRow] = []
        for place, task in enumerate(chain.tasks):
            gone = OutOfSight(list(earlier))
            source: RecallSource | None = None
            if memory is not None:
                source = MemorySource(reasoner, memory, gone, budget)
            elif kind != "no_memory":
                source = ConditionSource(kind, task.needed, gone, budget, (run.manifest.seed, task.task_id, kind))
            episode = ActedTask(run, task, source, reasoner, budget, self.prefixes.get(task.task_id, ()))
            given = await ask(episode.readable, episode.act)
            left = gone.add(episode.all_messages)
            if memory is not None and left and place + 1 < len(chain.tasks):
                with memory_call("write"):
                    await memory.write(left)
            earlier += gone.events
            answer = replace(given, kind=kind, budget=budget if memory is not None else 0, recalled=tuple(episode.recalled))
            rows.append(self._row(chain, place, answer, asked=episode.asked, events=gone.events))
        return rows

    def _row(
        self, chain: Chain, place: int, given: Answer[str], *, asked: str, events: Sequence[MemoryEvent] = ()
    ) -> AnswerRow:
        task = chain.tasks[place]
        recalled = "\n".join(given.recalled)
        found = sum(value in recalled for value in task.needed)
        status = "unscored" if given.value is None else "right" if given.value == PASSES else "wrong"
        return AnswerRow(
            user_id=chain.name,
            period=place,
            item=task.task_id,
            expected=PASSES,
            given=given.value or "",
            status=status,
            options=0,
            shown=0,
            required=len(task.needed),
            age=0,
            asked=asked,
            written=len(events),
            written_tokens=sum(count_tokens(event.text) for event in events),
            fact_recall=round(found / max(1, len(task.needed)), 6),
            **given.columns,
        )

    def unasked(self, manifest: RunManifest, item_id: str, answers: Sequence[AnswerRow], *, reason: str) -> list[AnswerRow]:
        if answers:
            return []
        chain = self._chain(item_id)
        nothing = Answer[str](None, "", 0, reason)
        return [self._row(chain, place, nothing, asked="") for place in range(len(chain.tasks))]

    def controls(self, manifest: RunManifest, item_id: str) -> list[AnswerRow]:
        return []

    def graded(self, manifest: RunManifest, row: AnswerRow) -> AnswerRow:
        if not row.reply:
            return row
        task = self._chain(row.user_id).tasks[row.period]
        try:
            given = task.graded(row.asked, read_episode(row.reply))
        except ItemFailed:
            return row  # its grader cannot say, here and now
        return row.model_copy(update={"given": given, "status": "right" if given == PASSES else "wrong"})

    def events(self, turns: Sequence[DialogueTurn]) -> Iterator[EventRow]:
        """An agent leads each episode anew, so no events are the data's; the episodes are in the rows' replies."""
        return iter(())

    def page_items(self, run: FinishedRun) -> list[PageItem]:
        items: list[PageItem] = []
        for chain in self.chains:
            questions: list[Json] = []
            periods: list[Json] = []
            for task in chain.tasks:
                questions.append({"id": task.task_id, "query": task.scenario, "required": [], "options": []})
                periods.append({"end": "", "state": {}, "sessions": []})
            items.append(PageItem(chain.name, chain.name, questions=questions, periods=periods))
        return items

    def _chain(self, name: str) -> Chain:
        return next(chain for chain in self.chains if chain.name == name)


@dataclass
class ActedTask:
    """One task, acted by the reasoner with one source of texts from out of sight."""

    run: Run
    task: WorldTask
    source: RecallSource | None
    reasoner: ReasonerWithMemory
    tokens: int
    begun_with: Sequence[str] = ()
    asked: str = ""
    opening: str = ""
    steps: list[EpisodeStep] = field(default_factory=list[EpisodeStep])
    recalled: dict[str, None] = field(default_factory=dict[str, None])

    @property
    def readable(self) -> ReadableTask[str]:
        """Return what is asked: the episode as a whole."""
        query = self.task.task_id
        return ReadableTask(Task(text=query, query=query), self._graded)

    def _graded(self, reply: str) -> str:
        return self.task.graded(self.asked, read_episode(reply))

    async def act(self, task: Task) -> str:
        """Return all steps of the episode as text. Raises ItemFailed."""
        begun = await self.task.begin(self.run)
        self.asked = begun.asked
        self.opening = begun.world.opening
        try:
            return await self._acted(begun)
        finally:
            await asyncio.to_thread(begun.close)

    async def _acted(self, begun: BegunEpisode) -> str:
        manifest = self.run.manifest
        agent = Agent(
            self.reasoner.answer,
            begun.world,
            begun.world.rules,
            begun.world.tools,
            self.asked,
            self.source,
            manifest.recall_at,
            self.tokens,
            manifest.native_tools,
            recalled=self.recalled,
        )
        if self.source is not None and manifest.recall_at == "start" and self.source.holds:
            agent.known = await self.source.recall(self.asked)
        steps = await run_episode(
            begun.world,
            agent.ask,
            hear=begun.hear,
            recall=agent.recall_as_tool if agent.recalls_by_tool else None,
            window=manifest.window,
            most_steps=MOST_STEPS,
            begun_with=self.begun_with,
        )
        self.steps = agent.noted(steps)
        left = await asyncio.to_thread(begun.left)
        if not left or not steps:
            return written_episode(self.steps)
        return written_episode([*self.steps[:-1], self.steps[-1].model_copy(update={"seen": left})])

    @property
    def all_messages(self) -> list[Message]:
        """The whole episode as messages, the last answer to it included."""
        messages = [Message("user", self.opening)]
        for step in self.steps:
            messages += [Message("assistant", step.reply or "(nothing)"), Message("user", step.seen)]
        return messages
